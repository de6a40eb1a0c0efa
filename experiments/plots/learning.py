"""How the networks of the tables learned, epoch by epoch: results/learning.csv, which stays when the runs are gone."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from djnet.cuts import PROTOCOLS
from djnet.errors import UserError
from djnet.files import read_csv
from djnet.records import Manifest
from experiments import tables
from experiments.plots.charts import LEARNED

log = logging.getLogger(__name__)
KEY = ["experiment", "protocol", "seed", "records"]


def histories(manifest: Manifest, runs: Path) -> pd.DataFrame:
    """A row an epoch of every finished run on these records that the figure shows; of several, the longest."""
    from experiments.configs import EXPERIMENTS, read_run

    longest: dict[Any, tuple[int, Path, str]] = {}
    for path in sorted(runs.glob("*/*/run.json")):
        try:
            run, facts = read_run(path)
        except UserError as error:
            log.warning("%s It is left out.", error)
            continue
        is_longer = run.row not in longest or run.epochs > longest[run.row][0]
        if facts["records"] == manifest.origin and facts["finished"] and is_longer:
            longest[run.row] = run.epochs, path.with_name("history.csv"), facts.get("commit", "")
    corpus = manifest.content["corpus"]
    tables = [pd.DataFrame(columns=[*KEY, "epoch", "valid_global"])]
    for protocol in PROTOCOLS:
        for name, run in EXPERIMENTS.items():
            row = replace(run, protocol=protocol).row
            if name.startswith(tuple(LEARNED)) and row in longest:
                _, path, commit = longest[row]
                rows = read_csv(path, ("epoch", "valid_global"))
                history = pd.DataFrame(rows).astype(float).astype({"epoch": int})
                history = history.drop(columns="pairs_per_second", errors="ignore")
                key = dict(zip(KEY, (name, protocol, run.seed, manifest.origin[:8]), strict=True))
                made_with = {"preset": run.preset, "corpus": corpus["name"], "corpus_hash": corpus["hash"][:12]}
                made_with["commit"] = commit
                tables.append(history.assign(**key, **made_with)[[*key, *history.columns, *made_with]])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def read(path: Path) -> pd.DataFrame:
    """The table; a hash is text, also one of digits only."""
    return tables.read_numbers(path, KEY)


def keep(path: Path, history: pd.DataFrame) -> pd.DataFrame:
    """Write these rows in place of the same networks' older ones: -> the whole table."""
    if path.exists():
        old = read(path)
        is_replaced = old.set_index(KEY).index.isin(history.set_index(KEY).index)
        history = pd.concat([old[~is_replaced], history], ignore_index=True)
    if len(history):
        path.parent.mkdir(parents=True, exist_ok=True)
        tables.save(path, history)
    return history
