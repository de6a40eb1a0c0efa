"""Charts of tables and of training: accuracy against sizes, gaps, epochs and music."""

from typing import Any

import numpy as np
import pandas as pd

from djnet import constants
from experiments.tables import VARIANT

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


class MissingError(ValueError):
    """A figure that cannot be drawn, and what is missing."""


def new_figure(width: float, height: float) -> Any:
    """An empty figure; matplotlib is imported where it is used."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "djnet"  # the same picture, the same file
    return Figure(figsize=(width, height), layout="constrained")


def draw_sizes(table: pd.DataFrame) -> Any:
    """Global accuracy against n, ours and the paper's, from table 3."""
    table = table[table["global"] != ""].assign(n=lambda rows: pd.to_numeric(rows.n))
    settings = [
        (cut, protocol)
        for cut, protocol in (("fixed", "isolated"), ("downbeat", "isolated"), ("fixed", "overlapping"))
        if ((table.segmentation == cut) & (table.protocol == protocol)).any()
    ]
    if not settings:
        raise MissingError("table3.csv has no rows that were played")
    figure = new_figure(1 + 4 * len(settings), 4)
    panels = np.atleast_1d(figure.subplots(1, len(settings), sharey=True))
    for axes, (cut, protocol) in zip(panels, settings, strict=True):
        own = table[(table.segmentation == cut) & (table.protocol == protocol)].sort_values(["n", "seed"])
        for method, colour in METHODS.items():
            rows = own[own.method == method].drop_duplicates("n", keep="first")
            if rows.empty:
                continue
            _with_interval(axes, rows.n, rows, colour, method)
            told = rows[rows.paper_global != ""]
            axes.plot(told.n, told.paper_global.astype(float), color=colour, linestyle=":", marker="x")
        axes.set(title=f"{cut} cuts, {protocol}", xlabel="fragments", ylim=(0, 1), xticks=constants.JIGSAW_SIZES)
    figure.axes[0].set_ylabel("global accuracy")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    figure.suptitle("dotted: as the paper reports them", fontsize=9)
    return figure


def _with_interval(axes: Any, places: pd.Series, rows: pd.DataFrame, colour: str, label: str) -> None:
    """Global accuracy with its interval."""
    value, low, high = (rows[name].astype(float) for name in ("global", "global_low", "global_high"))
    axes.errorbar(places, value, [value - low, high - value], color=colour, marker="o", capsize=3, label=label)


def draw_boundary(table: pd.DataFrame) -> Any:
    """Global accuracy against the music taken away at the cuts, in both protocols."""
    table = table[table["global"] != ""].assign(gap=lambda rows: pd.to_numeric(rows.gap).fillna(0.0))
    if table.empty:
        raise MissingError("boundary.csv has no rows that were played")
    figure = new_figure(9, 4)
    for axes, protocol in zip(figure.subplots(1, 2, sharey=True), ("isolated", "overlapping"), strict=True):
        for method, colour in METHODS.items():
            rows = table[(table.protocol == protocol) & (table.method == method)]
            rows = rows.sort_values(["gap", "seed"]).drop_duplicates("gap", keep="first")
            if rows.empty:
                continue
            _with_interval(axes, rows.gap, rows, colour, method)
        axes.set(title=protocol, xlabel="seconds taken away on each side of a cut", ylim=(0, 1))
    figure.axes[0].set_ylabel("global accuracy, n = 3")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def draw_learning(histories: dict[str, dict[str, pd.DataFrame]]) -> Any:
    """Validation accuracy by epoch: a panel a group of runs, a line a run."""
    if not histories:
        raise MissingError("there are no runs on these records")
    figure = new_figure(1 + 4 * len(histories), 4.4)
    panels = np.atleast_1d(figure.subplots(1, len(histories), sharey=True))
    for axes, (title, runs) in zip(panels, histories.items(), strict=True):
        for i, (name, rows) in enumerate(runs.items()):
            style = "-" if i < len(COLOURS) else "--"
            axes.plot(rows.epoch + 1, rows.valid_global, style, color=COLOURS[i % len(COLOURS)], label=name)
        axes.set(title=title, xlabel="epoch", ylim=(0, 1))
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
