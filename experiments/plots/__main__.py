"""Draw the figures in results/figures, PNG and SVG: `make figures`, or `python -m experiments.plots --data=data`.

What needs a network is drawn with the runs that are there (--runs), what shows a table from its CSV (--results), to
which learning.csv adds how the runs learned; a figure whose run or table is missing is left out and said.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from absl import flags

from djnet.cli import job
from djnet.files import whole_file
from djnet.records import Manifest
from experiments.plots import charts, learning, networks
from experiments.plots.charts import MissingError
from experiments.study import read as read_study

_TSNE_CLIPS = 150


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG, whole or not at all."""
    for kind, facts in (("png", {}), ("svg", {"Date": None})):
        with whole_file(folder / f"{name}.{kind}") as partial:
            figure.savefig(partial, format=kind, dpi=100, metadata=facts)


def figures(manifest: Manifest, runs: Path, results: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of every figure and how to draw it."""
    from experiments import tables
    from experiments.evaluation import Arena, Network

    clips = [clip for clip, _ in zip(manifest.read_clips("test"), range(_TSNE_CLIPS), strict=False)]
    arena = Arena(manifest, runs)
    moments = manifest.mean, manifest.std

    def network(name: str) -> Any:
        found = arena.network(name)
        if not isinstance(found, Network):
            raise MissingError(found)
        return found.model

    def table(name: str) -> pd.DataFrame:
        if not (results / name).is_file():
            raise MissingError(f"{results / name} is missing: make evaluate")
        rows = tables.read(results / name)
        return rows[rows.corpus_hash == manifest.content["corpus"]["hash"][:12]]

    def study() -> pd.DataFrame:
        if not (results / "study.csv").is_file():
            raise MissingError(f"{results / 'study.csv'} is missing: make study")
        rows = read_study(results / "study.csv")
        return rows[rows.records == manifest.origin[:8]]

    def learned() -> dict[str, dict[str, pd.DataFrame]]:
        return learning.by_panel(learning.keep(results / "learning.csv", learning.histories(manifest, runs)), manifest)

    # The liveliest clip makes the clearest picture.
    clip = max(clips[:40], key=lambda clip: float(np.abs(np.diff(clip.mel.astype(np.float32), axis=0)).mean()))
    yield "puzzle", lambda: networks.draw_puzzle(clip)
    yield "similarity", lambda: networks.draw_similarity(network("table2/sen"), clips[:60], *moments)
    names = ("sen", "ccsn", "sn")
    yield (
        "embeddings",
        lambda: networks.draw_embeddings({name: network(f"table2/{name}") for name in names}, clips, *moments),
    )
    yield "feature_maps", lambda: networks.draw_feature_maps(network("table2/sen"), clip, *moments)
    yield "accuracy", lambda: charts.draw_sizes(table("table3.csv"))
    yield "boundary", lambda: charts.draw_boundary(table("boundary.csv"))
    yield "learning", lambda: charts.draw_learning(learned())
    yield "corpus", lambda: charts.draw_corpus(study())


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs", "Folder of runs.")
    flags.DEFINE_string("results", "results", "Folder of the tables; pictures go to figures/ in it.")


def main(given: Any) -> None:
    """Draw everything that the records, the runs and the tables allow."""
    job.import_quietly("tensorflow")
    results = Path(given.results).expanduser()
    output = results / "figures"
    output.mkdir(parents=True, exist_ok=True)
    for name, draw in figures(Manifest.read(Path(given.data).expanduser()), Path(given.runs).expanduser(), results):
        try:
            save(draw(), output, name)
            print(f"{output / name}.png and .svg")
        except MissingError as error:
            print(f"{name} is left out: {error}")


if __name__ == "__main__":
    job.run(main, define_flags)
