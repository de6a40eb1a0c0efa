"""Which claims of the paper hold here: a rule on intervals, from the rows of results/table*.csv.

A claim is a list of comparisons: one row should be ahead of another. It is *clearly* ahead if the 95% intervals of the
two lie apart. A claim is reproduced if every comparison is clear, not reproduced if none is, and partly otherwise.
Jigsaws are compared by global accuracy, the other games by pairwise accuracy, as in the tables.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

PROTOCOLS = ("centred", "trimmed")  # the first for which all rows of a claim are there; neither shares samples
KEPT = 0.9  # of its accuracy at n = 3 that a robust network still has at n = 8; the paper's SEN has 0.959
Row = dict[str, str]
GAMES = ("jigsaw", "sequencing", "medley")


@dataclass(frozen=True)
class Value:
    """A number with its 95% interval, and the paper's where it has one."""

    name: str
    ours: float
    low: float
    high: float
    paper: float | None


@dataclass(frozen=True)
class Comparison:
    """Two values of which the first should be ahead."""

    better: Value
    worse: Value

    @property
    def behind(self) -> bool:
        """Whether it is not even ahead."""
        return self.better.ours <= self.worse.ours

    @property
    def margin(self) -> float:
        """How far the intervals are apart; negative where they overlap, and 0 or less where it is not clear."""
        return self.better.low - self.worse.high


class MissingRowError(Exception):
    """A row that a claim needs and that was not played yet."""


@dataclass(frozen=True)
class Claim:
    """What the paper says, and how it is looked for: in the rows of one protocol, of runs without changes."""

    text: str
    compare: Callable[[list[Row]], list[Comparison]]


def _value(results: list[Row], table: str, game: str, cut: str, method: str, n: str = "") -> Value:
    """The result of a row, found by its columns; of several runs the first seed. Only jigsaws have an `n`.

    `results` are all rows; `table`, `game`, `cut` (its segmentation), `method` and `n` say which is wanted.
    """
    wanted = {"table": table, "game": game, "segmentation": cut, "method": method} | ({"n": n} if n else {})
    rows = [row for row in results if row | wanted == row]
    if not rows:
        raise MissingRowError(" ".join(filter(None, [table, game, cut, n and f"n = {n}", method])))
    row = min(rows, key=lambda row: int(row["seed"] or 0))
    measure = "global" if game == "jigsaw" else "pairwise"
    low, high = (float(row[f"{measure}_{edge}"]) for edge in ("low", "high"))
    paper = float(row[f"paper_{measure}"]) if row[f"paper_{measure}"] else None
    return Value(method, float(row[measure]), low, high, paper)


def beats_all(results: list[Row]) -> list[Comparison]:
    """SEN and each of the five other networks at n = 3."""
    names = ("sen", "sn", "ccsn", "cin", "tsn", "opn")
    sen, *others = (_value(results, "table2", "jigsaw", "fixed", name, "3") for name in names)
    return [Comparison(sen, other) for other in others]


def gap_grows(results: list[Row]) -> list[Comparison]:
    """SEN's lead on the better of SN and CIN at n = 8, and at n = 3."""
    return [Comparison(_lead(results, "8"), _lead(results, "3"))]


def _lead(results: list[Row], n: str) -> Value:
    """SEN's lead, its interval as of two independent numbers, which is wider than that of the same puzzles."""
    sen, *others = (_value(results, "table3", "jigsaw", "fixed", name, n) for name in ("sen", "sn", "cin"))
    rival = max(others, key=lambda value: value.ours)
    lead = sen.ours - rival.ours
    down = ((sen.ours - sen.low) ** 2 + (rival.high - rival.ours) ** 2) ** 0.5
    up = ((sen.high - sen.ours) ** 2 + (rival.ours - rival.low) ** 2) ** 0.5
    known = [value.paper for value in others if value.paper is not None]
    paper = sen.paper - max(known) if sen.paper is not None and known else None
    return Value(f"lead at n = {n}", lead, lead - down, lead + up, paper)


def robust(results: list[Row]) -> list[Comparison]:
    """What SEN keeps at n = 8 of its accuracy at n = 3, and nine tenths; and what the better of SN and CIN keeps."""
    sen, *others = (_kept(results, name) for name in ("sen", "sn", "cin"))
    nine_tenths = Value("nine tenths", KEPT, KEPT, KEPT, KEPT)
    return [Comparison(sen, nine_tenths), Comparison(sen, max(others, key=lambda value: value.ours))]


def _kept(results: list[Row], method: str) -> Value:
    three, eight = (_value(results, "table3", "jigsaw", "fixed", method, n) for n in ("3", "8"))
    paper = eight.paper / three.paper if eight.paper is not None and three.paper else None
    return Value(f"kept by {method}", eight.ours / three.ours, eight.low / three.high, eight.high / three.low, paper)


def downbeats_help(game: str) -> Callable[[list[Row]], list[Comparison]]:
    """SEN trained with cuts at downbeats, and with equal cuts, in a game of recordings."""

    def compare(results: list[Row]) -> list[Comparison]:
        downbeat, fixed = (_value(results, "table4", game, cut, "sen") for cut in ("downbeat", "fixed"))
        return [Comparison(downbeat, replace(fixed, name="equal cuts"))]

    return compare


def part_matters(*ablations: str) -> Callable[[list[Row]], list[Comparison]]:
    """The whole SEN, and SEN with a part changed, in the three games."""

    def compare(results: list[Row]) -> list[Comparison]:
        comparisons = []
        for game in GAMES:
            n = "8" if game == "jigsaw" else ""
            whole, *others = (_value(results, "table5", game, "downbeat", name, n) for name in ("all", *ablations))
            comparisons += [Comparison(whole, replace(other, name=f"{other.name}, {game}")) for other in others]
        return comparisons

    return compare


CLAIMS = (
    Claim("SEN beats all baselines (n = 3)", beats_all),
    Claim("the gap grows with n", gap_grows),
    Claim("SEN is robust at n = 8", robust),
    Claim("downbeat training helps sequencing", downbeats_help("sequencing")),
    Claim("downbeat training helps medleys", downbeats_help("medley")),
    Claim("cosine is better than the inner product", part_matters("inner_product")),
    Claim("stride 1 is better than stride 2", part_matters("stride2")),
    Claim("three poolings are better than one", part_matters("mean_pooling", "max_pooling")),
    Claim("all kinds of negatives are better than one", part_matters("r2r1", "r1r3", "r3r1")),
)


def judge(claim: Claim, rows: Iterable[Row]) -> list[str]:
    """A line of the table of claims: claim, verdict, ours, the paper's, the intervals, one sentence."""
    missing = ""
    played = [row for row in rows if row["global"]]
    for protocol in PROTOCOLS:
        own = [row for row in played if row["protocol"] == protocol]
        plain = [row for row in own if not row.get("differs") and row.get("preset", "") in ("", "compact")]
        try:
            return _judged(claim, claim.compare(plain), protocol)
        except MissingRowError as error:
            missing = missing or str(error)
    return [claim.text, "not known yet", "", "", "", f"Not played yet: {missing}."]


def _judged(claim: Claim, comparisons: list[Comparison], protocol: str) -> list[str]:
    """The verdict; the numbers are those of the comparison that speaks least for the claim."""
    clear = [one for one in comparisons if one.margin > 0]
    behind = [one.worse.name for one in comparisons if one.behind]
    verdict = "reproduced" if len(clear) == len(comparisons) else "partly" if clear else "not"
    least = min(comparisons, key=lambda one: one.margin)
    better, worse = least.better, least.worse
    theirs = "" if better.paper is None or worse.paper is None else f"{better.paper:.3f} against {worse.paper:.3f}"
    intervals = f"{better.low:.3f} to {better.high:.3f} against {worse.low:.3f} to {worse.high:.3f}"
    close = len(comparisons) - len(clear) - len(behind)
    sentence = f"Clearly ahead in {len(clear)} of {len(comparisons)}"
    sentence += f", ahead within the intervals in {close}" if close else ""
    sentence += f", behind in {len(behind)}: {'; '.join(behind)}" if behind else ""
    ours = f"{better.ours:.3f} against {worse.ours:.3f} ({worse.name})"
    return [claim.text, verdict, ours, theirs, intervals, f"{sentence} (`{protocol}`)."]
