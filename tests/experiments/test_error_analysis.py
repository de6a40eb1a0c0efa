import numpy as np
import pytest

from experiments.error_analysis import (
    correct_runs,
    in_words,
    kind_of,
    sequencing_errors,
    shares_of_errors,
    short_label,
)
from experiments.evaluation import Played
from experiments.predictions import Answer


@pytest.mark.parametrize(
    ("label", "short"),
    [("intro", "I"), ("verse A", "Va"), ('"chorus B"', "Cb"), ("pre-chorus", "Cpre"), ("", "?"), ("-", "?")],
)
def test_labels_as_the_paper_writes_them(label, short):
    assert short_label(label) == short


def test_the_papers_own_example():
    """Of this order the paper says that 7-8-9-10 and 2-3-4-5 are right."""
    truth = tuple(range(10))
    order = tuple(place - 1 for place in (1, 7, 8, 9, 10, 6, 2, 3, 4, 5))
    assert correct_runs(order, truth) == [1, 4, 1, 4]
    names = ("intro", "verse A", "bridge A", "verse B", "pre-chorus", "chorus A", "bridge B", "verse A", "verse C")
    labels: dict[str, tuple[str, ...]] = {"song": (*names, "pre-chorus")}
    songs, confusions = sequencing_errors(
        Played([Answer("song", truth, order)], ["song"], [""], labels, np.array([True]))
    )
    row = songs.iloc[0]
    assert row.right == "I-Va-Ba-Vb-Cpre-Ca-Bb-Va-Vc-Cpre"
    assert row.predicted == "I-Bb-Va-Vc-Cpre-Ca-Va-Ba-Vb-Cpre"
    assert row.predicted_places == "1-7-8-9-10-6-2-3-4-5"
    assert (row.solved, row.runs, row.in_runs, row.longest_run) == (0, 4, 0.8, 0.4)
    # After the intro a verse belongs, a bridge was put; after the chorus a bridge belongs, a verse was put.
    assert confusions == {("V", "B"): 1, ("B", "V"): 1}
    text = in_words("Sequencing by sen", songs, confusions, {})
    assert "1 songs, 0 solved" in text and "V -> B: 1" in text


@pytest.mark.parametrize(
    ("places", "kind"),
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
    shares = shares_of_errors([Answer("a", truth, truth), Answer("b", truth, (0, 2, 1))])  # places 1, 0, 2
    assert shares["solved"] == shares["neighbours_exchanged"] == 0.5 and shares["rotated"] == 0
    assert (shares["joins_back"], shares["joins_skip"], shares["joins_elsewhere"]) == (0.5, 0.5, 0)
    assert shares_of_errors([Answer("a", truth, truth)])["joins_back"] == 0
