"""Are our downbeats as good as madmom's? On RWC Popular Music, rendered from MIDI, against the annotated downbeats.

    make verify-downbeats RWC=folder

The folder has `midi/RWC_P001.mid` ... and `beats/RWC_P001.csv` ... (columns t;beat). madmom's part takes two minutes a
song on one core; `--songs` and `--seconds` say how much of the set to use.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import mir_eval
import numpy as np
import pandas as pd
from absl import flags
from tqdm import tqdm

from djnet import audio
from djnet.files import whole_file
from preprocessing import downbeats, job, rendering
from preprocessing.madmom_compat import plain_activations, plain_beats

LIMIT = 0.005

_RWC = flags.DEFINE_string("rwc", None, "Folder of RWC-P with midi/ and beats/.", required=True)
_CACHE = flags.DEFINE_string("cache", "~/.cache/djnet", "Folder for the rendered songs.")
_SONGS = flags.DEFINE_integer("songs", 100, "How many songs.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "How much of each song.", lower_bound=10.0)
_WORKERS = flags.DEFINE_integer("workers", joblib.cpu_count(), "Processes.", lower_bound=1)
_TABLE = flags.DEFINE_string("table", None, "Write a row a song to this CSV file.")


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
        rendering.render(midi, rendered, rendering.find_soundfont())
    (samples,) = audio.load_at(rendered, 0.0, seconds, (downbeats.ANALYSIS_RATE_HZ,))
    table = pd.read_csv(truth, sep=";")
    expected = table.t[(table.beat == 1) & (table.t < seconds)].to_numpy()
    ours, theirs = downbeats.track(samples, downbeats.ANALYSIS_RATE_HZ), plain_beats(plain_activations(samples))
    return Row(midi.stem, _f_measure(expected, ours), _f_measure(expected, theirs), np.array_equal(ours, theirs))


def _f_measure(expected: np.ndarray, beats: np.ndarray) -> float:
    found = beats[beats[:, 1] == 1, 0]
    return mir_eval.beat.f_measure(mir_eval.beat.trim_beats(expected), mir_eval.beat.trim_beats(found))


def main(argv: Sequence[str]) -> int:
    """Compare, and say whether the difference is within the limit."""
    del argv
    folder = Path(_RWC.value).expanduser()
    songs = sorted((folder / "midi").glob("*.mid"))[: _SONGS.value]
    if not songs:
        raise job.JobError(f"{folder / 'midi'}: no MIDI files there.")
    cache = Path(_CACHE.value).expanduser() / "rwc-p"
    work = (
        joblib.delayed(compare)(midi, folder / "beats" / f"{midi.stem}.csv", cache / f"{midi.stem}.wav", _SECONDS.value)
        for midi in songs
    )
    results = joblib.Parallel(_WORKERS.value, return_as="generator", batch_size=1)(work)
    rows = pd.DataFrame(tqdm(results, desc="track", total=len(songs), unit="song"))
    if _TABLE.value:
        with whole_file(Path(_TABLE.value)) as partial:
            rows.round(4).to_csv(partial, index=False)
    ours, theirs = rows.ours.mean(), rows.madmom.mean()
    print(f"RWC-P, rendered, {len(rows)} songs, {_SECONDS.value:g} s each: downbeat F-measure")
    print(f"ours {ours:.4f}, madmom {theirs:.4f}, difference {ours - theirs:+.4f} (limit {LIMIT})")
    print(f"identical beats in {int(rows.identical.sum())} of {len(rows)} songs")
    return int(abs(ours - theirs) > LIMIT)


if __name__ == "__main__":
    job.run(main)
