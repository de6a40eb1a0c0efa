import csv
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet.errors import UserError
from experiments import listening


def _write(path, rows, header=listening.COLUMNS):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def _rows(listener, choices, a="random", b="sen"):
    return [["test", listener, f"t{i}", a, b, choice, "2026-01-01T00:00:00Z"] for i, choice in enumerate(choices)]


def test_preferences_are_counted_for_the_order_not_the_side(tmp_path):
    _write(tmp_path / "one.csv", _rows("x", ["b", "b", "none", "a"]))
    _write(tmp_path / "two.csv", _rows("y", ["a", "a", "a"], a="sen", b="random"))
    answers = pd.concat(listening.read(tmp_path / f"{name}.csv") for name in ("one", "two"))
    (found,) = listening.preferences(answers).itertuples()
    assert (found.first, found.second) == ("sen", "random")
    assert found.share == pytest.approx(5.5 / 7, abs=1e-3)
    assert (found.answers, found.ties, found.listeners) == (7, 1, 2)
    assert 0 <= found.low < found.share < found.high <= 1


def test_of_two_answers_to_one_trial_the_last_counts(tmp_path):
    path = _write(tmp_path / "a.csv", _rows("x", ["a"]) + _rows("x", ["b"]))
    (found,) = listening.preferences(listening.read(path)).itertuples()
    assert (found.answers, found.share) == (1, 1.0)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40), st.integers(1, 6))
def test_the_interval_holds_the_mean_and_is_never_empty(shares, listeners):
    values = np.array(shares)
    low, high = listening.interval(values, [str(i % listeners) for i in range(len(values))])
    assert 0 <= low <= values.mean() + 1e-9 and values.mean() - 1e-9 <= high <= 1
    assert high - low > 0.04  # forty answers never settle it, not even if all agree


def test_answers_of_one_person_that_are_alike_widen_the_interval():
    shares = np.array([1.0] * 20 + [0.0] * 20)
    alike = listening.interval(shares, ["x"] * 20 + ["y"] * 20)
    mixed = listening.interval(shares, [str(i % 20) for i in range(40)])
    assert alike[1] - alike[0] > 2 * (mixed[1] - mixed[0])


def test_strengths_of_bradley_and_terry_are_found_again():
    strength = np.array([4.0, 2.0, 1.0, 1.0])
    chances = strength[:, None] / (strength[:, None] + strength)
    expected = (chances.sum(axis=1) - 0.5) / 3
    assert np.allclose(listening.bradley_terry(1e5 * chances), expected, atol=1e-3)
    assert np.allclose(listening.bradley_terry(np.zeros((2, 4, 4))), 0.5)


def test_an_order_is_known_by_those_it_was_never_heard_beside():
    """Mix beats SEN, SEN beats chance, and nobody compared mix with chance."""
    rows = [("x", f"t{i}", *pair, 1.0) for i in range(12) for pair in [("mix", "sen"), ("sen", "random")][i % 2 :][:1]]
    answers = pd.DataFrame(rows, columns=["listener", "trial", "first", "second", "share"]).assign(test="test")
    table = listening.strengths(answers)
    assert list(table["first"]) == ["mix", "sen", "random"] and set(table["second"]) == {listening.OTHERS}
    mix, sen, random = table["share"]
    assert mix > sen > random and list(table["answers"]) == [6, 12, 6]
    assert ((table["low"] < table["share"]) & (table["share"] < table["high"])).all()


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        ([], ["a", "b"], "its header must be test,listener,trial,a,b,choice,time"),
        (_rows("x", ["c"]), listening.COLUMNS, "line 2: the choice is 'c', not a, b or none"),
        (_rows("x", ["a"], a="sen", b="sen"), listening.COLUMNS, "two different orders"),
        ([["test", "x", "t1"]], listening.COLUMNS, "line 2: 7 cells"),
    ],
)
def test_what_is_no_answer_is_named(tmp_path, rows, header, said):
    path = _write(tmp_path / "a.csv", rows, header)
    with pytest.raises(UserError, match=said):
        listening.read(path)


def test_the_command_prints_and_writes_and_says_when_nobody_was_asked(tmp_path):
    def run(*words):
        command = [sys.executable, "-m", "experiments.listening", *words, f"--output={tmp_path / 'listening.csv'}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert "No listeners have been asked yet" in run().stdout
    _write(tmp_path / "answers-1.csv", _rows("x", ["b"] * 8))
    done = run(str(tmp_path / "answers*.csv"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sen rather than random: 1.000 [0.6")
    assert "sen rather than another one: 0.9" in done.stdout
    assert (tmp_path / "listening.csv").read_text().startswith("first,second,share,low,high,answers,ties,listeners")
    failed = run(str(tmp_path / "nothing.csv"))
    assert failed.returncode != 0 and "nothing.csv" in failed.stderr and "Traceback" not in failed.stderr
