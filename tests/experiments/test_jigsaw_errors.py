import pytest

from experiments.jigsaw_errors import count, kind_of
from experiments.predictions import Answer


@pytest.mark.parametrize(
    "places, kind",
    [
        ((0, 1, 2, 3), "solved"),
        ((2, 3, 0, 1), "rotated"),
        ((0, 2, 1, 3), "neighbours_exchanged"),
        ((0, 2, 3, 1), "one_piece_misplaced"),
        ((3, 2, 1, 0), "otherwise_wrong"),
        ((1, 0), "rotated"),
    ],
)
def test_what_an_answer_looks_like(places, kind):
    assert kind_of(places) == kind


def test_shares_of_answers_and_of_wrong_joins():
    truth = (2, 0, 1)  # pieces in their right order
    found = count([Answer("a", truth, truth), Answer("b", truth, (0, 2, 1))])  # places 1, 0, 2
    assert found["solved"] == found["neighbours_exchanged"] == 0.5 and found["rotated"] == 0
    assert (found["joins_back"], found["joins_skip"], found["joins_elsewhere"]) == (0.5, 0.5, 0)
    assert count([Answer("a", truth, truth)])["joins_back"] == 0
