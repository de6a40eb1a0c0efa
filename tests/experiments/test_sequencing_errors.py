import pytest

from experiments.predictions import Answer
from experiments.sequencing_errors import _analysis, correct_runs, short_label, text


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
    found = _analysis("sen", [Answer("song", truth, order)], {"song": (*names, "pre-chorus")})
    row = found.songs.iloc[0]
    assert row.right == "I-Va-Ba-Vb-Cpre-Ca-Bb-Va-Vc-Cpre"
    assert row.predicted == "I-Bb-Va-Vc-Cpre-Ca-Va-Ba-Vb-Cpre"
    assert row.predicted_places == "1-7-8-9-10-6-2-3-4-5"
    assert (row.solved, row.runs, row.in_runs, row.longest_run) == (0, 4, 0.8, 0.4)
    # After the intro a verse belongs, a bridge was put; after the chorus a bridge belongs, a verse was put.
    assert found.confusions == {("V", "B"): 1, ("B", "V"): 1}
    assert "1 songs, 0 solved" in text(found) and "V -> B: 1" in text(found)
