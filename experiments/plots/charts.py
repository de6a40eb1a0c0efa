"""Charts of tables and of training: accuracy against sizes, gaps, epochs and music."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from djnet import constants
from djnet.files import whole_file
from experiments.tables import BAR, REFERENCES, VARIANT

# Okabe and Ito's colours, which colour-blind people can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
METHODS = {  # the same colour in every figure
    "sen": COLOURS[0],
    VARIANT: COLOURS[4],
    "sen, gap 0.5 s": COLOURS[6],
    "ccsn": COLOURS[1],
    "cin": COLOURS[1],
    "sn": COLOURS[2],
    "continuity": COLOURS[3],
    "random": COLOURS[5],
}
LEARNED = {"table2/": "equal cuts", "table5/": "ablations of SEN, downbeats"}  # experiments of the learning curves


class MissingError(ValueError):
    """A figure that cannot be drawn, and what is missing."""


def new_figure(width: float, height: float) -> Any:
    """An empty figure; matplotlib is imported where it is used."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "djnet"  # the same picture, the same file
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG, whole or not at all."""
    for kind, facts in (("png", {}), ("svg", {"Date": None})):
        with whole_file(folder / f"{name}.{kind}") as partial:
            figure.savefig(partial, format=kind, dpi=100, metadata=facts)


def _panels(titles: list[str], height: float, **options: Any) -> tuple[Any, list[Any]]:
    """A figure with a panel of accuracies for each title."""
    figure = new_figure(1 + 4 * len(titles), height)
    panels = list(np.atleast_1d(figure.subplots(1, len(titles), sharey=True)))
    for axes, title in zip(panels, titles, strict=True):
        axes.set(title=title, ylim=(0, 1), **options)
    return figure, panels


def draw_sizes(table: pd.DataFrame) -> Any:
    """Global accuracy against n, ours and the paper's, from table 3."""
    figure = _draw_accuracy(table, "n", "table3.csv", xlabel="fragments", xticks=constants.JIGSAW_SIZES)
    figure.suptitle("dotted: as the paper reports them", fontsize=9)
    return figure


def draw_boundary(table: pd.DataFrame) -> Any:
    """Global accuracy for n = 3 against the music taken away at the cuts."""
    table = table[table.gap != BAR]
    figure = _draw_accuracy(table, "gap", "boundary.csv", xlabel="seconds taken away on each side of a cut")
    figure.axes[0].set_ylabel("global accuracy, n = 3")
    return figure


def _draw_accuracy(table: pd.DataFrame, x: str, name: str, **options: Any) -> Any:
    """Global accuracy with its interval against a column: a panel a cut and protocol, a line a method (first seed)."""
    table = table[table["global"] != ""]
    table = table.assign(**{x: pd.to_numeric(table[x]).fillna(0.0)}).sort_values([x, "seed"], kind="stable")
    settings = {
        f"{cut} cuts, {protocol}": rows
        for (cut, protocol), rows in table.groupby(["segmentation", "protocol"])
        if not rows.method.isin(REFERENCES).all()
    }
    if not settings:
        raise MissingError(f"{name} has no rows that were played")
    titles = sorted(settings, key=lambda title: ("overlapping" in title, "downbeat" in title, title))
    figure, panels = _panels(titles, 4, **options)
    for axes, title in zip(panels, titles, strict=True):
        for method, colour in METHODS.items():
            rows = settings[title][settings[title].method == method].drop_duplicates(x)
            if rows.empty:
                continue
            value, low, high = (rows[name].astype(float) for name in ("global", "global_low", "global_high"))
            errors = [value - low, high - value]
            axes.errorbar(rows[x], value, errors, color=colour, marker="o", capsize=3, label=method)
            paper = rows[rows.paper_global != ""]
            axes.plot(paper[x], paper.paper_global.astype(float), color=colour, linestyle=":", marker="x")
    panels[0].set_ylabel("global accuracy")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def draw_learning(history: pd.DataFrame) -> Any:
    """Validation accuracy by epoch: a panel a table and protocol, a line a run."""
    settings = {
        f"{name}, {protocol}": rows.assign(experiment=rows.experiment.str.removeprefix(prefix))
        for prefix, name in LEARNED.items()
        for protocol, rows in history[history.experiment.str.startswith(prefix)].groupby("protocol", sort=False)
    }
    if not settings:
        raise MissingError("there are no runs on these records")
    figure, panels = _panels(list(settings), 4.4, xlabel="epoch")
    for axes, rows in zip(panels, settings.values(), strict=True):
        for i, (name, run) in enumerate(rows.groupby("experiment", sort=False)):
            style = "-" if i < len(COLOURS) else "--"
            axes.plot(run.epoch + 1, run.valid_global, style, color=COLOURS[i % len(COLOURS)], label=name)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(loc="lower right", fontsize=7, ncols=2)
    panels[0].set_ylabel("global accuracy, validation, n = 3")
    return figure


def draw_corpus(study: pd.DataFrame) -> Any:
    """Accuracy against the amount of music that was trained with, for the same number of steps."""
    rows = study[(study.variant == "base") | study.variant.str.endswith("of the music")]
    rows = rows.assign(steps=rows.clips * rows.epochs).sort_values("clips")
    alike = [rows[(rows.steps - steps).abs() < 0.01 * steps] for steps in rows[rows.variant == "base"].steps]
    rows = max(alike, key=len, default=rows[:0])
    if len(rows) < 2:
        raise MissingError("study.csv has no variants with less music: make study")
    figure = new_figure(5, 4)
    axes = figure.subplots()
    axes.plot(rows.clips, rows.valid_global, "o-", color=COLOURS[0], label="puzzles, other music (validation, n = 3)")
    axes.plot(rows.clips, rows.accuracy, "s--", color=COLOURS[1], label="pairs, the music of training")
    axes.set(xscale="log", xlabel="training clips", ylabel="accuracy", ylim=(0, 1))
    axes.set_xticks(rows.clips, rows.clips.astype(int).astype(str))
    axes.minorticks_off()
    axes.legend(loc="lower right", fontsize=8)
    return figure
