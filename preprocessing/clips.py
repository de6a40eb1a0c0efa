"""A track -> its clips: where they lie, and their features."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from djnet import audio, constants
from djnet.cuts import downbeat_cuts, downbeat_hops, equal_cuts
from djnet.features import log_mel
from djnet.files import read_array, write_array
from djnet.pairs import pairs_of
from djnet.records import SPLITS, Clip, Segmentation, dequantised, quantised
from djnet.rng import rng_for

# Decoding rounds to whole samples of the file's own rate, so a clip asks for a little more than it needs.
_SLACK_SECONDS = 0.01


@dataclass(frozen=True)
class Settings:
    """What a clip's record depends on, besides the track; it is saved in the manifest."""

    seed: int = 0
    clips_per_track: int = 10
    margin_seconds: float = 3.0
    first_only: bool = False
    split: tuple[float, ...] = (0.62, 0.19, 0.19)
    split_by: str = "track"
    downbeats: bool = True

    def __post_init__(self) -> None:
        if self.clips_per_track < 1:
            raise ValueError(f"clips_per_track must be at least 1, got {self.clips_per_track}.")
        if not 0 <= self.margin_seconds <= 60:
            raise ValueError(f"margin_seconds must lie between 0 and 60, got {self.margin_seconds:g}.")
        if len(self.split) != len(SPLITS) or min(self.split) < 0 or abs(sum(self.split) - 1) > 1e-6:
            raise ValueError(f"split must be three shares, 0 or more, that add up to 1, got {self.split}.")
        if self.split_by not in ("track", "group"):
            raise ValueError(f"split_by must be track or group, got {self.split_by!r}.")


@dataclass(frozen=True)
class Planned:
    """A track that will be turned into records."""

    id: str
    path: str
    group: str
    content: str
    seconds: float
    split: str
    starts: tuple[int, ...]  # of its clips, in hops


@dataclass(frozen=True)
class Prepared:
    """A track's clips; those that are silent or constant are left out and counted."""

    clips: list[Clip]
    silent: int


def choose_starts(seconds: float, content: str, settings: Settings) -> tuple[int, ...]:
    """Hops at which the clips of a track begin: at random, never overlapping, in order; none if it is too short."""
    count = int(seconds / constants.CLIP_SECONDS)
    if settings.first_only:
        return (0,) if count else ()
    count = min(count, settings.clips_per_track)
    slack = int((seconds - _SLACK_SECONDS) * constants.HOPS_PER_SECOND) - count * constants.CLIP_HOPS
    places = np.sort(rng_for(settings.seed, "clips", content).integers(0, max(slack, 0) + 1, count))
    return tuple(int(place) + i * constants.CLIP_HOPS for i, place in enumerate(places))


def prepare(track: Planned, settings: Settings, beat_cache: Path) -> Prepared:
    """Decode a track where its clips are, and compute their records."""
    spans = [_Span.around(start, track.seconds, settings.margin_seconds) for start in track.starts]
    clips: list[Clip] = []
    for run in _runs(spans):
        samples, beats = _listen(track, run[0].begin, run[-1].end, settings.downbeats, beat_cache)
        for span in run:
            before = span.begin - run[0].begin
            own = samples[before * constants.HOP_SAMPLES :][: span.hops * constants.HOP_SAMPLES]
            times = beats[:, 0] - constants.hops_to_seconds(before)
            inside = (times >= 0) & (times <= constants.hops_to_seconds(span.hops))
            if clip := _clip(track, span, own, np.stack([times[inside], beats[inside, 1]], axis=1), settings.seed):
                clips.append(clip)
    return Prepared(clips, len(spans) - len(clips))


@dataclass(frozen=True)
class _Span:
    """A clip with as much around it as the margin and the track allow, in hops of the track."""

    begin: int
    hops: int
    offset: int  # hops before the clip

    @property
    def end(self) -> int:
        return self.begin + self.hops

    @property
    def clip_seconds(self) -> float:
        """Where the clip begins in the track."""
        return constants.hops_to_seconds(self.begin + self.offset)

    @classmethod
    def around(cls, start: int, seconds: float, margin_seconds: float) -> "_Span":
        margin = int(margin_seconds * constants.HOPS_PER_SECOND)
        left = int((seconds - _SLACK_SECONDS) * constants.HOPS_PER_SECOND) - start - constants.CLIP_HOPS
        before, after = min(margin, start), max(0, min(margin, left))
        return cls(start - before, before + constants.CLIP_HOPS + after, before)


def _runs(spans: list[_Span]) -> list[list[_Span]]:
    """Spans that overlap are decoded together."""
    runs: list[list[_Span]] = []
    for span in spans:
        if runs and span.begin <= runs[-1][-1].end:
            runs[-1].append(span)
        else:
            runs.append([span])
    return runs


def _listen(track: Planned, begin: int, end: int, downbeats: bool, cache: Path) -> tuple[np.ndarray, np.ndarray]:
    """Samples of a part of a track, and its beats (seconds from `begin`, position in the bar), found once and kept."""
    first = constants.hops_to_seconds(begin)
    seconds = constants.hops_to_seconds(end) - first + _SLACK_SECONDS
    if not downbeats:
        return audio.load(track.path, first, seconds), np.zeros((0, 2))
    from djnet.downbeats.tracker import ANALYSIS_RATE_HZ, VERSION
    from djnet.downbeats.tracker import track as find_beats

    kept = cache / "beats" / f"{track.content}-{begin}-{end}-{VERSION}.npy"
    if (beats := read_array(kept)) is not None:
        return audio.load(track.path, first, seconds), beats
    samples, fine = audio.load_at(track.path, first, seconds, (constants.SAMPLE_RATE_HZ, ANALYSIS_RATE_HZ))
    beats = find_beats(fine, ANALYSIS_RATE_HZ)
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_array(kept, beats)
    return samples, beats


def _clip(track: Planned, span: _Span, samples: np.ndarray, beats: np.ndarray, seed: int) -> Clip | None:
    hops = min(span.hops, len(samples) // constants.HOP_SAMPLES)  # a file may be shorter than it says
    clip_samples = samples[span.offset * constants.HOP_SAMPLES :][: constants.CLIP_HOPS * constants.HOP_SAMPLES]
    if hops < span.offset + constants.CLIP_HOPS:
        raise audio.AudioError(
            track.path, f"is cut off or damaged: it ends within the clip at {span.clip_seconds:.1f} s."
        )
    if clip_samples.std() < constants.SILENCE:
        return None
    stored, scale = quantised(samples[: hops * constants.HOP_SAMPLES])
    mel = log_mel(dequantised(stored, scale))
    first, last = (0, hops) if track.split == "train" else (span.offset, span.offset + constants.CLIP_HOPS)
    name = f"{track.id}@{span.clip_seconds:.3f}"
    return Clip(
        id=name,
        track=track.id,
        group=track.group,
        split=track.split,
        start=constants.hops_to_seconds(span.begin),
        offset=span.offset,
        samples=stored,
        scale=scale,
        mel=mel.astype(np.float16),
        beats=beats.astype(np.float32),
        segmentations=_segmentations(
            span.offset, downbeat_hops(beats, first, last), rng_for(seed, "downbeats", track.content, span.begin)
        ),
    )


def _segmentations(offset: int, downbeats: np.ndarray, rng: np.random.Generator) -> dict[str, Segmentation]:
    """The cuts of every game: equal ones always, at downbeats where the music has enough of them.

    Puzzles for validation and test lie within the fixed clip, so `downbeats` are then those of the clip.
    """
    segmentations = {}
    for n in constants.JIGSAW_SIZES:
        segmentations[f"fixed/{n}"] = Segmentation(offset + equal_cuts(constants.CLIP_HOPS, n), pairs_of(n))
        if (cuts := downbeat_cuts(downbeats, n, rng)) is not None:
            segmentations[f"downbeat/{n}"] = Segmentation(cuts, pairs_of(n))
    return segmentations
