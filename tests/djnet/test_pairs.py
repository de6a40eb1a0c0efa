import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet.pairs import Kind, pairs_of


def test_three_fragments_as_in_the_paper():
    found = {kind: {(p.first, p.second) for p in pairs_of(3) if p.kind is kind} for kind in Kind}
    assert found == {
        Kind.R1R2: {(0, 1), (1, 2)},
        Kind.R2R1: {(1, 0), (2, 1)},
        Kind.R1R3: {(0, 2)},
        Kind.R3R1: {(2, 0)},
    }


@given(st.integers(3, 60))
def test_the_definitions_hold_for_any_n(n):
    pairs = pairs_of(n)
    step = {Kind.R1R2: 1, Kind.R2R1: -1, Kind.R1R3: 2, Kind.R3R1: -2}
    assert len({(p.first, p.second) for p in pairs}) == len(pairs) == 4 * n - 6
    assert all(p.second - p.first == step[p.kind] and 0 <= p.first < n and 0 <= p.second < n for p in pairs)
    assert all(p.label == (p.kind is Kind.R1R2) for p in pairs)
    positive = sum(p.label for p in pairs)
    assert positive == n - 1
    assert 2 <= (len(pairs) - positive) / positive < 3  # "about 1/3"


def test_too_few():
    with pytest.raises(ValueError, match="at least 3 fragments, got 2"):
        pairs_of(2)
