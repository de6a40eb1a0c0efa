import subprocess
import sys

import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.constants import HOP_SAMPLES
from experiments import leak_control, tables


def test_pieces_are_cut_from_the_original_samples_and_nothing_is_lost(records, write_tone, tmp_path):
    """At 48,000 Hz: the files joined again are the track, and each has the frames of the usual piece."""
    clip = next(records.read_clips("test"))
    path = write_tone(tmp_path / "song.flac", seconds=clip.start + 40, rate=48_000, channels=2)
    cuts = clip.segmentations["fixed/8"].cuts
    files = leak_control.write_pieces(str(path), clip, cuts, tmp_path)
    pieces = [soundfile.read(file)[0] for file in files]
    first = round((clip.start + cuts[0] * HOP_SAMPLES / 22_050) * 48_000)
    joined = np.concatenate(pieces)
    assert np.array_equal(joined, soundfile.read(path)[0][first : first + len(joined)])
    assert [len(audio.load(file)) // HOP_SAMPLES for file in files] == np.diff(cuts).tolist()


def test_both_ways_are_played_on_the_same_puzzles_and_written(records, tmp_path):
    flags = [f"--data={records.folder}", f"--output={tmp_path}", "--puzzles=4", "--n=4"]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.leak_control", *flags], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    table = tables.read(tmp_path / "leak_control.csv")
    assert table.method.tolist() == list(leak_control.WAYS) and table.puzzles.tolist() == ["4", "4"]
    # The generated songs have the library's own sample rate: nothing is resampled, so the answers are the same.
    assert table["global"].nunique() == 1 and float(table.difference[1]) == 0.0
    assert "difference of the global accuracy +0.000" in done.stdout


def test_a_track_whose_file_is_gone_is_named(records, tmp_path, monkeypatch):
    monkeypatch.setattr(leak_control, "read_tracks", lambda folder: {})
    scorer = leak_control.djnet.load("sen-fixed")
    with pytest.raises(ValueError, match=r"cannot be read: .*tracks\.csv should name its file"):
        next(leak_control.play(records, scorer, "fixed", 3, 1))
