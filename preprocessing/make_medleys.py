"""Continuous mixes of test tracks in a known order, for the medley game where nobody has real medleys: `make mixes`.

Each mix takes one clip of 7 to 11 tracks of the test split. Their order comes from a rule about the music, not from
names: the smallest sum of distances between neighbours, where the distance of two clips is ten times the octaves
between their tempos (double and half tempo count as the same) plus the steps between their keys on the circle of
fifths, as a share of the largest possible, six. A mix begins at the slower end. Clips are beat-matched and cross-faded
over two bars as in a medley (djnet/mix.py), and the answer stands beside each mix: cut in the middle of every
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
from djnet.cli import job
from djnet.corpora import TRACK_LIST
from djnet.corpora.licences import may_be_published
from djnet.errors import UserError
from djnet.files import whole_file, write_json
from djnet.medley import keys, mix, tempo
from djnet.ordering import best_order
from djnet.puzzles import ABOUT, read_about
from djnet.records import Clip, Manifest
from djnet.rng import rng_for

SIZES = (7, 11)
SECONDS = (8.0, 20.0)  # of a clip, before its neighbours overlap it
BARS = 2  # of a transition
_TEMPO_WEIGHT = 10.0
_VERSION = 2


@dataclass(frozen=True)
class Source:
    """A clip that can be mixed: its file, where the record begins in it, and beats [K, 2] in seconds of the record."""

    track: str
    path: str
    begin: float
    beats: np.ndarray


def sources(manifest: Manifest, paths: dict[str, str]) -> list[Source]:
    """The first clip of every test track that has bars enough, in the order of the records."""
    found: dict[str, Source] = {}
    for clip in manifest.read_clips("test"):
        if clip.track in paths and clip.track not in found and len(_bars(clip)):
            found[clip.track] = Source(clip.track, paths[clip.track], clip.start, tempo.smoothed(clip.beats))
    return list(found.values())


def publishable(found: list[Source], licences: dict[str, str]) -> list[Source]:
    """Those that anybody may pass on, by the licences of the tracks; all, if those are too few for the largest mix."""
    free = [source for source in found if may_be_published(licences.get(source.track, ""))]
    return free if len(free) >= SIZES[1] else found


def _bars(clip: Clip) -> np.ndarray:
    bars = tempo.whole_bars(clip.beats)
    return bars if len(bars) > 2 * BARS and bars[-1] - bars[0] >= SECONDS[0] else np.zeros(0)


def make(number: int, chosen: Sequence[Source], folder: Path) -> None:
    """Write one mix and its answer."""
    parts = [_part(source, rng_for(number, "span", source.track)) for source in chosen]
    order = ordered([tempo.bpm(part.beats) for part in parts], [_key(part) for part in parts])
    made = mix.render([parts[i] for i in order], BARS)
    name = f"mix-{number:03d}"
    with whole_file(folder / f"{name}.flac") as partial:
        soundfile.write(partial, made.samples, mix.RATE_HZ, format="FLAC", subtype="PCM_16")
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


def ordered(tempos: Sequence[float], tones: Sequence[str]) -> tuple[int, ...]:
    """The order by the rule above."""
    logs = np.log2(np.maximum(tempos, 1.0))
    apart = np.abs(logs[:, None] - logs[None, :]) % 1.0
    apart = np.minimum(apart, 1.0 - apart)
    alike = np.array([[keys.closeness(a, b) for b in tones] for a in tones])
    order = best_order(-(_TEMPO_WEIGHT * apart + 1.0 - alike)).order
    return order if (logs[order[0]], order[0]) <= (logs[order[-1]], order[-1]) else order[::-1]


def _part(source: Source, rng: np.random.Generator) -> mix.Part:
    """A span of whole bars of a clip, with its samples."""
    bars = tempo.whole_bars(source.beats)
    spans = [
        (a, b)
        for a in range(len(bars))
        for b in range(a + 2 * BARS, len(bars))
        if SECONDS[0] <= bars[b] - bars[a] <= SECONDS[1]
    ] or [(0, len(bars) - 1)]
    a, b = spans[rng.integers(len(spans))]
    around = 0.5
    begin = max(0.0, source.begin + bars[a] - around)
    samples = audio.load_stereo(source.path, begin, bars[b] - bars[a] + 2 * around, mix.RATE_HZ)
    beats = source.beats + np.array([source.begin - begin, 0.0])
    return mix.Part(samples, beats, float(bars[a] + source.begin - begin), float(bars[b] + source.begin - begin))


def _key(part: mix.Part) -> str:
    import librosa

    mono = part.samples.mean(axis=1)
    return keys.key_of(
        librosa.feature.chroma_stft(y=mono, sr=mix.RATE_HZ, n_fft=8192, hop_length=4096, tuning=0.0).mean(axis=1)
    )


def build(manifest: Manifest, count: int, seed: int, workers: int = 1) -> Path:
    """Make what is missing of the mixes: -> their folder."""
    folder = manifest.folder / "medleys"
    made_of = {"records": manifest.origin, "seed": seed, "version": _VERSION}
    about = {"name": f"mixes of {manifest.corpus}", "made_of": made_of}
    names = [f"mix-{number:03d}" for number in range(count)]
    known = names if read_about(folder) == about else []
    for path in folder.glob("mix-*"):
        if path.stem not in known:
            path.unlink()
    missing = [i for i, name in enumerate(names) if not (folder / f"{name}.csv").is_file()]
    if not missing:
        return folder
    listed = manifest.folder / TRACK_LIST
    if not listed.is_file():
        raise UserError(f"{listed} is missing: run make preprocess again, it only writes the list.")
    table = pd.read_csv(listed, dtype=str, keep_default_na=False)
    found = sources(manifest, dict(zip(table.track, table.path, strict=True)))
    found = publishable(found, dict(zip(table.track, table.licence, strict=True)))
    if len(found) < SIZES[0]:
        raise UserError(
            f"No mixes: {len(found)} test tracks of {manifest.folder} have bars enough, {SIZES[0]} are needed."
        )
    folder.mkdir(exist_ok=True)
    write_json(folder / ABOUT, about)
    work = (joblib.delayed(make)(number, _choose(found, number, seed), folder) for number in missing)
    done = joblib.Parallel(workers, return_as="generator_unordered", batch_size=1)(work)
    list(tqdm(done, desc="mix", initial=count - len(missing), total=count, unit="mix"))
    return folder


def _choose(found: list[Source], number: int, seed: int) -> list[Source]:
    rng = rng_for(seed, "mix", number)
    size = min(int(rng.integers(SIZES[0], SIZES[1] + 1)), len(found))
    return [found[i] for i in rng.choice(len(found), size, replace=False)]


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
