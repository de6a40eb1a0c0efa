"""Change one line of the program at a time and see whether a test notices: `make mutants`, or

    python -m tests.mutants [word] [--output=mutants.csv]        only files with that word in their name

Works on a copy of the sources, and runs only the tests of the module that was changed, the quickest first. A mutant
that no test notices is printed; the exit code says whether there are any. The table has a row for each file.
"""

import argparse
import importlib
import json
import os
import shutil
import signal
import sys
from collections import Counter, defaultdict
from pathlib import Path

import hypothesis
import pytest
from tqdm import tqdm

from djnet.files import temporary_folder
from experiments.checkpoints import commit
from tests.tables import replace_rows

ROOT = Path(__file__).parent.parent
SOURCES = ("djnet", "experiments", "preprocessing", "tests")
LIMIT_SECONDS = 1_800  # for the tests of one module, on a busy machine

# File -> its tests, and (line as it is, line with a fault). What stands on the left occurs once in the file.
MUTANTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "djnet/ordering.py": (
        "tests/djnet/test_ordering.py",
        [
            ("if a == b or b == self.first or a == self.last:", "if a == b or b == self.first:"),
            ("and n - len(self.optional) > 1:", "and n - len(self.optional) > 2:"),
            ("if len(scores) < 2:", "if len(scores) < 1:"),
            ("places[a] < places[b]", "places[a] > places[b]"),
            ("(round(-total, 10), prefix", "(round(-total, 1), prefix"),
            ("if pieces & required == required:", "if pieces & required:"),
            (" & (group & earlier[first] == 0)]", "]"),
            ("+ scores[first]).max(axis=1)", "+ scores[first]).min(axis=1)"),
            ("value + scores[order[-1], piece]", "value + scores[piece, order[-1]]"),
            ("scores[pieces[:-1], pieces[1:]]", "scores[pieces[1:], pieces[:-1]]"),
            (" or head[before] == after:", ":"),
            ("np.argsort(-scores, axis=None", "np.argsort(scores, axis=None"),
            ("np.log(sure) - np.log1p(-sure)", "np.log(sure)"),
            ("CERTAIN = 1e-7", "CERTAIN = 1e-2"),
        ],
    ),
    "djnet/cuts.py": (
        "tests/djnet/test_cuts.py",
        [
            ('"centred": (0, 1)', '"centred": (0, 0)'),
            ('"trimmed": (2, -1)', '"trimmed": (1, -1)'),
            ("return maximum(last - frames, first), first", "return last - frames, first"),
            ("np.asarray(cuts)[1:] - gap", "np.asarray(cuts)[1:]"),
            ("hops < n * SHORTEST_HOPS", "hops <= n * SHORTEST_HOPS"),
            ("beats[:, 1] == 1, 0]", "beats[:, 1] != 1, 0]"),
            ("(hops <= last)", "(hops < last)"),
            ("gaps > 2 * target", "gaps > 4 * target"),
            ("gaps < target / 2", "gaps < target / 4"),
            ("(0.15 * target)", "(0.6 * target)"),
            ("weights[chosen[-1]] * ways[left]", "weights[chosen[-1]]"),
        ],
    ),
    "djnet/networks/layers.py": (
        "tests/djnet/networks/test_layers.py",
        [
            ("(places < lengths[:, None], fragments.dtype)", "(places <= lengths[:, None], fragments.dtype)"),
            ('first = end if self.side == "end" else beginning', 'first = beginning if self.side == "end" else end'),
            ("            x *= valid[..., None]\n", "            pass\n"),
            ("before = (self.size - 1) // 2", "before = self.size // 2"),
            ("valid[:, :: self.stride]", "valid[:, 1 :: self.stride]"),
            ("- 1, 0)[:, None]", ", 0)[:, None]"),
            ("[[0, more] for more in missing]", "[[more, 0] for more in missing]"),
            ("pair if self.inner_product else map(unit_length, pair)", "map(unit_length, pair)"),
            ("keepdims=True) + EPSILON)", "keepdims=True))"),
            ("tf.reduce_sum(valid, axis=axes), 1.0)", "tf.reduce_sum(valid, axis=axes) + 1.0, 1.0)"),
            ("tf.square(x - centre) * weights", "tf.square(x - centre)"),
            ("tf.sqrt(variance + EPSILON)", "tf.sqrt(variance)"),
            ("tf.reduce_max(x, axes)", "tf.reduce_min(x, axes)"),
        ],
    ),
    "djnet/metrics.py": (
        "tests/djnet/test_metrics.py",
        [
            ("np.mean(np.diff(validate(order, truth)) == 1)", "np.mean(np.diff(validate(order, truth)) >= 1)"),
            ("np.all(np.diff(", "np.any(np.diff("),
            ("np.triu_indices(len(places), 1)", "np.triu_indices(len(places), 0)"),
            ("np.diff(validate(order, truth)) != 1)", "np.diff(validate(order, truth)) < 1)"),
            ("len(order) - 1]).max()", "len(order)]).max()"),
            ("/ (len(places) - 1)", "/ len(places)"),
            ("if len(set(order)) < len(order) or set(order)", "if set(order)"),
        ],
    ),
    "experiments/significance.py": (
        "tests/experiments/test_significance.py",
        [
            ("level: float = 0.95", "level: float = 0.9"),
            ("[(1 - level) / 2, (1 + level) / 2]", "[1 - level, level]"),
            ("sums[draws].sum(axis=1) / counts[draws].sum(axis=1)", "(sums / counts)[draws].mean(axis=1)"),
            ("_by_track(ours - theirs, tracks)[0]", "ours - theirs"),
            ("abs(differences.sum()) - 1e-9", "abs(differences.sum()) + 1e-9"),
            ("(1 + as_great.sum()) / (1 + DRAWS)", "as_great.sum() / DRAWS"),
            ("(theirs > ours).sum()", "(theirs >= ours).sum()"),
            ("(sums / counts).mean()", "sums.sum() / counts.sum()"),
        ],
    ),
    "djnet/medley/parts.py": (
        "tests/djnet/medley/test_parts.py",
        [
            ('"energy": 0.5 *', '"energy": 0.0 *'),
            ('"change at its edges": 0.25 *', '"change at its edges": 0.0 *'),
            ('"uneven level": -uneven / _RANGE_DB,', ""),
            ("[:, -2:].mean(axis=1)", "[:, -1:].mean(axis=1)"),
            ('"quiet bars": -1.0 *', '"quiet bars": -0.0 *'),
            ("abs(first - other) * 2 >= length", "abs(first - other) * 4 >= length"),
            ("np.arange(spans))) >= length", "np.arange(spans))) >= 1"),
            ("[4, *range(8, len(song.bars), 8)]", "[4, 8]"),
            ("np.argsort(-sum(terms", "np.argsort(sum(terms"),
        ],
    ),
    "djnet/medley/transitions.py": (
        "tests/djnet/medley/test_transitions.py",
        [
            ('LARGEST_STRETCH = {"blend": 0.08,', 'LARGEST_STRETCH = {"blend": 0.16,'),
            ('LARGEST_STRETCH = {"blend": 0.08,', 'LARGEST_STRETCH = {"blend": 0.07,'),
            ('LARGEST_CHANGE = {"blend": 0.05, "ramp": 0.20}', 'LARGEST_CHANGE = {"blend": 0.06, "ramp": 0.20}'),
            ('LARGEST_CHANGE = {"blend": 0.05, "ramp": 0.20}', 'LARGEST_CHANGE = {"blend": 0.05, "ramp": 0.25}'),
            (
                "_AGAINST = {(1, 1): 1.0, (2, 1): 0.85, (1, 2): 0.85, (3, 2): 0.6, (2, 3): 0.6}",
                "_AGAINST = {(1, 1): 1.0}",
            ),
            ("np.maximum(own // 3,", "np.maximum(own // 2,"),
            ("first * (1 - share) + second * share", "first * share + second * (1 - share)"),
            ("    if a.meter != b.meter:", "    if a.meter < 0:"),
            ("echoes = min(beats, int(b.seconds / 4 / a.last_beat))", "echoes = beats"),
        ],
    ),
    "djnet/medley/mix.py": (
        "tests/djnet/medley/test_mix.py",
        [
            ("= 0.005, 2.0", "= 0.005, 0.0"),
            ("= 0.005, 2.0", "= 0.0, 2.0"),
            ("if not _equalise(samples, joins, [segment.gain for segment in segments]):", "if True:"),
            ("limited = limit(samples, 10 ** (peak_db / 20), RATE_HZ)", "limited = 0"),
            ("limited += limit(samples, 10 ** (peak_db / 20), RATE_HZ)", "pass"),
            ("_SUBSONIC_HZ = 10.0", "_SUBSONIC_HZ = 60.0"),
            ("block - lows(around, _SUBSONIC_HZ)[lead : lead + len(block)]", "block"),
            (" fade(stem, joins[i], places - places[0], rising=False)", " pass"),
        ],
    ),
    "djnet/medley/fades.py": (
        "tests/djnet/medley/test_mix.py",
        [("(progress - 0.5) * beats + 0.5", "progress")],
    ),
    "djnet/scoring.py": (
        "tests/djnet/test_scoring.py",
        [
            ("softmax(logits, axis=1)[:, 1]", "softmax(logits, axis=1)[:, 0]"),
            ("np.argsort(orders[np.argmax(logits[0])])", "orders[np.argmax(logits[0])]"),
            ("(kept - mean) / std", "kept - mean"),
            ('(0 if side == "end" else sides - 1)', '(sides - 1 if side == "end" else 0)'),
            ("[asked + first for asked", "[asked for asked"),
        ],
    ),
    "djnet/records.py": (
        "tests/djnet/test_records.py",
        [
            ("if stated != digest_json(content):", "if not stated:"),
            ("std.min() <= 0", "std.min() < 0"),
            ("scale = max(1.0, ", "scale = max(0.5, "),
            ('!= shard["sha256"]', '== ""'),
        ],
    ),
    "experiments/evaluation.py": (
        "tests/experiments/test_choice.py",
        [
            ("choice[0].epochs)", "-choice[0].epochs)"),
            ("choice[0].hash == published.hash", "choice[0].hash != published.hash"),
            ('facts["finished"] and run.row', "run.row"),
        ],
    ),
}

# Mutants that change nothing that can be observed, with the reason: (file, line with a fault).
EQUIVALENT: dict[tuple[str, str], str] = {}


class QuickFirst:
    """Plugin of pytest: tests that were quick the last time come first, and a failing example is not made smaller."""

    def __init__(self, seconds: Path):
        self.seconds = seconds

    def pytest_configure(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", hypothesis.settings.get_profile("djnet"), phases=phases)
        hypothesis.settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.seconds.exists():
            before = json.loads(self.seconds.read_text())
            items.sort(key=lambda item: before.get(item.nodeid, 0.0))
        self.taken: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken[report.nodeid] += report.duration  # with what was set up for it

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == 0:
            self.seconds.write_text(json.dumps(self.taken))


def passes(folder: Path, tests: str) -> bool:
    """Whether tests pass on a copy of the sources, in a process that has only what was imported up to here."""
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_SECONDS)  # nobody handles it: a mutant that never ends is noticed
        for name in [name for name in sys.modules if name.split(".")[0] in SOURCES]:
            del sys.modules[name]
        os.chdir(folder)
        sys.path[0] = os.environ["PYTHONPATH"] = str(folder)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        words = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests.split()]
        os._exit(int(pytest.main(words, plugins=[QuickFirst(folder / f"{Path(tests).stem}.json")])))
    return os.waitpid(child, 0)[1] == 0


def outcome(folder: Path, file: str, tests: str, old: str, new: str) -> str:
    """What becomes of a mutant: "killed" by a test, "equivalent", or "survived"."""
    path = folder / file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new), encoding="utf-8")
    noticed = not passes(folder, tests)
    path.write_text(text, encoding="utf-8")
    return "killed" if noticed else "equivalent" if (file, new) in EQUIVALENT else "survived"


def copied(folder: Path) -> None:
    """Copy the sources: they themselves are never changed."""
    for source in map(ROOT.joinpath, (*SOURCES, "pyproject.toml")):
        if source.is_dir():
            shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)


def main(word: str, output: Path | None) -> int:
    """Try all mutants: -> how many of those that are not equivalent survived."""
    together: Counter[str] = Counter()
    at = commit()
    for package in ("numpy", "scipy.signal", "pandas", "librosa", "tensorflow", "keras"):  # once for all
        importlib.import_module(package)
    with temporary_folder() as folder:
        copied(folder)
        for file, (tests, lines) in MUTANTS.items():
            if word not in file:
                continue
            if not passes(folder, tests):
                sys.exit(f"{tests} fails without a mutant already, or takes more than {LIMIT_SECONDS} s.")
            outcomes: Counter[str] = Counter()
            for old, new in tqdm(lines, desc=file, unit="mutant"):
                became = outcome(folder, file, tests, old, new)
                outcomes[became] += 1
                if became != "killed":
                    tqdm.write(f"{became}: {file}: {old} -> {new} {EQUIVALENT.get((file, new), '')}")
            together += outcomes
            if output is not None:
                counts = {name: outcomes[name] for name in ("killed", "equivalent", "survived")}
                replace_rows(output, [{"file": file, "mutants": outcomes.total(), **counts, "commit": at}])
    print(f"{together.total()} mutants: {together['killed']} killed, {together['equivalent']} equivalent.")
    return together["survived"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("word", nargs="?", default="", help="only files with that word in their name")
    parser.add_argument("--output", type=Path, help="write the table there as CSV")
    given = parser.parse_args()
    sys.exit(1 if main(given.word, given.output) else 0)
