"""Where to cut a clip, and which frames a fragment then holds.

A cut is a hop. A fragment between the cuts a and b is made of the samples [512 a, 512 b). Frames are centred on hops,
so the fragment could hold those of the hops a to b; which ones it does, and what they see, is its protocol:

- `centred`: all of them, computed from the fragment's own samples and mirrored at its ends: the fragment's `log_mel`.
- `trimmed`: only those whose windows lie inside the fragment: the same without the two frames at each end.
- `overlapping`: the frames a to b - 1 of the whole clip's spectrogram. Those next to a cut see up to 1,024 samples of
  the neighbour, so the order of such fragments can be read from shared samples, without learning anything.
"""

from typing import Any

import numpy as np

from djnet.constants import CLIP_SECONDS, HOP_SAMPLES, HOPS_PER_SECOND, WINDOW_HOPS
from djnet.features import log_mel

# First and one past the last frame of a fragment from hop a to hop b, relative to a and b.
_FRAMES = {"centred": (0, 1), "trimmed": (2, -1), "overlapping": (0, 0)}
PROTOCOLS = tuple(_FRAMES)
SHORTEST_HOPS = WINDOW_HOPS  # of a fragment, so that it has frames in every protocol


def frame_range(starts: Any, ends: Any, protocol: str = "centred") -> tuple[Any, Any]:
    """First and one past the last frame of fragments from hop to hop; numbers, arrays or tensors of any shape."""
    first, last = _FRAMES[require_protocol(protocol)]
    return starts + first, ends + last


def require_protocol(protocol: str) -> str:
    """The protocol itself; a ValueError if there is no such protocol."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"Unknown protocol {protocol!r}; there are {', '.join(PROTOCOLS)}.")
    return protocol


def join_windows(first: Any, last: Any, frames: int, maximum: Any = np.maximum) -> tuple[Any, Any]:
    """Where the windows at a fragment's end and beginning begin: `frames` frames each, next to a join.

    `first` and one past the `last` frame of fragments, numbers, arrays or (with `maximum=tf.maximum`) tensors. A
    fragment that is shorter than the window is kept whole; the window then goes on behind its last frame.
    """
    return maximum(last - frames, first), first


def fragment_mel(samples: np.ndarray, protocol: str = "centred", window: str = "hamming") -> np.ndarray:
    """Features of a fragment that stands alone: float32 [N] -> float32 [T, 128]."""
    if protocol == "overlapping":
        raise ValueError("A fragment alone does not overlap with anything: transform the whole clip, then cut.")
    hops = len(samples) // HOP_SAMPLES
    return log_mel(samples, window)[slice(*frame_range(0, hops, protocol))]


def spans_between(cuts: np.ndarray, gap: int = 0) -> np.ndarray:
    """First and last hop of the fragments between cuts, `gap` hops away from every cut: int [n + 1] -> int [n, 2]."""
    return np.stack([np.asarray(cuts)[:-1] + gap, np.asarray(cuts)[1:] - gap], axis=1)


def without_last_bars(spans: np.ndarray, downbeats: np.ndarray) -> np.ndarray:
    """Fragments that each end a bar earlier, at the downbeat before their end: int [n, 2], int [D] -> int [n, 2]."""
    before = np.searchsorted(downbeats, spans[:, 1]) - 1
    return np.stack([spans[:, 0], np.where(before >= 0, downbeats[before], spans[:, 0])], axis=1)


def cut_fragments(
    samples: np.ndarray, spans: np.ndarray, protocol: str = "centred", window: str = "hamming"
) -> list[np.ndarray]:
    """Fragments of samples [N] from hop to hop, int [n, 2]: -> n of float32 [t_i, 128]."""
    if (spans[:, 1] - spans[:, 0]).min() < SHORTEST_HOPS:
        raise ValueError(f"A fragment needs at least {SHORTEST_HOPS} hops; {spans.tolist()} leave fewer.")
    if protocol == "overlapping":
        mel = log_mel(samples, window)
        return [mel[slice(*frame_range(a, b, protocol))] for a, b in spans]
    return [fragment_mel(samples[a * HOP_SAMPLES : b * HOP_SAMPLES], protocol, window) for a, b in spans]


def equal_cuts(hops: int, n: int) -> np.ndarray:
    """Cut `hops` hops into n equal fragments, to the nearest hop: -> int [n + 1], from 0 to `hops`."""
    if n < 1 or hops < n * SHORTEST_HOPS:
        raise ValueError(f"Cannot cut {hops} hops into {n} fragments of at least {SHORTEST_HOPS} hops each.")
    return np.round(np.linspace(0, hops, n + 1)).astype(np.int64)


def downbeat_hops(beats: np.ndarray, first: int, last: int) -> np.ndarray:
    """The downbeats from one hop to another: beats [K, 2] (seconds, position in the bar) -> int [D]."""
    hops = np.round(beats[beats[:, 1] == 1, 0] * HOPS_PER_SECOND).astype(np.int64)
    return hops[(hops >= first) & (hops <= last)]


def downbeat_cuts(downbeats: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray | None:
    """Choose n + 1 of the downbeats as cuts, at random, so that each fragment is about floor(24 / n) s: -> [n + 1].

    Every cut is a downbeat, also the first and the last: no fragment can be told by how it begins or ends. A choice is
    the more probable the nearer its lengths are to that; none is shorter than half of it or longer than twice.
    None if there is no such choice.
    """
    target = CLIP_SECONDS // n * HOPS_PER_SECOND
    downbeats = np.unique(downbeats)
    gaps = downbeats[None, :] - downbeats[:, None]
    weights = np.exp(-0.5 * ((gaps - target) / (0.15 * target)) ** 2)
    weights[(gaps < target / 2) | (gaps > 2 * target)] = 0.0
    # ways[k][i]: total weight of the choices of k further cuts after downbeat i.
    ways = [np.ones(len(downbeats))]
    for _ in range(n):
        ways.append(weights @ ways[-1])
    if not ways[n].any():
        return None
    chosen = [rng.choice(len(downbeats), p=ways[n] / ways[n].sum())]
    for left in range(n - 1, -1, -1):
        share = weights[chosen[-1]] * ways[left]
        chosen.append(rng.choice(len(downbeats), p=share / share.sum()))
    return downbeats[chosen]
