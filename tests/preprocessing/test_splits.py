from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.records import SPLITS
from preprocessing.clips import Settings
from preprocessing.splits import assign

SHARES = Settings().split


@given(st.sets(st.text(min_size=1, max_size=8), min_size=30, max_size=60))
@settings(max_examples=300)
def test_no_split_is_empty_for_thirty_tracks_or_more(keys):
    found = assign(list(keys), SHARES)
    assert set(found) == keys and set(found.values()) == set(SPLITS)


def test_the_shares_are_near_the_papers():
    found = list(assign([f"track {i}" for i in range(5_000)], SHARES).values())
    for split, share in zip(SPLITS, SHARES, strict=True):
        assert abs(found.count(split) / 5_000 - share) < 0.02


def test_more_music_does_not_move_what_was_there():
    old = [f"track {i}" for i in range(100)]
    before, after = assign(old, SHARES), assign(old + [f"new {i}" for i in range(400)], SHARES)
    assert all(after[key] == before[key] for key in old)
