import pytest

from experiments.claims import CLAIMS, Claim, Comparison, Value, judge

ROW = {"table": "table2", "game": "jigsaw", "segmentation": "fixed", "n": "3", "protocol": "centred", "seed": "0"}
OTHERS = ("sn", "ccsn", "cin", "tsn", "opn")


def _row(method, share, **values):
    edges = {"": 0.0, "_low": -0.02, "_high": 0.02}
    numbers = {f"{name}{edge}": str(share + by) for name in ("global", "pairwise") for edge, by in edges.items()}
    return ROW | numbers | {"method": method, "paper_global": "0.9", "paper_pairwise": "0.9"} | values


def _networks(sen, best, **values):
    return [_row("sen", sen, **values), *(_row(name, best, **values) for name in OTHERS)]


@pytest.mark.parametrize(("sen", "best", "verdict"), [(0.9, 0.8, "reproduced"), (0.9, 0.87, "not"), (0.7, 0.8, "not")])
def test_a_claim_is_reproduced_where_all_intervals_lie_apart(sen, best, verdict):
    line = judge(CLAIMS[0], _networks(sen, best))
    assert line[1] == verdict and line[2] == f"{sen:.3f} against {best:.3f} (sn)" and line[3] == "0.900 against 0.900"
    assert line[4].startswith(f"{sen - 0.02:.3f} to {sen + 0.02:.3f} against ")


def test_one_rival_that_is_not_clearly_behind_makes_it_partly():
    rows = [*_networks(0.9, 0.8)[:-1], _row("opn", 0.89), _row("opn", 0.2, seed="1")]
    line = judge(CLAIMS[0], rows)
    assert line[1:3] == ["partly", "0.900 against 0.890 (opn)"]
    assert line[5] == "Clearly ahead in 4 of 5, ahead within the intervals in 1 (`centred`)."
    rows[-2] = _row("opn", 0.95)
    assert judge(CLAIMS[0], rows)[5] == "Clearly ahead in 4 of 5, behind in 1: opn (`centred`)."


def test_trimmed_rows_count_until_all_centred_ones_are_there():
    old = _networks(0.6, 0.5, protocol="trimmed")
    assert judge(CLAIMS[0], [*old, *_networks(0.9, 0.8)])[2].startswith("0.900")
    assert judge(CLAIMS[0], [*old, *_networks(0.9, 0.8)[:-1]])[2].startswith("0.600")
    assert judge(CLAIMS[0], [*old, *_networks(0.9, 0.8, protocol="overlapping")])[5].endswith("(`trimmed`).")


def test_rows_that_are_missing_are_named():
    rows = [*_networks(0.9, 0.8)[:-1], _row("opn", 0.1, differs="80 epochs"), _row("opn", 0.1) | {"global": ""}]
    assert judge(CLAIMS[0], rows)[1:] == [
        "not known yet", "", "", "", "Not played yet: table2 jigsaw fixed n = 3 opn."
    ]  # fmt: skip


def _by_size(sen, other):
    shares = {"sen": sen, "sn": other, "cin": other}
    sizes = ("3", "8")
    return [_row(name, shares[name][i], table="table3", n=n) for name in shares for i, n in enumerate(sizes)]


def test_the_gap_grows_and_accuracy_is_kept_by_their_own_rules():
    gap, robust = CLAIMS[1], CLAIMS[2]
    assert judge(gap, _by_size((0.99, 0.95), (0.86, 0.23)))[1] == "reproduced"
    assert judge(gap, _by_size((0.9, 0.5), (0.8, 0.39)))[1] == "not"  # the lead is as great, within its interval
    assert judge(robust, _by_size((0.99, 0.97), (0.86, 0.23)))[1] == "reproduced"
    assert judge(robust, _by_size((0.9, 0.6), (0.8, 0.3)))[1] == "partly"  # more than the others keep
    assert judge(robust, _by_size((0.9, 0.3), (0.8, 0.3)))[1] == "not"


def test_games_of_recordings_go_by_pairwise_accuracy():
    medley = {"table": "table4", "game": "medley", "n": "7-11", "global": "0.1"}
    rows = [_row("sen", share, segmentation=cut, **medley) for cut, share in (("downbeat", 0.9), ("fixed", 0.8))]
    assert judge(CLAIMS[4], rows)[1:3] == ["reproduced", "0.900 against 0.800 (equal cuts)"]


def test_the_numbers_shown_are_those_that_speak_least_for_a_claim():
    near, far = (Comparison(Value("a", 0.9, 0.89, 0.91, None), Value(str(x), x, x, x, None)) for x in (0.85, 0.1))
    line = judge(Claim("made up", lambda _: [far, near]), [])
    assert line[2:4] == ["0.900 against 0.850 (0.85)", ""]
