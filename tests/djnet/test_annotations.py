from pathlib import Path

import pytest

from djnet.annotations import AnnotationError, Section, join_short, read_sections


def _write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


def test_aist_sections(tmp_path):
    path = _write(tmp_path / "RM-P001.CHORUS.TXT", '4\t1026\t"intro"\n1026\t2315\t"chorus A"\n')
    assert read_sections(path) == [Section(0.04, 10.26, "intro"), Section(10.26, 23.15, "chorus A")]


def test_csv_sections(tmp_path):
    path = _write(tmp_path / "song.csv", "start,end,label\n0,10.5,verse é\n10.5,20,chorus\n", "utf-8-sig")
    assert read_sections(path) == [Section(0.0, 10.5, "verse é"), Section(10.5, 20.0, "chorus")]


def test_a_cue_sheet(tmp_path):
    sheet = """TITLE "The medley"
FILE "medley.wav" WAVE
  TRACK 01 AUDIO
    TITLE "One"
    INDEX 01 00:00:00
  TRACK 02 AUDIO
    TITLE "Two"
    INDEX 00 00:09:00
    INDEX 01 01:10:15
"""
    first, second = read_sections(_write(tmp_path / "medley.cue", sheet))
    assert first == Section(0.0, 70.2, "One")
    assert second == Section(70.2, float("inf"), "Two")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.txt",
            "0\t100\tx\n50\t200\ty\n",
            r"a.txt, line 2: begins at 0.5 s, before the section above it ends \(1 s\)",
        ),
        ("a.txt", "0\t100\tx\n300\t200\ty\n", "line 2: a section cannot go from 3 s to 2 s"),
        ("a.txt", "-5\t100\tx\n", "line 1: a section cannot go from -0.05 s"),
        ("a.txt", "0\t100\n", r"line 1: needs start, end and label with tabs between, got '0\\t100'"),
        ("a.txt", "zero\t100\tx\n", "line 1: 'zero' is not a number"),
        ("a.txt", "\n", "has no sections"),
        ("a.csv", "begin,end,label\n0,1,x\n", "has no column 'start'"),
        ("a.csv", "start,end,label\n0,1,x\n2,soon,y\n", "line 3: 'soon' is not a number"),
        ("a.csv", "start,end,label\n0,1,x\n1,nan,y\n", "line 3: a section cannot go from 1 s to nan s"),
        ("a.csv", "start,end,label\ninf,inf,x\n", "line 2: a section cannot go from inf s"),
        ("a.csv", f"start,end,label\n0,1,x\n1,2,{'y' * 140_000}\n", "line 3: cannot be read .*field limit"),
        ("a.csv", f"start,end,{'y' * 140_000}\n", "line 1: cannot be read .*field limit"),
        ("a.cue", f"INDEX 01 {'9' * 400}:00:00\n", "line 1: INDEX 01 needs minutes:seconds:frames"),
        ("a.cue", "INDEX 01 0:99:00\n", "line 1: INDEX 01 needs minutes:seconds:frames"),
        ("a.cue", "INDEX 01 00:20:00\nINDEX 01 00:10:00\n", "line 1: a section cannot go from 20 s to 10 s"),
    ],
)
def test_wrong_annotations_name_file_and_line(tmp_path, name, text, message):
    with pytest.raises(AnnotationError, match=message):
        read_sections(_write(tmp_path / name, text))


def test_the_wrong_encoding_names_the_line(tmp_path):
    path = _write(tmp_path / "a.csv", "start,end,label\n0,1,café\n", "latin-1")
    with pytest.raises(AnnotationError, match=r"a.csv, line 2: is not UTF-8"):
        read_sections(path)


def test_short_sections_are_joined_to_a_neighbour():
    sections = [
        Section(0, 0.5, "count-in"),
        Section(0.5, 10, "verse"),
        Section(10, 10.2, "break"),
        Section(10.2, 20, "chorus"),
    ]
    kept, joined = join_short(sections)
    assert kept == [Section(0, 10.2, "verse"), Section(10.2, 20, "chorus")] and joined == 2
