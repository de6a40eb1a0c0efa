"""The card of the shipped networks as model hubs read it: a YAML header, from each run.json and the tables."""

import json
from pathlib import Path
from typing import Any

from experiments.configs import Run, read_run

Row = dict[str, str]
_TAGS = ("music", "audio", "music-puzzles", "medley", "similarity")
_CUTS = {"fixed": "equal pieces", "downbeat": "pieces cut at downbeats"}
_NUMBERS = {"pairwise": "pairwise accuracy", "global": "global accuracy"}


def with_header(text: str, weights: Path, rows: list[Row]) -> str:
    """A card with its header written anew, from the networks in a folder and the rows of tables 3 and 4."""
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1].lstrip("\n")
    return "\n".join(["---", *header(weights, rows), "---", "", text])


def header(weights: Path, rows: list[Row]) -> list[str]:
    """The lines of the YAML header; strings are written as in JSON, which is YAML too."""
    runs = {path.parent.name: read_run(path) for path in sorted(weights.glob("*/run.json"))}
    corpora = sorted({facts["corpus"]["name"] for _, facts in runs.values()})
    lines = ["license: apache-2.0", "library_name: keras", "pipeline_tag: audio-classification", "tags:"]
    lines += [f"- {tag}" for tag in _TAGS]
    lines += ["datasets:", *(f"- {json.dumps(name)}" for name in corpora), "model-index:"]
    for name, (run, facts) in runs.items():
        lines += [f"- name: {json.dumps(name)}", *_training(run, facts), "  results:"]
        trained_on = f"{facts['corpus']['name']} {facts['records'][:8]}"
        results = {_task(row): row for row in rows if _made_by(row, run, trained_on)}  # a game of two tables once
        lines += [line for row in results.values() for line in _result(row)] or ["  []"]
    return lines


def _made_by(row: Row, run: Run, trained_on: str) -> bool:
    """Whether a row is a result of a run itself, not of another way from its scores to an order."""
    made = (row.get("run"), row["seed"], row["trained_on"])
    return bool(row["global"]) and made == (run.hash, str(run.seed), trained_on) and "(" not in row["method"]


def _training(run: Run, facts: dict[str, Any]) -> list[str]:
    """What it was trained with, and for how long if its run.json says so."""
    values = {"corpus": facts["corpus"]["name"], "epochs": run.epochs, "preset": run.preset, "features": run.protocol}
    values["hours"] = facts.get("hours", "not recorded")
    return ["  training:", *(f"    {name}: {json.dumps(value)}" for name, value in values.items())]


def _task(row: Row) -> str:
    return f"{row['game']}, {row['n']} {_CUTS[row['segmentation']] if row['game'] == 'jigsaw' else 'pieces'}"


def _result(row: Row) -> list[str]:
    lines = [
        "  - task:",
        "      type: other",
        f"      name: {json.dumps(_task(row))}",
        "    dataset:",
        f"      type: {json.dumps(row['corpus'])}",
        f"      name: {json.dumps(row['corpus'])}",
        "      split: test",
        "    metrics:",
    ]
    for column, measure in _NUMBERS.items():
        lines += ["    - type: accuracy", f"      name: {measure}", f"      value: {float(row[column]):.4f}"]
    return lines
