import re
import subprocess
from pathlib import Path

import pytest

from djnet.errors import UserError
from experiments.docs_tables import DOCUMENTS, ROOT, boundary_table, card_table, filled, results_table, study_table

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    path.relative_to(ROOT) for pattern in ("*.md", "docs/*.md", "djnet/**/*.md") for path in ROOT.glob(pattern)
)


def _results_are_as_committed() -> bool:
    """Whoever ran an evaluation of their own has other tables than the README."""
    command = ["git", "-C", str(ROOT), "status", "--porcelain", "results"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0 and not done.stdout


@pytest.mark.skipif(not _results_are_as_committed(), reason="results/ holds tables of your own")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_tables_are_those_of_the_results(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert filled(text, ROOT / "results", name) == text, "run: make readme-tables"


def test_a_missing_table_and_a_missing_mark_are_said(tmp_path):
    assert "results/speed.csv is missing." in filled(README, tmp_path)
    with pytest.raises(UserError, match="no marks <!-- table2 -->"):
        filled("nothing", tmp_path)


def test_the_readme_is_one_page():
    assert len(README.splitlines()) <= 200


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_make_target_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in re.findall(r"^make +([^#\n]*)", (ROOT / page).read_text(encoding="utf-8"), re.M):
        words = [word for word in re.sub(r"=\"[^\"]*\"", "=", line).split() if "=" not in word]
        assert set(words) <= targets, line


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_local_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^):]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        name, _, heading = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), link
        assert not heading or heading in _headings(target), link


def _headings(path: Path) -> set[str]:
    """The anchors of a page's headings, as git hosts make them: lower case, hyphens for spaces, no punctuation."""
    titles = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_a_table_of_results_shows_what_was_played():
    row = dict.fromkeys(("segmentation", "n", "method", "puzzles", "corpus_hash"), "x") | {"game": "jigsaw"}
    row |= {"corpus": "free-small", "protocol": "isolated", "pairwise": "0.91234", "global": "0.8", "global_low": "0.7"}
    row |= {"global_high": "0.9", "paper_pairwise": "0.996", "paper_global": "0.994", "seed": "0"}
    lines = results_table([row, row | {"global": "", "method": "not played"}])
    assert "| jigsaw | x | x | x | 0.912 (0.800) | 0.700 to 0.900 | x | 0.996 (0.994) |" in lines
    assert not any("not played" in line for line in lines)
    lines = results_table([row, row | {"method": "sn"}, row | {"global": "0.81", "seed": "1"}])
    assert "| jigsaw | x | x | x | 0.912 (0.800) | 0.700 to 0.900 | x | 0.996 (0.994) | 0.912 (0.810) |" in lines
    assert "| jigsaw | x | x | sn | 0.912 (0.800) | 0.700 to 0.900 | x | 0.996 (0.994) |  |" in lines
    assert not any("| sn |" in line for line in card_table([row | {"method": "sen"}, row | {"method": "sn"}]))
    medley = row | {"game": "medley", "pairwise_low": "0.85", "pairwise_high": "0.95"}
    assert "| medley | x | x | x | 0.912 (0.800) | 0.850 to 0.950 | x | 0.996 (0.994) |" in results_table([medley])
    assert results_table([]) == ["Not played yet: `make evaluate`."]


def test_a_table_of_gaps_has_a_column_a_gap():
    row = {"corpus": "free-small", "corpus_hash": "x", "protocol": "isolated", "method": "sen", "pairwise": "0.9"}
    rows = [row | {"gap": "", "global": "0.8"}, row | {"gap": "0.5", "global": "0.6"}]
    lines = boundary_table([*rows, row | {"gap": "0.5", "global": "0.4", "method": "cin"}])
    assert "| method | 0 s | 0.5 s |" in lines
    assert "| sen | 0.900 (0.800) | 0.900 (0.600) |" in lines and "| cin |  | 0.900 (0.400) |" in lines


def test_a_study_shows_the_best_first():
    row = {"variant": "base", "valid_pairwise": "0.8", "valid_global": "0.7", "best_epoch": "3", "epochs": "8"}
    row |= {"valid_global_6": "0.5", "free-rest": ""}
    lines = study_table([row, row | {"variant": "adam", "valid_global": "0.75", "free-rest": "0.6"}])
    best = lines.index("| adam | 8 | 0.800 (0.750) | 3 | 0.500 | 0.600 |")
    assert best < lines.index("| base | 8 | 0.800 (0.700) | 3 | 0.500 |  |")
