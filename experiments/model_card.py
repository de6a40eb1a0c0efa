"""The card of the shipped networks as model hubs read it: a YAML header, from each run.json and results/table3.csv."""

import json
from pathlib import Path
from typing import Any

from djnet.files import read_json
from experiments.claims import OLD_PROTOCOLS

Row = dict[str, str]
_RUN = {"run": dict, "corpus": {"name": str}, "records": str}
_TAGS = ("music", "audio", "music-puzzles", "medley", "similarity")
_CUTS = {"fixed": "equal pieces", "downbeat": "pieces cut at downbeats"}
_NUMBERS = {"pairwise": "pairwise accuracy", "global": "global accuracy"}


def with_header(text: str, weights: Path, rows: list[Row]) -> str:
    """A card with its header written anew, from the networks in a folder and the rows of table 3."""
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1].lstrip("\n")
    return "\n".join(["---", *header(weights, rows), "---", "", text])


def header(weights: Path, rows: list[Row]) -> list[str]:
    """The lines of the YAML header; strings are written as in JSON, which is YAML too."""
    runs = {path.parent.name: read_json(path, _RUN) for path in sorted(weights.glob("*/run.json"))}
    corpora = sorted({run["corpus"]["name"] for run in runs.values()})
    lines = ["license: apache-2.0", "library_name: keras", "pipeline_tag: audio-classification", "tags:"]
    lines += [f"- {tag}" for tag in _TAGS]
    lines += ["datasets:", *(f"- {json.dumps(name)}" for name in corpora), "model-index:"]
    for name, run in runs.items():
        lines += [f"- name: {json.dumps(name)}", *_training(run), "  results:"]
        results = [line for row in rows if _made_with(row, run) for line in _result(row)]
        lines += results or ["  []"]
    return lines


def _made_with(row: Row, run: dict[str, Any]) -> bool:
    """Whether a row of a table is a result of a run: the same network, cuts, features, music and seed."""
    made = run["run"]
    trained_on = f"{run['corpus']['name']} {run['records'][:8]}"
    wanted = (made["model"], made["segmentation"], str(made["seed"]), made["preset"], trained_on)
    played = tuple(row[name] for name in ("method", "segmentation", "seed", "preset", "trained_on"))
    changed = row.get("differs") or made.get("ablation")
    return bool(row["global"]) and played == wanted and not changed and _protocol(row) == _protocol(made)


def _protocol(made: dict[str, Any]) -> str:
    return OLD_PROTOCOLS.get(made["protocol"], made["protocol"])


def _training(run: dict[str, Any]) -> list[str]:
    """What it was trained with, and for how long if its run.json says so."""
    made = run["run"]
    facts = {"corpus": run["corpus"]["name"], "epochs": made["epochs"], "preset": made["preset"]}
    facts |= {"features": _protocol(made), "hours": run.get("hours", "not recorded")}
    return ["  training:", *(f"    {name}: {json.dumps(value)}" for name, value in facts.items())]


def _result(row: Row) -> list[str]:
    name = f"jigsaw, {row['n']} {_CUTS[row['segmentation']]}"
    lines = [
        "  - task:",
        "      type: other",
        f"      name: {json.dumps(name)}",
        "    dataset:",
        f"      type: {json.dumps(row['corpus'])}",
        f"      name: {json.dumps(row['corpus'])}",
        "      split: test",
        "    metrics:",
    ]
    for column, measure in _NUMBERS.items():
        lines += ["    - type: accuracy", f"      name: {measure}", f"      value: {float(row[column]):.4f}"]
    return lines
