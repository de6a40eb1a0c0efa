import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet.errors import UserError
from experiments import predictions
from experiments.predictions import Answer


@given(name=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20), n=st.integers(2, 6))
def test_answers_survive_a_round_trip(tmp_path_factory, name, n):
    path = tmp_path_factory.mktemp("answers") / "a.csv"
    rng = np.random.default_rng(n)
    order = tuple(rng.permutation(n).tolist())
    written = [Answer(name, tuple(range(n)), order, rng.random((n, n))), Answer("list-wise", order, order)]
    predictions.write(path, {"cell": name}, written)
    about, answers = predictions.read(path)
    assert about == {"cell": name}
    for a, b in zip(written, answers, strict=True):
        assert (a.puzzle, a.truth, a.order) == (b.puzzle, b.truth, b.order)
        assert (a.scores is None) == (b.scores is None)
        if a.scores is not None and b.scores is not None:
            assert np.allclose(a.scores, b.scores, rtol=1e-4)


def test_damaged_predictions_are_named_with_their_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("puzzle,truth\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 1: does not say"):
        predictions.read(path)
    path.write_text("# {}\npuzzle,truth,order,scores\nx,0 1,1 0,0 1 1 0\ny,0 1,1 zero,\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 4: .*zero"):
        predictions.read(path)
    for text, complaint in {"# []\n": "has no column 'puzzle'", "# 5\n": "line 1", "# {}\na,b\n": "no column"}.items():
        path.write_text(text)
        with pytest.raises(UserError, match=complaint):
            predictions.read(path)


def test_a_name_holds_what_makes_the_cell():
    assert predictions.file_name({"game": "medley", "n": "7-11", "method": "sen (greedy)", "x": ""}) == (
        "medley-7-11-sen_greedy_.csv"
    )
