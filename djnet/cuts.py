"""Where to cut a clip, and which frames a fragment then holds.

A cut is a hop. A fragment between the cuts a and b is made of the samples [512 a, 512 b). Under the protocol
`isolated` it holds exactly the frames whose windows lie inside it: those of `log_mel(samples[512 a : 512 b])`. Under
`overlapping` it holds every frame that begins inside it, so that its last three frames see up to 1,536 samples
of its neighbour: the order of such fragments can be read from shared samples alone, without learning anything.
"""

import numpy as np

from djnet.constants import CLIP_SECONDS, HOPS_PER_SECOND, WINDOW_HOPS

PROTOCOLS = ("isolated", "overlapping")


def equal_cuts(hops: int, n: int) -> np.ndarray:
    """Cut `hops` hops into n equal fragments, to the nearest hop: -> int [n + 1], from 0 to `hops`."""
    if n < 1 or hops < n * WINDOW_HOPS:
        raise ValueError(f"Cannot cut {hops} hops into {n} fragments of at least {WINDOW_HOPS} hops each.")
    return np.round(np.linspace(0, hops, n + 1)).astype(np.int64)


def downbeat_hops(beats: np.ndarray, hops: int) -> np.ndarray:
    """The downbeats of a record of so many hops: beats [K, 2] (seconds, position in the bar) -> int [D]."""
    found = np.round(beats[beats[:, 1] == 1, 0] * HOPS_PER_SECOND).astype(np.int64)
    return found[found <= hops]


def downbeat_cuts(downbeats: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray | None:
    """Choose n + 1 of the downbeats as cuts, at random, so that each fragment is about floor(24 / n) s: -> [n + 1].

    Every cut is a downbeat, also the first and the last: no fragment can be told by how it begins or ends. A choice is
    the more probable the nearer its lengths are to that; none is shorter than half of it or longer than twice.
    Nothing if there is no such choice.
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


def frame_ranges(cuts: np.ndarray, protocol: str = "isolated") -> np.ndarray:
    """First and one past the last frame of every fragment: cuts [n + 1] -> int [n, 2].

    The last fragment ends where the clip ends under both protocols.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"Unknown protocol {protocol!r}; there are {', '.join(PROTOCOLS)}.")
    cuts = np.asarray(cuts)
    ends = cuts[1:] - (WINDOW_HOPS - 1)
    if protocol == "overlapping":
        ends = np.minimum(cuts[1:], ends[-1])
    return np.stack([cuts[:-1], ends], axis=1)


def cut_frames(mel: np.ndarray, cuts: np.ndarray, protocol: str = "isolated") -> list[np.ndarray]:
    """Cut a clip's frames at its cuts: [T, M] -> list of [t_i, M]."""
    return [mel[first:last] for first, last in frame_ranges(cuts, protocol)]
