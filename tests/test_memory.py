import sys

import pytest
import soundfile

from benchmarks import memory


def test_the_memory_of_a_command_is_that_of_all_its_processes():
    """A process that holds 100 MB and starts one that holds 100 MB more."""
    own = "import time; held = bytearray(b'x' * 100_000_000); time.sleep(1.5)"
    both = (
        f"import subprocess, sys; held = bytearray(b'x' * 100_000_000); subprocess.run([sys.executable, '-c', {own!r}])"
    )
    code, seconds, peak = memory.peak_of([sys.executable, "-c", both])
    assert code == 0 and seconds > 1 and 0.2 < peak < 0.3


def test_a_long_song_is_as_long_as_it_should_be(tmp_path, write_tone):
    songs = [str(write_tone(tmp_path / f"{i}.wav", seconds=2, channels=2)) for i in range(2)]
    assert soundfile.info(memory.long_song(songs, 7.0, tmp_path / "long.flac")).duration == pytest.approx(7)
