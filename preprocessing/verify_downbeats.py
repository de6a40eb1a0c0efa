"""Are our downbeats as good as madmom's? On RWC Popular Music, rendered from MIDI, against the annotated downbeats.

    make verify-downbeats RWC=folder

The folder has `midi/RWC_P001.mid` ... and `beats/RWC_P001.csv` ... (columns t;beat). madmom's part takes two minutes a
song on one core; `--songs` and `--seconds` say how much of the set to use.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import mir_eval
import numpy as np
import pandas as pd
from absl import flags
from tqdm import tqdm

from djnet import audio
from djnet.cli import job
from djnet.downbeats import tracker
from djnet.downbeats.madmom import plain_activations, plain_beats
from djnet.errors import UserError
from djnet.files import whole_file
from preprocessing import render_midi

LIMIT = 0.005


@dataclass(frozen=True)
class Row:
    """One song: F-measure of the downbeats, and whether both answers are the same."""

    song: str
    ours: float
    madmom: float
    identical: bool


def compare(midi: Path, truth: Path, rendered: Path, seconds: float) -> Row:
    """Track one song in both ways."""
    if not rendered.is_file():
        render_midi.render(midi, rendered, render_midi.find_soundfont())
    (samples,) = audio.load_at(rendered, 0.0, seconds, (tracker.ANALYSIS_RATE_HZ,))
    table = pd.read_csv(truth, sep=";")
    expected = table.t[(table.beat == 1) & (table.t < seconds)].to_numpy()
    ours, theirs = tracker.track(samples, tracker.ANALYSIS_RATE_HZ), plain_beats(plain_activations(samples))
    return Row(midi.stem, _f_measure(expected, ours), _f_measure(expected, theirs), np.array_equal(ours, theirs))


def _f_measure(expected: np.ndarray, beats: np.ndarray) -> float:
    found = beats[beats[:, 1] == 1, 0]
    return mir_eval.beat.f_measure(mir_eval.beat.trim_beats(expected), mir_eval.beat.trim_beats(found))


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("rwc", None, "Folder of RWC-P with midi/ and beats/.", required=True)
    flags.DEFINE_string("cache", "~/.cache/djnet", "Folder for the rendered songs.")
    flags.DEFINE_integer("songs", 100, "How many songs.", lower_bound=1)
    flags.DEFINE_float("seconds", 60.0, "How much of each song.", lower_bound=10.0)
    flags.DEFINE_integer("workers", joblib.cpu_count(), "Processes.", lower_bound=1)
    flags.DEFINE_string("table", None, "Write a row a song to this CSV file.")


def main(given: Any) -> int:
    """Compare, and say whether the difference is within the limit."""
    folder = Path(given.rwc).expanduser()
    songs = sorted((folder / "midi").glob("*.mid"))[: given.songs]
    if not songs:
        raise UserError(f"{folder / 'midi'}: no MIDI files there.")
    cache = Path(given.cache).expanduser() / "rwc-p"
    work = (
        joblib.delayed(compare)(midi, folder / "beats" / f"{midi.stem}.csv", cache / f"{midi.stem}.wav", given.seconds)
        for midi in songs
    )
    results = joblib.Parallel(given.workers, return_as="generator", batch_size=1)(work)
    rows = pd.DataFrame(tqdm(results, desc="track", total=len(songs), unit="song"))
    if given.table:
        with whole_file(Path(given.table)) as partial:
            rows.round(4).to_csv(partial, index=False)
    ours, theirs = rows.ours.mean(), rows.madmom.mean()
    print(f"RWC-P, rendered, {len(rows)} songs, {given.seconds:g} s each: downbeat F-measure")
    print(f"ours {ours:.4f}, madmom {theirs:.4f}, difference {ours - theirs:+.4f} (limit {LIMIT})")
    print(f"identical beats in {int(rows.identical.sum())} of {len(rows)} songs")
    return int(abs(ours - theirs) > LIMIT)


if __name__ == "__main__":
    job.run(main, define_flags)
