import re
from pathlib import Path

import pytest

from djnet.errors import UserError
from experiments.docs_tables import (
    DOCUMENTS,
    ROOT,
    boundary_table,
    filled,
    results_table,
    shipped_table,
    study_table,
    summary_table,
    written,
)

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    path.relative_to(ROOT) for pattern in ("*.md", "docs/*.md", "djnet/**/*.md") for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_tables_are_those_of_the_results(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert written(text, ROOT, name) == text, "run: make docs-tables"


def test_a_missing_table_and_a_missing_mark_are_said(tmp_path):
    assert "results/speed.csv is missing." in filled("<!-- speed -->\n<!-- /speed -->", tmp_path, "docs/speed.md")
    with pytest.raises(UserError, match=r"docs/study\.md has no marks <!-- study --> and <!-- /study -->"):
        filled("nothing", tmp_path, "docs/study.md")


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


ROW = dict.fromkeys(("segmentation", "n", "method", "puzzles", "corpus_hash"), "x") | {"game": "jigsaw", "seed": "0"}
ROW |= {"corpus": "free-small", "protocol": "trimmed", "pairwise": "0.91234", "global": "0.8", "global_low": "0.7"}
ROW |= {"global_high": "0.9", "paper_pairwise": "0.996", "paper_global": "0.994"}
SHOWN = "0.912 (0.800) | 0.700 to 0.900 | x | 0.996 (0.994)"


def test_a_table_of_results_shows_what_was_played():
    lines = results_table([ROW, ROW | {"global": "", "method": "not played"}])
    assert f"| jigsaw | x | x | x | {SHOWN} |" in lines and not any("not played" in line for line in lines)
    lines = results_table([ROW, ROW | {"method": "sn"}, ROW | {"global": "0.81", "seed": "1"}])
    assert f"| jigsaw | x | x | x | {SHOWN} | 0.912 (0.810) |" in lines
    assert f"| jigsaw | x | x | sn | {SHOWN} |  |" in lines
    shipped = shipped_table([ROW | {"method": method} for method in ("sen", "sn")])
    assert not any("| sn |" in line for line in shipped) and any("| sen |" in line for line in shipped)
    medley = ROW | {"game": "medley", "pairwise_low": "0.85", "pairwise_high": "0.95"}
    assert "| medley | x | x | x | 0.912 (0.800) | 0.850 to 0.950 | x | 0.996 (0.994) |" in results_table([medley])
    assert results_table([]) == ["Not played yet: `make evaluate`."]


def test_runs_that_differ_in_more_than_the_seed_have_lines_of_their_own():
    first, second = ROW | {"run": "a", "differs": ""}, ROW | {"run": "b", "differs": "", "seed": "1"}
    again, longer = ROW | {"run": "c", "differs": ""}, ROW | {"run": "d", "differs": "80 epochs", "seed": "2"}
    lines = [line for line in results_table([first, second, again, longer]) if line.startswith("| jigsaw")]
    assert lines == [
        f"| jigsaw | x | x | x | {SHOWN} | 0.912 (0.800) |",
        f"| jigsaw | x | x | x | {SHOWN} |  |",
        f"| jigsaw | x | x | x, 80 epochs | {SHOWN} |  |",
    ]


def test_the_summary_has_a_line_a_game_and_cut():
    sen = ROW | {"method": "sen", "n": "8"}
    rows = [sen | {"game": game, "segmentation": cut} for game in ("jigsaw", "medley") for cut in ("fixed", "downbeat")]
    rows += [ROW | {"method": "continuity", "game": "medley", "segmentation": "", "global": "0.1"}]
    rows += [row | {"protocol": "overlapping", "global": "1.0"} for row in rows]
    assert [line for line in summary_table(rows[::-1]) if "0." in line] == [
        "| jigsaw | 8 | equal cuts | 0.912 (0.800) |  | 0.996 (0.994) |",
        "| jigsaw | 8 | cuts at downbeats | 0.912 (0.800) |  | 0.996 (0.994) |",
        "| medley | 8 | equal cuts | 0.912 (0.800) | 0.912 (0.100) | 0.996 (0.994) |",
        "| medley | 8 | cuts at downbeats | 0.912 (0.800) | 0.912 (0.100) | 0.996 (0.994) |",
    ]


def test_a_table_of_gaps_has_a_column_a_gap():
    row = ROW | {"method": "sen", "pairwise": "0.9"}
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
