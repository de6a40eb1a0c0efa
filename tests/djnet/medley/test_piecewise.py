import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.medley.piecewise import Piecewise

HOP = 10


def row_sums(samples: np.ndarray) -> np.ndarray:
    """The sum of the samples within a hop and a half of every hop: [N] -> [1 + N // 10, 1]."""
    padded = np.pad(samples, 15)
    return np.array([[padded[place : place + 30].sum()] for place in range(0, len(samples) + 1, HOP)])


@given(seed=st.integers(0, 999), length=st.integers(0, 2000), blocks=st.integers(1, 30), piece=st.integers(1, 40))
@settings(max_examples=100)
def test_rows_are_those_of_the_whole_wherever_it_is_divided(seed, length, blocks, piece):
    rng = np.random.default_rng(seed)
    samples = rng.integers(-9, 9, length)
    stream = Piecewise(row_sums, HOP, piece, context=2)
    for block in np.split(samples, np.sort(rng.integers(0, length + 1, blocks))):
        stream.add(block)
    assert np.array_equal(stream.end(), row_sums(samples))


def test_a_long_stream_never_holds_more_than_a_few_pieces():
    seen = []

    def count(samples: np.ndarray) -> np.ndarray:
        seen.append(len(samples))
        return np.zeros((1 + len(samples) // HOP, 1))

    stream = Piecewise(count, HOP, piece=50, context=2)
    for _ in range(100):
        stream.add(np.zeros(300))
    assert len(stream.end()) == 3001 and max(seen) == 540
