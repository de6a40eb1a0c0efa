"""MIDI -> audio with FluidSynth, for music that is public as notes but not as a recording: `make render`, or

    python -m preprocessing.render_midi --midi=folder --output=folder --songs=120

Renders every song of a folder with one of several soundfonts and with instruments of its own, both drawn by the song's
name, so that piano scores become music for many instruments. Results on such audio are marked as "rendered".
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
from absl import flags
from tqdm import tqdm

from djnet.cli import job
from djnet.corpora import Skipped, write_skipped
from djnet.errors import UserError, shown
from djnet.files import locked, temporary_folder, whole_file, write_json
from djnet.processes import run
from djnet.puzzles import ABOUT
from djnet.rng import rng_for
from preprocessing.cluster import engine_for

SOUNDFONTS = ("FluidR3_GM.sf2", "TimGM6mb.sf2", "default-GM.sf2")
_FOLDERS = (Path("/usr/share/sounds/sf2"), Path("/usr/share/soundfonts"), Path("/usr/local/share/soundfonts"))
INSTRUMENTS = 88  # of General MIDI: those after them are pads, effects and noises
DRUMS = 9  # the channel
_LONGEST_SECONDS = 3600.0


def find_soundfont(name: str | None = None) -> Path:
    """A General MIDI soundfont of the system, or the one of that name or path."""
    if name is not None and Path(name).is_file():
        return Path(name)
    candidates = [folder / file for file in (SOUNDFONTS if name is None else (name,)) for folder in _FOLDERS]
    for path in candidates:
        if path.is_file():
            return path
    advice = "install one (Debian: apt-get install fluid-soundfont-gm) or give its path"
    raise UserError(f"No soundfont {name or ''} found: {advice}.")


def require_fluidsynth() -> None:
    """Raise a UserError where FluidSynth is not installed."""
    if not shutil.which("fluidsynth"):
        raise UserError("fluidsynth is not installed: install it (Debian: apt-get install fluidsynth).")


def render(midi: Path, wav: Path, soundfont: Path) -> None:
    """Play a MIDI file into a wav file, stereo at 44,100 Hz, whole or not at all."""
    require_fluidsynth()
    wav.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(wav) as partial:
        options = ["-ni", "-g", "0.5", "-r", "44100", "-T", "wav", "-O", "s16", "-F", str(partial)]
        done = run(["fluidsynth", *options, str(soundfont), str(midi)])
        if done.returncode or not partial.is_file():
            reason = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise UserError(f"fluidsynth could not render {midi}: {reason}")


def recast(midi: Path, output: Path) -> None:
    """Write the same notes for other instruments: one for each channel but the drums, drawn by the file's name."""
    import mido

    rng = rng_for(0, "instruments", midi.stem)
    try:
        notes = mido.MidiFile(midi)
        seconds = notes.length
    except Exception as error:  # a damaged file can make mido say almost anything
        raise UserError(f"{midi} is not a MIDI file that can be read: {error or 'it ends too early'}.") from error
    if seconds > _LONGEST_SECONDS:
        raise UserError(f"{midi} lasts {seconds / 60:.0f} minutes, {_LONGEST_SECONDS / 60:.0f} are the most.")
    chosen = rng.integers(INSTRUMENTS, size=16).tolist()
    for track in notes.tracks:
        for i, message in enumerate(track):  # replaced and not removed: a message also tells the time
            if message.type == "program_change" and message.channel != DRUMS:
                track[i] = message.copy(program=chosen[message.channel])
        channels = sorted({message.channel for message in track if message.type == "note_on"} - {DRUMS})
        track[:0] = [mido.Message("program_change", channel=one, program=chosen[one]) for one in channels]
    notes.save(output)


def build(midi: Path, folder: Path, soundfonts: Sequence[str], songs: int, workers: int = 1) -> list[Skipped]:
    """Render what is missing of the first songs of a folder: -> what could not be."""
    files = sorted(path for path in midi.glob("*") if path.suffix.lower() in {".mid", ".midi"})[:songs]
    if not files:
        raise UserError(f"{midi}: no MIDI files there.")
    require_fluidsynth()
    fonts = [find_soundfont(name) for name in soundfonts]
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        write_json(folder / ABOUT, {"name": f"{folder.name} (rendered)"})
        todo = [path for path in files if not (folder / f"{path.stem}.wav").is_file()]
        done = engine_for("local", workers)(_render_song, ((path, folder / f"{path.stem}.wav", fonts) for path in todo))
        bar = tqdm(done, desc="render", initial=len(files) - len(todo), total=len(files), unit="song")
        skipped = sorted((item for item in bar if item is not None), key=lambda item: item.path)
        write_skipped(folder / "skipped.csv", skipped)
    return skipped


def _render_song(midi: Path, wav: Path, fonts: Sequence[Path]) -> Skipped | None:
    """Runs in a worker: one song with a font and instruments of its own; -> why not, if it cannot be rendered."""
    font = fonts[rng_for(0, "soundfont", midi.stem).integers(len(fonts))]
    try:
        with temporary_folder() as folder:
            recast(midi, folder / midi.name)
            render(folder / midi.name, wav, font)
    except UserError as error:
        return Skipped(str(midi), str(error))
    return None


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("midi", None, "Folder of MIDI files.", required=True)
    flags.DEFINE_string("output", None, "Folder for the songs; its name is the corpus' name.", required=True)
    flags.DEFINE_list(
        "soundfonts",
        ["TimGM6mb.sf2", "OPL-3_FM_128M.sf2", "sf_GMbank.sf2"],
        "Soundfonts to choose from, by name or path; not the one that RWC-P is rendered with. "
        "(Debian: timgm6mb-soundfont opl3-soundfont csound-soundfont)",
    )
    flags.DEFINE_integer("songs", 120, "At most that many songs, the first by name.", lower_bound=1)
    flags.DEFINE_integer("workers", joblib.cpu_count(), "Processes.", lower_bound=1)


def main(given: Any) -> None:
    """Render a folder."""
    if not given.soundfonts:
        raise UserError("--soundfonts needs at least one.")
    output = Path(given.output).expanduser()
    skipped = build(Path(given.midi).expanduser(), output, given.soundfonts, given.songs, given.workers)
    for item in skipped:
        print(shown(f"left out: {item.reason}"))
    print(f"{output}: {len(list(output.glob('*.wav')))} songs, rendered; {len(skipped)} left out (skipped.csv).")


if __name__ == "__main__":
    job.run(main, define_flags)
