"""Pictures of puzzles and of what networks make of them: similarity matrices, embeddings, feature maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from djnet import constants
from djnet.cuts import cut_frames
from djnet.pairs import Kind, pairs_of
from djnet.puzzles import same_audio
from djnet.records import Clip
from djnet.rng import rng_for
from experiments.plots.charts import COLOURS, new_figure


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


def _picture(axes: Any, values: np.ndarray, ticks: bool = False, **options: Any) -> Any:
    shown = axes.imshow(values, origin="lower", aspect="auto", **options)
    if not ticks:
        axes.set(xticks=[], yticks=[])
    return shown


def _seconds(across: np.ndarray, up: np.ndarray) -> tuple[float, float, float, float]:
    return 0.0, constants.hops_to_seconds(len(across)), 0.0, constants.hops_to_seconds(len(up))


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
