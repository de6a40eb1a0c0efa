"""Random numbers keyed by their purpose, so that one more draw somewhere never changes a draw elsewhere."""

import hashlib

import numpy as np


def key_fraction(*purpose: object) -> float:
    """A number in [0, 1) that depends on the purpose alone: `key_fraction("split", track)`."""
    return int.from_bytes(_digest(*purpose)[:8], "big") / 2**64


def rng_for(seed: int, *purpose: object) -> np.random.Generator:
    """A generator for one purpose: `rng_for(seed, "clips", track)`."""
    return np.random.default_rng(int.from_bytes(_digest(seed, *purpose)[:16], "big"))


def _digest(*purpose: object) -> bytes:
    text = "\0".join(str(part) for part in purpose)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
