"""Which tracks are for training, validation and testing: by a hash, so that new music does not move old music."""

from djnet.records import SPLITS
from djnet.rng import key_fraction


def assign(keys: list[str], shares: tuple[float, ...]) -> dict[str, str]:
    """A split for every key (a track's content, or its group).

    With three keys or more, no split is empty that has a share.
    """
    places = {key: key_fraction("split", key) for key in sorted(set(keys))}
    bounds = {}
    before = 0.0
    for split, share in zip(SPLITS, shares, strict=True):
        bounds[split] = (before, before + share)
        before += share
    assigned = {key: _split_at(place, bounds) for key, place in places.items()}
    if len(assigned) < len(SPLITS):
        return assigned
    for split, share in zip(SPLITS, shares, strict=True):
        if share > 0 and split not in assigned.values():
            # Rare, and only in small collections: take the key that was nearest to falling into the empty split.
            counts = {name: list(assigned.values()).count(name) for name in SPLITS}
            spare = [key for key in assigned if counts[assigned[key]] > 1]
            low, high = bounds[split]
            nearest = min(spare, key=lambda key: (max(low - places[key], places[key] - high), key))
            assigned[nearest] = split
    return assigned


def _split_at(place: float, bounds: dict[str, tuple[float, float]]) -> str:
    return next((split for split, (low, high) in bounds.items() if low <= place < high), SPLITS[-1])
