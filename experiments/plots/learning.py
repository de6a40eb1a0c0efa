"""How the networks of the tables learned, pass by pass: results/learning.csv, which stays when the runs are gone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from djnet.files import whole_file
from djnet.records import Manifest

PANELS = {  # of the figure: which experiments, in which protocol
    "equal cuts, isolated": ("table2/", "isolated"),
    "equal cuts, overlapping": ("table2/", "overlapping"),
    "ablations of SEN, downbeats": ("table5/", "isolated"),
}
KEY = ["experiment", "protocol", "seed", "records"]


def histories(manifest: Manifest, runs: Path) -> pd.DataFrame:
    """A row a pass of every finished run on these records that the figure shows; of several, the longest."""
    from experiments.configs import EXPERIMENTS, Run

    longest: dict[tuple[Any, ...], tuple[int, Path, dict[str, Any]]] = {}
    for path in sorted(runs.glob("*/*/run.json")):
        facts = json.loads(path.read_text(encoding="ascii"))
        if facts["records"] == manifest.origin and facts["finished"]:
            run = Run.from_json(facts["run"])
            older = longest.get(run.row, (0, path, facts))
            longest[run.row] = max(older, (run.epochs, path, facts), key=lambda item: item[0])
    corpus = manifest.content["corpus"]
    found = []
    for table, protocol in PANELS.values():
        for name, run in EXPERIMENTS.items():
            if not name.startswith(table) or (row := replace(run, protocol=protocol).row) not in longest:
                continue
            _, path, facts = longest[row]
            history = pd.read_csv(path.parent / "history.csv").drop(columns="pairs_per_second", errors="ignore")
            about = {"experiment": name, "protocol": protocol, "seed": run.seed, "records": manifest.origin[:8]}
            made_with = {"preset": run.preset, "corpus": corpus["name"], "corpus_hash": corpus["hash"][:12]}
            made_with["commit"] = facts.get("commit", "")
            found.append(history.assign(**about, **made_with)[[*about, *history.columns, *made_with]])
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*KEY, "epoch", "valid_global"])


def read(path: Path) -> pd.DataFrame:
    """The table; a hash is text, also one of digits only."""
    return pd.read_csv(path, dtype={"records": str})


def keep(path: Path, found: pd.DataFrame) -> pd.DataFrame:
    """Write what was found in place of the same networks' older rows: -> the whole table."""
    if path.exists():
        old = read(path)
        same = set(map(tuple, found[KEY].to_numpy()))
        found = pd.concat([old[[tuple(key) not in same for key in old[KEY].to_numpy()]], found], ignore_index=True)
    if len(found):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial:
            found.to_csv(partial, index=False)
    return found


def by_panel(table: pd.DataFrame, manifest: Manifest) -> dict[str, dict[str, pd.DataFrame]]:
    """The rows of these records, by panel of the figure and name of the network."""
    here = table[table.records == manifest.origin[:8]]
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for title, (prefix, protocol) in PANELS.items():
        rows = here[here.experiment.str.startswith(prefix) & (here.protocol == protocol)] if len(here) else here
        for name, own in rows.groupby("experiment", sort=False):
            found.setdefault(title, {})[str(name).removeprefix(prefix)] = own
    return found
