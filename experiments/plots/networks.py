"""Pictures of puzzles and of what networks make of them: similarity matrices, embeddings, feature maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from djnet import constants
from djnet.pairs import Kind, pairs_of
from djnet.puzzles import same_audio
from djnet.records import Clip
from djnet.rng import rng_for
from experiments.plots.charts import COLOURS, new_figure


def draw_puzzle(clip: Clip, n: int = 4, seed: int = 3) -> Any:
    """A puzzle: the fragments of a clip shuffled, and in their order."""
    fragments = _fragments(clip, n)
    figure = new_figure(10, 3.6)
    rows = figure.subplots(2, n)
    low, high = np.percentile(clip.mel.astype(np.float32), [2, 99.5])
    orders = {"shuffled": rng_for(seed, "picture").permutation(n), "in order": np.arange(n)}
    for row, (title, order) in zip(rows, orders.items(), strict=True):
        for axes, piece in zip(row, order, strict=True):
            _image(axes, fragments[piece].T, vmin=low, vmax=high, cmap="magma")
            axes.set_xlabel(f"R{piece + 1}")
        row[0].set_ylabel(title)
    return figure


def draw_similarity(model: Any, clips: Sequence[Clip], mean: np.ndarray, std: np.ndarray) -> Any:
    """Similarity matrices: a fragment with itself, with another that repeats it, and with one of another song."""
    fragments = [_fragments(clip, 6) for clip in clips]
    embed = model.get_layer("embedding")
    embedded = [[np.asarray(embed(((x - mean) / std)[None], None)[0][0]) for x in own] for own in fragments]
    unit = [[x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-6) for x in own] for own in embedded]

    def repetition(place: tuple[int, int, int]) -> float:
        """How much the clearest diagonal of two fragments of a clip stands out."""
        clip, i, j = place
        matrix = unit[clip][i] @ unit[clip][j].T
        third = len(matrix) // 3
        return max(float(np.diagonal(matrix, k).mean()) for k in range(-third, third)) - float(matrix.mean())

    places = [(c, i, j) for c, own in enumerate(unit) for i in range(len(own)) for j in range(i + 2, len(own))]
    # Played again, not copied: a loop's second turn would look like the fragment itself.
    played = [(c, i, j) for c, i, j in places if not same_audio(fragments[c][i], fragments[c][j])]
    c, i, j = max(played or places, key=repetition)
    others = {
        "the same fragment twice": unit[c][i],
        "a passage and its repetition": unit[c][j],
        "two songs": unit[(c + len(clips) // 2) % len(clips)][i],
    }
    figure = new_figure(10, 3.4)
    for axes, (title, other) in zip(figure.subplots(1, 3), others.items(), strict=True):
        extent = 0.0, constants.hops_to_seconds(len(other)), 0.0, constants.hops_to_seconds(len(unit[c][i]))
        image = axes.imshow(unit[c][i] @ other.T, origin="lower", aspect="auto", vmin=0, vmax=1, extent=extent)
        axes.set(title=title, xlabel="seconds of the one", ylabel="seconds of the other")
    figure.colorbar(image, ax=figure.axes, label="cosine similarity")
    return figure


def draw_embeddings(models: dict[str, Any], clips: Sequence[Clip], mean: np.ndarray, std: np.ndarray) -> Any:
    """t-SNE of the last dense layer, a point a pair, coloured by its kind."""
    from sklearn.manifold import TSNE

    figure = new_figure(4 * len(models), 4)
    pairs = pairs_of(3)
    kinds = np.tile([pair.kind for pair in pairs], len(clips))
    for axes, (name, model) in zip(np.atleast_1d(figure.subplots(1, len(models))), models.items(), strict=True):
        embed = model.get_layer("comparison").embed
        points = [np.asarray(embed(*_embedded(model, clips, pair[:2], mean, std))) for pair in pairs]
        flat = np.stack(points, axis=1).reshape(len(kinds), -1)
        flat = TSNE(random_state=0, init="pca", perplexity=min(30, len(flat) // 4)).fit_transform(flat)
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
            _image(grid[row, 0], np.asarray(matrix[0]), vmin=0, vmax=1)
            grid[row, 0].set_ylabel(f"{title}, {layer} layer")
            most_varied = np.argsort(-maps.std(axis=(0, 1)))[:shown]
            for axes, channel in zip(grid[row, 1:], most_varied, strict=True):
                _image(axes, maps[..., channel], cmap="magma")
                axes.set_title(f"map {channel}", fontsize=8)
    grid[0, 0].set_title("similarity", fontsize=8)
    return figure


def _image(axes: Any, values: np.ndarray, **options: Any) -> None:
    axes.imshow(values, origin="lower", aspect="auto", **options)
    axes.set(xticks=[], yticks=[])


def _fragments(clip: Clip, n: int) -> list[np.ndarray]:
    """The log-mel of a clip in n equal fragments: float32 [t_i, 128] each."""
    return clip.fragments(clip.segmentations[f"fixed/{n}"].cuts)


def _embedded(model: Any, clips: Sequence[Clip], pair: tuple[int, int], mean: np.ndarray, std: np.ndarray) -> Any:
    """Embeddings and masks of the same pair of three fragments of every clip, as the comparison takes them."""
    fragments = [_fragments(clip, 3) for clip in clips]
    outputs = []
    for side, position in model.get_layer("comparison").pieces:
        normal = np.stack([(own[pair[position]] - mean) / std for own in fragments]).astype(np.float32)
        outputs.append(model.get_layer("embedding")(*model.get_layer(side)(normal)))
    return [x for x, _ in outputs], [mask for _, mask in outputs]
