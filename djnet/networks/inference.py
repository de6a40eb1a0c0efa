"""A trained SEN in plain NumPy, for machines without TensorFlow: the same answers as the Keras model's.

Batch normalisation is part of the kernels already (`experiments.export` writes them so). Nothing is padded: every
fragment is embedded alone and once, and only pairs of the same two lengths are compared together.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path
from typing import IO

import numpy as np
import scipy.special

from djnet.cuts import join_windows
from djnet.networks.config import NetworkConfig

EPSILON = 1e-6  # as in networks/layers.py
_PAIRS_AT_ONCE = 32  # more would not fit into a processor's cache

_PARTS = ("tower", "convnet", "dense")

Layer = tuple[np.ndarray, np.ndarray]  # kernel [..., inputs, outputs] and bias [outputs]


@dataclass(frozen=True)
class Sen:
    """The layers of a SEN: 1D convolutions of a fragment, 2D convolutions of a pair's matrix, dense layers."""

    config: NetworkConfig
    tower: list[Layer]
    convnet: list[Layer]
    dense: list[Layer]

    def scores(self, fragments: Sequence[np.ndarray], wanted: np.ndarray | None = None) -> np.ndarray:
        """Probability that one fragment follows another: n of float32 [t_i, 128], normalised -> float32 [n, n].

        Only the pairs that are `wanted` (bool [n, n]), if it is given; the others are 0.
        """
        sides = [self._embed(fragment) for fragment in fragments]
        pairs_of_shape: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for a, b in permutations(range(len(sides)), 2) if wanted is None else np.argwhere(wanted):
            pairs_of_shape.setdefault((len(sides[a][0][0]), len(sides[b][1][0])), []).append((a, b))
        scores = np.zeros((len(sides), len(sides)), np.float32)
        for pairs in pairs_of_shape.values():
            for first in range(0, len(pairs), _PAIRS_AT_ONCE):
                before, after = np.array(pairs[first : first + _PAIRS_AT_ONCE]).T
                ends = [np.stack(part) for part in zip(*(sides[a][0] for a in before), strict=True)]
                beginnings = [np.stack(part) for part in zip(*(sides[b][1] for b in after), strict=True)]
                scores[before, after] = self._compare(ends, beginnings)
        return scores

    def _embed(self, fragment: np.ndarray) -> list[list[np.ndarray]]:
        """What is compared of a fragment's end and of its beginning: [t, 128] -> embedded frames [T, C].

        With two matrices, the plain frames [T, 128] as well.
        """
        window = self.config.window_frames or len(fragment)
        sides = []
        for first in join_windows(0, len(fragment), window):
            x = plain = np.ascontiguousarray(fragment[first : first + window], np.float32)
            for kernel, bias in self.tower:
                x = np.maximum(_convolve_frames(x, kernel, self.config.edges, self.config.stride) + bias, 0)
            if self.config.similarity == "cosine":
                x = x / np.sqrt(np.square(x).sum(axis=-1, keepdims=True) + np.float32(EPSILON))
            sides.append([x, plain] if self.config.two_matrices else [x])
        return sides

    def _compare(self, ends: Sequence[np.ndarray], beginnings: Sequence[np.ndarray]) -> np.ndarray:
        """Probabilities of pairs of the same two lengths: frames as embedded, [B, N, ...] and [B, M, ...] -> [B]."""
        matrices = [ends[0] @ beginnings[0].swapaxes(1, 2)]
        if self.config.two_matrices:
            matrices.append(_nearness(ends[1], beginnings[1]))
        x = np.stack(matrices, axis=-1)
        for number, (kernel, bias) in enumerate(self.convnet, 1):
            pooled = self.config.pool_last or number < len(self.convnet)
            x = _convolve_matrices(x, kernel, self.config.pool if pooled else 1, self.config.pool_edges)
            x = np.maximum(x + bias, 0)
        x = self._statistics(x.reshape(len(x), -1, x.shape[-1]))
        for kernel, bias in self.dense[:-1]:
            x = np.maximum(x @ kernel + bias, 0)
        kernel, bias = self.dense[-1]
        return scipy.special.softmax(x @ kernel + bias, axis=1)[:, 1]

    def _statistics(self, x: np.ndarray) -> np.ndarray:
        """Mean, maximum and standard deviation of every channel: [B, places, C] -> [B, 3 C]."""
        variance = x.var(axis=1)
        spread = variance if self.config.variance else np.sqrt(variance + np.float32(EPSILON))
        values = {"mean": x.mean(axis=1), "max": x.max(axis=1), "std": spread}
        return np.concatenate([values[kind] for kind in self.config.pooling], axis=1)


def _convolve_frames(x: np.ndarray, kernel: np.ndarray, edges: str, stride: int) -> np.ndarray:
    """Convolution over time that keeps the length (divided by the stride): [T, C], [size, C, F] -> [T', F]."""
    before = (len(kernel) - 1) // 2
    x = np.pad(x, [(before, len(kernel) - 1 - before), (0, 0)], mode="edge" if edges == "repeated" else "constant")
    windows = np.lib.stride_tricks.sliding_window_view(x, len(kernel), axis=0)[::stride]  # [T', C, size]
    return windows.swapaxes(1, 2).copy().reshape(len(windows), -1) @ kernel.reshape(-1, kernel.shape[-1])


def _convolve_matrices(x: np.ndarray, kernel: np.ndarray, pool: int, pool_edges: str) -> np.ndarray:
    """Convolution that keeps the size, then maximum pooling: [B, N, M, C], [s, s, C, F] -> [B, N / pool, M / pool, F].

    One product for each place in the blocks that are pooled, so that the convolved matrices are never stored.
    """
    size = len(kernel)
    before = (size - 1) // 2
    blocks = [-(-length // pool) for length in x.shape[1:3]]
    # Zeros around the matrix, and behind it (or before and behind) as many places as the last blocks need.
    missing = [block * pool - n for block, n in zip(blocks, x.shape[1:3], strict=True)]
    ahead = [count // 2 if pool_edges == "both" else 0 for count in missing]
    more = [(before + a, size - 1 - before + m - a) for a, m in zip(ahead, missing, strict=True)]
    padded = np.pad(x, [(0, 0), *more, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))  # type: ignore[call-overload]
    windows = np.moveaxis(windows, 3, -1)  # [B, N', M', s, s, C]
    flat = kernel.reshape(-1, kernel.shape[-1])
    values = np.empty((len(x), *blocks, kernel.shape[-1]), np.float32)
    result = np.full_like(values, -np.inf)
    for place in np.ndindex(pool, pool):
        patches = windows[:, place[0] :: pool, place[1] :: pool].reshape(-1, len(flat))
        np.matmul(patches, flat, out=values.reshape(len(patches), -1))
        # Places before and behind the matrix do not count.
        rows, columns = (
            slice(int(i < a), len(range(i, a + n, pool))) for i, a, n in zip(place, ahead, x.shape[1:3], strict=True)
        )
        np.maximum(result[:, rows, columns], values[:, rows, columns], out=result[:, rows, columns])
    return result


def _nearness(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """1 for frames that are the same, toward 0 the farther they are: [B, N, C], [B, M, C] -> [B, N, M]."""
    squares = [np.square(x).mean(axis=-1) for x in (first, second)]
    product = first @ second.swapaxes(1, 2) / np.float32(first.shape[-1])
    return np.exp(-0.5 * np.maximum(squares[0][:, :, None] + squares[1][:, None, :] - 2 * product, 0))


def write(file: IO[bytes], network: Sen) -> None:
    """Store a network as .npz."""
    arrays = {"design": np.array(json.dumps(asdict(network.config)))}
    for part in _PARTS:
        for i, layer in enumerate(getattr(network, part)):
            arrays |= {f"{part}{i}_{name}": array for name, array in zip(("kernel", "bias"), layer, strict=True)}
    np.savez(file, **arrays)  # type: ignore[arg-type]


def read(path: Path) -> Sen:
    """A network as `write` stored it."""
    with np.load(path, allow_pickle=False) as stored:
        config = NetworkConfig.from_json(json.loads(str(stored["design"])))
        depths = (len(config.tower), len(config.convnet), len(config.dense) + 1)
        layers = {
            part: [(stored[f"{part}{i}_kernel"], stored[f"{part}{i}_bias"]) for i in range(depth)]
            for part, depth in zip(_PARTS, depths, strict=True)
        }
    return Sen(config, **layers)
