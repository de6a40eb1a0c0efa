"""Continuous mixes of test tracks in a known order, for the medley game where nobody has real medleys: `make mixes`.

Each mix takes one clip of 7 to 11 tracks of the test split. Their order comes from a rule about the music, not from
names: the smallest sum of distances between neighbours, where the distance of two clips is ten times the octaves
between their tempos (double and half tempo count as the same) plus the steps between their keys on the circle of
fifths, as a share of the largest possible, six. A mix begins at the slower end. Clips are beat-matched and cross-faded
over two bars as in a medley (djnet/medley/mix.py), and the answer stands beside each mix: cut in the middle of every
transition. Where there are tracks enough that anybody may pass on, only they are mixed, so that the report can let
people hear the mixes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import soundfile
from absl import flags
from tqdm import tqdm

from djnet import audio
from djnet.audio.encode import sound_file
from djnet.cli import job
from djnet.corpora import read_tracks
from djnet.corpora.licences import may_be_published
from djnet.errors import UserError
from djnet.files import locked, whole_file, write_json
from djnet.medley import key, mix, tempo
from djnet.medley.transitions import RATE_HZ, Segment
from djnet.ordering import best_order
from djnet.puzzles import ABOUT, read_about
from djnet.records import Manifest
from djnet.rng import rng_for
from preprocessing.cluster import engine_for

SIZES = (7, 11)
SECONDS = (8.0, 20.0)  # of a clip, before its neighbours overlap it
BARS = 2  # of a transition
_AROUND_SECONDS = 0.5  # of music before and after a span
_TEMPO_WEIGHT = 10.0
_VERSION = 2


@dataclass(frozen=True)
class MixableClip:
    """A clip with bars enough to be mixed: its file, where the record begins in it, and its beats [K, 2].

    Beats are in seconds from the beginning of the record.
    """

    track: str
    path: str
    begin: float
    beats: np.ndarray


def mixable_clips(manifest: Manifest, paths: dict[str, str]) -> list[MixableClip]:
    """The first clip of every test track that has bars enough, in the order of the records."""
    clips: dict[str, MixableClip] = {}
    for clip in manifest.read_clips("test"):
        bars = tempo.whole_bars(clip.beats)
        enough = len(bars) > 2 * BARS and bars[-1] - bars[0] >= SECONDS[0]
        if enough and clip.track in paths and clip.track not in clips:
            clips[clip.track] = MixableClip(clip.track, paths[clip.track], clip.start, tempo.smoothed(clip.beats))
    return list(clips.values())


def publishable(clips: list[MixableClip], licences: dict[str, str]) -> list[MixableClip]:
    """Those that anybody may pass on, by the licences of the tracks; all, if those are too few for the largest mix."""
    free = [clip for clip in clips if may_be_published(licences.get(clip.track, ""))]
    return free if len(free) >= SIZES[1] else clips


def make(number: int, chosen: Sequence[MixableClip], folder: Path) -> None:
    """Write one mix and its answer."""
    segments = [_segment(clip, rng_for(number, "span", clip.track)) for clip in chosen]
    names = [key.key_of(segment.read().mean(axis=1), RATE_HZ) for segment in segments]
    order = ordered([tempo.bpm(segment.beats) for segment in segments], names)
    made = mix.render([segments[i] for i in order], BARS)
    name = f"mix-{number:03d}"
    with sound_file(folder / f"{name}.flac") as partial:
        soundfile.write(partial, made.samples, RATE_HZ, format="FLAC", subtype="PCM_16")
    answer = pd.DataFrame(
        {
            "start": np.round(made.cuts[:-1], 4),
            "end": np.round(made.cuts[1:], 4),
            "label": [chosen[i].track for i in order],
            "join": [*[join.kind for join in made.joins], ""],
        }
    )
    with whole_file(folder / f"{name}.csv") as partial:  # last: a mix without its answer is made again
        answer.to_csv(partial, index=False)


def ordered(tempos: Sequence[float], names: Sequence[str]) -> tuple[int, ...]:
    """The order by the rule above."""
    apart = tempo.octaves_apart(np.reshape(tempos, (-1, 1)), np.array(tempos))
    alike = np.array([[key.closeness(a, b) for b in names] for a in names])
    order = best_order(-(_TEMPO_WEIGHT * apart + 1.0 - alike)).order
    return order if (tempos[order[0]], order[0]) <= (tempos[order[-1]], order[-1]) else order[::-1]


def _segment(clip: MixableClip, rng: np.random.Generator) -> Segment:
    """A span of whole bars of a clip, with its samples."""
    bars = tempo.whole_bars(clip.beats)
    spans = [
        (a, b)
        for a in range(len(bars))
        for b in range(a + 2 * BARS, len(bars))
        if SECONDS[0] <= bars[b] - bars[a] <= SECONDS[1]
    ] or [(0, len(bars) - 1)]
    a, b = spans[rng.integers(len(spans))]
    begin = max(0.0, clip.begin + bars[a] - _AROUND_SECONDS)
    samples = audio.load_stereo(clip.path, begin, bars[b] - bars[a] + 2 * _AROUND_SECONDS, RATE_HZ)
    beats = clip.beats + np.array([clip.begin - begin, 0.0])
    return Segment(samples, float(bars[a] + clip.begin - begin), float(bars[b] + clip.begin - begin), beats)


def build(manifest: Manifest, count: int, seed: int, workers: int = 1) -> Path:
    """Make what is missing of the mixes: -> their folder."""
    folder = manifest.folder / "medleys"
    made_of = {"records": manifest.origin, "seed": seed, "version": _VERSION}
    about = {"name": f"mixes of {manifest.corpus}", "made_of": made_of}
    names = [f"mix-{number:03d}" for number in range(count)]
    known = names if read_about(folder) == about else []
    missing = [i for i, name in enumerate(names) if name not in known or not (folder / f"{name}.csv").is_file()]
    if not missing:
        _remove_others(folder, known)
        return folder
    tracks = read_tracks(manifest.folder)
    paths, licences = ({track: row[name] for track, row in tracks.items()} for name in ("path", "licence"))
    clips = publishable(mixable_clips(manifest, paths), licences)
    if len(clips) < SIZES[0]:
        few = f"{len(clips)} test tracks of {manifest.folder} have bars enough, {SIZES[0]} are needed"
        raise UserError(f"No mixes: {few}.")
    folder.mkdir(exist_ok=True)
    with locked(folder):
        _remove_others(folder, known)
        write_json(folder / ABOUT, about)
        chosen = ((number, _choose(clips, number, seed), folder) for number in missing)
        done = engine_for("local", workers)(make, chosen)
        list(tqdm(done, desc="mix", initial=count - len(missing), total=count, unit="mix"))
    return folder


def _remove_others(folder: Path, known: Sequence[str]) -> None:
    """Remove mixes of other music or with other numbers."""
    for path in folder.glob("mix-*"):
        if path.stem not in known:
            path.unlink()


def _choose(clips: list[MixableClip], number: int, seed: int) -> list[MixableClip]:
    rng = rng_for(seed, "mix", number)
    size = min(int(rng.integers(SIZES[0], SIZES[1] + 1)), len(clips))
    return [clips[i] for i in rng.choice(len(clips), size, replace=False)]


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records; mixes go to medleys/ in it.")
    flags.DEFINE_integer("count", 64, "How many mixes; the paper has 16 medleys, too few to tell methods apart.", 1)
    flags.DEFINE_integer("seed", 0, "Seed of the choice of tracks.")
    flags.DEFINE_integer("workers", joblib.cpu_count(), "Processes.", lower_bound=1)


def main(given: Any) -> None:
    """Make the mixes."""
    folder = build(Manifest.read(Path(given.data).expanduser()), given.count, given.seed, given.workers)
    print(f"{folder}: {given.count} mixes, each with its answer beside it.")


if __name__ == "__main__":
    job.run(main, define_flags)
