"""MIDI -> audio with FluidSynth, for music that is public as notes but not as a recording.

Numbers from such audio say "rendered".
"""

import shutil
import subprocess
from pathlib import Path

from djnet.files import whole_file
from preprocessing.job import JobError

SOUNDFONTS = ("FluidR3_GM.sf2", "TimGM6mb.sf2", "default-GM.sf2")
_FOLDERS = (Path("/usr/share/sounds/sf2"), Path("/usr/share/soundfonts"), Path("/usr/local/share/soundfonts"))


def find_soundfont(name: str | None = None) -> Path:
    """A General MIDI soundfont of the system, or the one of that name or path."""
    if name is not None and Path(name).is_file():
        return Path(name)
    for candidate in SOUNDFONTS if name is None else (name,):
        for folder in _FOLDERS:
            if (folder / candidate).is_file():
                return folder / candidate
    raise JobError(
        f"No soundfont {name or ''} found: install one (Debian: apt-get install fluid-soundfont-gm) or give its path."
    )


def render(midi: Path, wav: Path, soundfont: Path) -> None:
    """Play a MIDI file into a wav file, stereo at 44,100 Hz, whole or not at all."""
    if not shutil.which("fluidsynth"):
        raise JobError("fluidsynth is not installed: install it (Debian: apt-get install fluidsynth).")
    wav.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(wav) as partial:
        options = ["-ni", "-g", "0.5", "-r", "44100", "-T", "wav", "-O", "s16", "-F", str(partial)]
        done = subprocess.run(["fluidsynth", *options, str(soundfont), str(midi)], capture_output=True, text=True)
        if done.returncode or not partial.is_file():
            said = (done.stderr.strip().splitlines() or ["no word of why"])[-1]
            raise JobError(f"fluidsynth could not render {midi}: {said}")
