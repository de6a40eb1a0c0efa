import re
from pathlib import Path

import pytest

from experiments.readme import DOCUMENTS, ROOT, filled
from preprocessing.job import JobError

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_tables_are_those_of_the_results(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert filled(text, ROOT / "results", name) == text, "run: make readme"


def test_a_missing_table_and_a_missing_mark_are_said(tmp_path):
    assert "results/speed.csv is missing." in filled(README, tmp_path)
    with pytest.raises(JobError, match="no marks <!-- speed -->"):
        filled("nothing", tmp_path)


def test_every_make_target_in_the_readme_exists():
    makefile = Path(ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    for line in re.findall(r"^(?:\.\./)?make +([^#\n]*)", README, re.M):
        words = [word for word in line.split() if "=" not in word]
        assert set(words) <= targets, line


def test_every_local_link_leads_somewhere():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
