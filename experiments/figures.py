"""Draw the figures in results/figures, PNG and SVG: `make figures`, or `python -m experiments.figures --data=data`.

What needs a network is drawn with the runs that are there (--runs), what shows a table from its CSV (--results); a
figure whose run or table is missing is left out and said.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from absl import flags

from djnet import spec
from djnet.files import whole_file
from djnet.fragments import cut_frames
from djnet.games import same_audio
from djnet.pairs import Kind, pairs_of
from djnet.records import Clip, Manifest
from djnet.rng import rng_for
from experiments.study import read as read_study
from experiments.tables import VARIANT
from preprocessing import job

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
_TSNE_CLIPS = 150
PANELS = {  # of the learning curves: which experiments, in which protocol
    "equal cuts, isolated": ("table2/", "isolated"),
    "equal cuts, overlapping": ("table2/", "overlapping"),
    "ablations of SEN, downbeats": ("table5/", "isolated"),
}


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


def draw_puzzle(clip: Clip, n: int = 4, seed: int = 3) -> Any:
    """A puzzle: the fragments of a clip shuffled, and in their order."""
    fragments = cut_frames(clip.mel.astype(np.float32), clip.segmentations[f"fixed/{n}"].cuts)
    shuffled = rng_for(seed, "picture").permutation(n)
    figure = new_figure(10, 3.6)
    rows = figure.subplots(2, n)
    low, high = np.percentile(clip.mel.astype(np.float32), [2, 99.5])
    for title, row, order in (("shuffled", rows[0], shuffled), ("in order", rows[1], range(n))):
        for axes, piece in zip(row, order, strict=True):
            _picture(axes, fragments[piece].T, vmin=low, vmax=high, cmap="magma")
            axes.set_xlabel(f"R{piece + 1}")
        row[0].set_ylabel(title)
    return figure


def draw_similarity(model: Any, clips: Sequence[Clip], mean: np.ndarray, std: np.ndarray) -> Any:
    """Similarity matrices: a fragment with itself, with another that repeats it, and with one of another song."""
    pieces = [cut_frames(clip.mel.astype(np.float32), clip.segmentations["fixed/6"].cuts) for clip in clips]
    embed = model.get_layer("embedding")
    frames = [[np.asarray(embed(((x - mean) / std)[None], None)[0][0]) for x in own] for own in pieces]
    unit = [[x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-6) for x in own] for own in frames]

    def alike(a: np.ndarray, b: np.ndarray) -> float:
        """How clear the clearest diagonal is."""
        matrix = a @ b.T
        return max(float(np.diagonal(matrix, k).mean()) for k in range(-len(a) // 3, len(a) // 3)) - float(
            matrix.mean()
        )

    places = [(c, i, j) for c, own in enumerate(unit) for i in range(len(own)) for j in range(i + 2, len(own))]
    # Played again, not copied: a loop's second turn would look like the fragment itself.
    played = [(c, i, j) for c, i, j in places if not same_audio(pieces[c][i], pieces[c][j])]
    c, i, j = max(played or places, key=lambda place: alike(unit[place[0]][place[1]], unit[place[0]][place[2]]))
    other = (c + len(clips) // 2) % len(clips)
    figure = new_figure(10, 3.4)
    for axes, title, a, b in zip(
        figure.subplots(1, 3),
        ("the same fragment twice", "a passage and its repetition", "two songs"),
        (unit[c][i], unit[c][i], unit[c][i]),
        (unit[c][i], unit[c][j], unit[other][i]),
        strict=True,
    ):
        shown = _picture(axes, a @ b.T, vmin=0, vmax=1, cmap="viridis", extent=_seconds(b, a), ticks=True)
        axes.set(title=title, xlabel="seconds of the one", ylabel="seconds of the other")
    figure.colorbar(shown, ax=figure.axes, label="cosine similarity")
    return figure


def draw_embeddings(models: dict[str, Any], clips: Sequence[Clip], mean: np.ndarray, std: np.ndarray) -> Any:
    """t-SNE of the last dense layer, a point a pair, coloured by its kind."""
    from sklearn.manifold import TSNE

    figure = new_figure(4 * len(models), 4)
    pairs = pairs_of(3)
    for axes, (name, model) in zip(np.atleast_1d(figure.subplots(1, len(models))), models.items(), strict=True):
        embed = model.get_layer("comparison").embed
        found = [np.asarray(embed(*_embedded(model, clips, pair[:2], mean, std))) for pair in pairs]
        points = np.stack(found, axis=1).reshape(len(clips) * len(pairs), -1)
        kinds = np.tile([pair.kind for pair in pairs], len(clips))
        flat = TSNE(random_state=0, init="pca", perplexity=min(30, len(points) // 4)).fit_transform(points)
        for kind, colour in zip(Kind, COLOURS, strict=False):
            axes.scatter(*flat[kinds == kind].T, s=6, color=colour, label=kind.name, linewidths=0)
        axes.set(title=name.upper(), xticks=[], yticks=[])
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, markerscale=3)
    return figure


def draw_feature_maps(model: Any, clip: Clip, mean: np.ndarray, std: np.ndarray, shown: int = 4) -> Any:
    """Maps of the first and the last layer of SEN's 2D ConvNet, for a pair that follows and one that does not."""
    comparison = model.get_layer("comparison")
    figure = new_figure(10, 7.6)
    grid = figure.subplots(4, shown + 1)
    for half, (second, title) in enumerate(((1, "R1R2"), (2, "R1R3"))):
        xs, _ = _embedded(model, [clip], (0, second), mean, std)
        matrix = comparison.similarity(tuple(xs))
        x, layers = matrix[..., None], []
        for block in comparison.blocks:
            x, _ = block(x, None)
            layers.append(np.asarray(x[0]))
        for row, maps, layer in ((2 * half, layers[0], "first"), (2 * half + 1, layers[-1], "last")):
            _picture(grid[row, 0], np.asarray(matrix[0]), vmin=0, vmax=1, cmap="viridis")
            grid[row, 0].set_ylabel(f"{title}, {layer} layer")
            liveliest = np.argsort(-maps.std(axis=(0, 1)))[:shown]
            for axes, channel in zip(grid[row, 1:], liveliest, strict=True):
                _picture(axes, maps[..., channel], cmap="magma")
                axes.set_title(f"map {channel}", fontsize=8)
    grid[0, 0].set_title("similarity", fontsize=8)
    return figure


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
        own = table[(table.segmentation == cut) & (table.protocol == protocol)].sort_values("n")
        for method, colour in METHODS.items():
            rows = own[own.method == method].drop_duplicates("n", keep="first")
            if rows.empty:
                continue
            _with_interval(axes, rows.n, rows, colour, method)
            told = rows[rows.paper_global != ""]
            axes.plot(told.n, told.paper_global.astype(float), color=colour, linestyle=":", marker="x")
        axes.set(title=f"{cut} cuts, {protocol}", xlabel="fragments", ylim=(0, 1), xticks=spec.JIGSAW_SIZES)
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
            rows = rows.sort_values("gap").drop_duplicates("gap", keep="first")
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
        axes.legend(loc="lower right", fontsize=7, ncols=2)
    panels[0].set_ylabel("global accuracy, validation, n = 3")
    return figure


def draw_corpus(study: pd.DataFrame) -> Any:
    """Accuracy against the amount of music that was trained with, for the same number of steps."""
    rows = study[(study.variant == "base") | study.variant.str.endswith("of the music")]
    rows = rows.assign(steps=rows.clips * rows.epochs).sort_values("clips")
    longest = rows[rows.variant == "base"].steps.max()
    rows = rows[(rows.steps - longest).abs() < 0.01 * longest]
    if len(rows) < 2:
        raise MissingError("study.csv has no variants with less music: make study")
    figure = new_figure(5, 4)
    axes = figure.subplots()
    axes.plot(rows.clips, rows.valid_global, "o-", color=COLOURS[0], label="puzzles, other music (validation, n = 3)")
    axes.plot(rows.clips, rows.accuracy, "s--", color=COLOURS[1], label="pairs, the music of training")
    axes.set(xscale="log", xlabel="training clips", ylabel="accuracy", ylim=(0, 1))
    axes.set_xticks(rows.clips, rows.clips.astype(str))
    axes.minorticks_off()
    axes.legend(loc="lower right", fontsize=8)
    return figure


def _picture(axes: Any, values: np.ndarray, ticks: bool = False, **options: Any) -> Any:
    shown = axes.imshow(values, origin="lower", aspect="auto", **options)
    if not ticks:
        axes.set(xticks=[], yticks=[])
    return shown


def _seconds(across: np.ndarray, up: np.ndarray) -> tuple[float, float, float, float]:
    return 0.0, spec.hops_to_seconds(len(across)), 0.0, spec.hops_to_seconds(len(up))


def _embedded(model: Any, clips: Sequence[Clip], pair: tuple[int, int], mean: np.ndarray, std: np.ndarray) -> Any:
    """Embeddings and masks of the same pair of three fragments of every clip, as the comparison wants them."""
    pieces = [cut_frames(clip.mel.astype(np.float32), clip.segmentations["fixed/3"].cuts) for clip in clips]
    xs, masks = [], []
    for side, position in model.get_layer("comparison").pieces:
        normal = np.stack([(own[pair[position]] - mean) / std for own in pieces]).astype(np.float32)
        x, mask = model.get_layer("embedding")(*model.get_layer(side)(normal))
        xs.append(x)
        masks.append(mask)
    return xs, masks


def figures(manifest: Manifest, runs: Path, results: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of every figure and how to draw it."""
    from experiments import tables
    from experiments.arena import Arena, Network

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
        return rows[rows.records == manifest.hash[:8]]

    # The liveliest clip makes the clearest picture.
    clip = max(clips[:40], key=lambda clip: float(np.abs(np.diff(clip.mel.astype(np.float32), axis=0)).mean()))
    yield "puzzle", lambda: draw_puzzle(clip)
    yield "similarity", lambda: draw_similarity(network("table2/sen"), clips[:60], *moments)
    names = ("sen", "ccsn", "sn")
    yield "embeddings", lambda: draw_embeddings({name: network(f"table2/{name}") for name in names}, clips, *moments)
    yield "feature_maps", lambda: draw_feature_maps(network("table2/sen"), clip, *moments)
    yield "accuracy", lambda: draw_sizes(table("table3.csv"))
    yield "boundary", lambda: draw_boundary(table("boundary.csv"))
    yield "learning", lambda: draw_learning(find_histories(manifest, runs))
    yield "corpus", lambda: draw_corpus(study())


def find_histories(manifest: Manifest, runs: Path) -> dict[str, dict[str, pd.DataFrame]]:
    """The histories of finished runs on these records, the longest of each row: by panel and name."""
    from experiments.configs import EXPERIMENTS, Run

    longest: dict[tuple[Any, ...], pd.DataFrame] = {}
    for path in sorted(runs.glob("*/*/run.json")):
        facts = json.loads(path.read_text(encoding="ascii"))
        if facts["records"] == manifest.hash and facts["finished"]:
            row, history = Run.from_json(facts["run"]).row, pd.read_csv(path.parent / "history.csv")
            if len(history) > len(longest.get(row, ())):
                longest[row] = history
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for title, (table, protocol) in PANELS.items():
        for name, run in EXPERIMENTS.items():
            if name.startswith(table) and (row := replace(run, protocol=protocol).row) in longest:
                found.setdefault(title, {})[name.removeprefix(table)] = longest[row]
    return found


def define_flags() -> None:
    """The flags of the command; not defined on import, since other modules with flags of their own use this one."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs", "Folder of runs.")
    flags.DEFINE_string("results", "results", "Folder of the tables; pictures go to figures/ in it.")


def main(argv: Sequence[str]) -> None:
    """Draw everything that the records, the runs and the tables allow."""
    given = flags.FLAGS
    job.import_quietly("tensorflow")
    if len(argv) > 1:
        raise job.JobError(f"Not a flag: {argv[1]!r} (--help lists the flags).")
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
    define_flags()
    job.run(main)
