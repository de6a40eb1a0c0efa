"""Draw the figures in results/figures, PNG and SVG: `make figures`, or `python -m experiments.plots --data=data`.

What needs a network is drawn with the runs that are there (--runs), what shows a table from its CSV (--results), to
which learning.csv adds how the runs learned; a figure whose run or table is missing is left out and said.
"""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from absl import flags

from djnet.cli import job
from djnet.records import Manifest
from experiments import study, tables
from experiments.plots import charts, learning, networks
from experiments.plots.charts import MissingError

_TSNE_CLIPS = 150


def figures(manifest: Manifest, runs: Path, results: Path) -> dict[str, Callable[[], Any]]:
    """The name of every figure and how to draw it."""
    from experiments.evaluation import Evaluation, TrainedNetwork

    clips = list(islice(manifest.read_clips("test"), _TSNE_CLIPS))
    evaluation = Evaluation(manifest, runs)
    scale = manifest.mean, manifest.std

    def network(name: str) -> Any:
        answer = evaluation.network(f"table2/{name}")
        if not isinstance(answer, TrainedNetwork):
            raise MissingError(answer)
        return answer.model

    def table(name: str, read: Callable[[Path], pd.DataFrame] = tables.read, target: str = "evaluate") -> pd.DataFrame:
        if not (results / name).is_file():
            raise MissingError(f"{results / name} is missing: make {target}")
        rows = read(results / name)
        if "records" in rows:
            return rows[rows.records == manifest.origin[:8]]
        return rows[rows.corpus_hash == manifest.content["corpus"]["hash"][:12]]

    def learned() -> pd.DataFrame:
        history = learning.keep(results / "learning.csv", learning.histories(manifest, runs))
        return history[history.records == manifest.origin[:8]]

    # The clip that changes most makes the clearest picture.
    clip = max(clips[:40], key=lambda clip: float(np.abs(np.diff(clip.mel.astype(np.float32), axis=0)).mean()))
    return {
        "puzzle": lambda: networks.draw_puzzle(clip),
        "similarity": lambda: networks.draw_similarity(network("sen"), clips[:60], *scale),
        "embeddings": lambda: networks.draw_embeddings(
            {name: network(name) for name in ("sen", "ccsn", "sn")}, clips, *scale
        ),
        "feature_maps": lambda: networks.draw_feature_maps(network("sen"), clip, *scale),
        "accuracy": lambda: charts.draw_sizes(table("table3.csv")),
        "boundary": lambda: charts.draw_boundary(table("boundary.csv")),
        "learning": lambda: charts.draw_learning(learned()),
        "corpus": lambda: charts.draw_corpus(table("study.csv", study.read, "study")),
    }


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs", "Folder of runs.")
    flags.DEFINE_string("results", "results", "Folder of the tables; pictures go to figures/ in it.")


def main(given: Any) -> None:
    """Draw everything that the records, the runs and the tables allow."""
    job.import_quietly("tensorflow")
    data, runs, results = (Path(path).expanduser() for path in (given.data, given.runs, given.results))
    output = results / "figures"
    output.mkdir(parents=True, exist_ok=True)
    for name, draw in figures(Manifest.read(data), runs, results).items():
        try:
            charts.save(draw(), output, name)
            print(f"{output / name}.png and .svg")
        except MissingError as error:
            print(f"{name} is left out: {error}")


if __name__ == "__main__":
    job.run(main, define_flags)
