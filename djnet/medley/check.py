"""The self-check of a rendered medley: every join measured and judged in words, equal loudness, true peak, silence."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from djnet.audio.sample_file import Samples
from djnet.medley.key import chroma_of, relatedness
from djnet.medley.limiter import true_peak
from djnet.medley.loudness import blocks_of, integrated, within
from djnet.medley.mix import Mix
from djnet.medley.tempo import longest_run
from djnet.medley.transitions import BLENDS, RATE_HZ, Join

PHASE_LIMIT_MS = 20.0
STEP_LIMIT_LU = 1.5
TEMPO_LIMIT = 0.08  # of a jump from one bar to the next
KEY_LIMIT = 0.35  # of how near the keys are on both sides, see `key.relatedness`
PEAK_LIMIT_DB = -1.0
SILENCE_LIMIT_SECONDS = 0.5
VOICES_LIMIT_SECONDS = 1.0  # of two singers at once

_BEAT_SECONDS = 8.0  # on each side of a join, where beats are tracked
_TEMPO_BEATS = 5  # on each side: a bar
_KEY_SECONDS = 8.0  # on each side
_LOUDNESS_SECONDS = 6.0  # on each side of a join
_SEARCH_FRAMES = 7.0  # from where a beat should be, in hundredths of a second
_LEAST_PROBABILITY = 0.1  # of a beat that counts
_FEWEST_BEATS = 3  # on each side
_SILENT_DB = -60.0
_SUNG = 0.5  # probability of voices from which on somebody sings
_VOICE_STEP_SECONDS = 0.1


@dataclass(frozen=True)
class JoinCheck:
    """What was measured at a join; a phase only of beats that should be in step, keys only of what sounds together."""

    phase_ms: float | None
    step: float  # in LU, from the last seconds before it to the first after it
    tempo_jump: float = 0.0  # from one bar to the next, 0.1 for 10%
    keys: float | None = None  # how near they are, from 0 to 1
    voices: float | None = None  # seconds in which somebody sings in both songs; none where that is not known

    @property
    def two_voices(self) -> bool:
        """Whether two singers are heard at once for longer than the limit."""
        return self.voices is not None and self.voices > VOICES_LIMIT_SECONDS

    @property
    def warnings(self) -> list[str]:
        """What is over its limit, in words."""
        warnings = []
        if self.tempo_jump > TEMPO_LIMIT:
            warnings.append(f"the tempo jumps by {100 * self.tempo_jump:.0f}%")
        if self.keys is not None and self.keys < KEY_LIMIT:
            warnings.append("the keys clash")
        if self.two_voices:
            warnings.append(f"two voices at once for {self.voices:.1f} s")
        if self.phase_ms is not None and abs(self.phase_ms) > PHASE_LIMIT_MS:
            warnings.append(f"beats jump by {self.phase_ms:.0f} ms")
        if abs(self.step) > STEP_LIMIT_LU:
            warnings.append(f"loudness jumps by {self.step:.1f} LU")
        return warnings


@dataclass(frozen=True)
class Check:
    """What was measured in a whole medley."""

    joins: list[JoinCheck]
    loudness: float
    spread: float  # in LU, between the loudest and the quietest clip
    peak_db: float
    silence: float  # seconds of the longest one
    limited_db: float  # the most that the limiter took from a peak

    @property
    def warnings(self) -> list[str]:
        """What is over its limit in the whole, in words."""
        warnings = []
        if self.peak_db > PEAK_LIMIT_DB:
            warnings.append(f"the true peak is {self.peak_db:.1f} dB, above {PEAK_LIMIT_DB:g} dB")
        if self.silence > SILENCE_LIMIT_SECONDS:
            warnings.append(f"there are {self.silence:.1f} s of silence")
        return warnings


def check(mix: Mix) -> Check:
    """Measure a mix, given where its joins and beats should be."""
    cuts = mix.cuts
    blocks = blocks_of(mix.samples, RATE_HZ)
    loudness = np.array([_loudness(blocks, *span) for span in itertools.pairwise(cuts)])
    joins = [
        JoinCheck(
            _phase(mix.samples, join, *mix.beats[i : i + 2]),
            _step(blocks, join, cuts[i], cuts[i + 2]),
            tempo_jump(mix.beats[i], mix.beats[i + 1], join),
            _keys(mix.samples, join, cuts[i], cuts[i + 2]),
            voices_together(mix.voices[i], mix.voices[i + 1], join) if mix.voices else None,
        )
        for i, join in enumerate(tqdm(mix.joins, desc="check", unit="join", disable=not mix.joins))
    ]
    audible = loudness[np.isfinite(loudness)]
    return Check(
        joins,
        loudness=integrated(blocks[1]),
        spread=float(np.ptp(audible)) if len(audible) else 0.0,
        peak_db=20 * float(np.log10(max(true_peak(mix.samples), 1e-9))),
        silence=_longest_silence(mix.samples),
        limited_db=mix.limited_db,
    )


def summary(checks: Sequence[JoinCheck], names: Sequence[str]) -> str:
    """How many joins are smooth, and which song spoils most of them: `8 smooth, 3 abrupt; without 'X' ...`."""
    abrupt = [bool(one.warnings) for one in checks]
    words = f"{abrupt.count(False)} smooth, {sum(abrupt)} abrupt"
    if doubled := sum(one.two_voices for one in checks):
        words += f" ({doubled} with two voices at once)"
    at_both = [sum(abrupt[max(0, i - 1) : i + 1]) for i in range(len(names))]
    if len(names) > 2 and sum(abrupt) and max(at_both) > 1:
        worst = at_both.index(max(at_both))
        words += f"; without {names[worst]!r} two of them go away"
    return words


def tempo_jump(before: np.ndarray, after: np.ndarray, join: Join) -> float:
    """How much the length of a beat changes where one song gives way to the next: beats [K, 2] of both -> 0.1 for 10%.

    Double, half and 3:2 time count as the same tempo where beats are in step; 0 where one of the songs has no beats.
    """
    own = before[before[:, 0] <= join.middle + 1e-3, 0][-_TEMPO_BEATS:]
    next_ = after[after[:, 0] >= join.middle - 1e-3, 0][:_TEMPO_BEATS]
    if join.kind == "overlay" or min(len(own), len(next_)) < _FEWEST_BEATS:
        return 0.0
    ratio = np.median(np.diff(own)) / np.median(np.diff(next_))
    simple = (1.0, 2.0, 0.5, 1.5, 2 / 3) if join.kind in BLENDS else (1.0, 2.0, 0.5)
    return float(np.expm1(min(abs(np.log(ratio / one)) for one in simple)))


def voices_together(before: np.ndarray, after: np.ndarray, join: Join) -> float | None:
    """Seconds of a join in which somebody sings in both songs: curves [V, 2] of both (seconds of the mix, probability).

    None where hardly anything sounds together, or where it is not known who sings.
    """
    if join.kind not in (*BLENDS, "overlay") or not len(before) or not len(after):
        return None
    times = np.arange(join.start, join.end, _VOICE_STEP_SECONDS)
    sung = [np.interp(times, *curve.T) > _SUNG for curve in (before, after)]
    return _VOICE_STEP_SECONDS * float((sung[0] & sung[1]).sum())


def _keys(samples: Samples, join: Join, first: float, last: float) -> float | None:
    """How near the keys of the seconds before a join and after it are; none where hardly anything sounds together."""
    if join.kind not in (*BLENDS, "overlay", "loop"):
        return None
    spans = (max(first, join.start - _KEY_SECONDS), join.start), (join.end, min(last, join.end + _KEY_SECONDS))
    sides = [samples[round(a * RATE_HZ) : round(b * RATE_HZ)].mean(axis=1) for a, b in spans]
    if min(map(len, sides)) < RATE_HZ or not all(side.any() for side in sides):
        return None
    return float(relatedness(*(chroma_of(side, RATE_HZ).mean(axis=0) for side in sides)))


def _loudness(blocks: tuple[np.ndarray, np.ndarray], start: float, end: float) -> float:
    """Loudness between two times, of blocks (times, LUFS) of the whole mix."""
    return integrated(blocks[1][within(blocks[0], start, end)])


def _step(blocks: tuple[np.ndarray, np.ndarray], join: Join, first: float, last: float) -> float:
    """How much louder, in LU, it is right after a join than right before it, within the two clips."""
    before = _loudness(blocks, max(first, join.start - _LOUDNESS_SECONDS), max(join.start, first + 1.0))
    after = _loudness(blocks, min(join.end, last - 1.0), min(last, join.end + _LOUDNESS_SECONDS))
    return after - before if np.isfinite([before, after]).all() else 0.0


def _phase(samples: Samples, join: Join, before: np.ndarray, after: np.ndarray) -> float | None:
    """How much later, in ms, beats come after the middle of a join than before it, against where they should be."""
    from djnet.downbeats.network import FRAMES_PER_SECOND
    from djnet.downbeats.tracker import activations

    if join.kind not in BLENDS or not len(before) or not len(after):
        return None
    begin = max(0.0, join.start - _BEAT_SECONDS)
    around = samples[round(begin * RATE_HZ) : round((join.end + _BEAT_SECONDS) * RATE_HZ)]
    probability = activations(around.mean(axis=1), RATE_HZ).max(axis=1)
    sides = []
    for times in (before[before[:, 0] < join.middle - 0.01, 0], after[after[:, 0] > join.middle - 0.01, 0]):
        offsets = [_offset(probability, (time - begin) * FRAMES_PER_SECOND) for time in times]
        known = [offset / FRAMES_PER_SECOND for offset in offsets if offset is not None]
        if len(known) < _FEWEST_BEATS:
            return None
        sides.append(float(np.median(known)))
    return 1e3 * (sides[1] - sides[0])


def _offset(probability: np.ndarray, place: float) -> float | None:
    """From where a beat should be to the peak nearby, in frames; none if there is no peak: [T], frame -> frames."""
    first = max(1, int(np.ceil(place - _SEARCH_FRAMES)))
    last = min(len(probability) - 2, int(place + _SEARCH_FRAMES))
    if last <= first:
        return None
    peak = first + int(np.argmax(probability[first : last + 1]))
    left, top, right = probability[peak - 1 : peak + 2]
    if top < _LEAST_PROBABILITY or top < max(left, right):
        return None
    bend = left - 2 * top + right
    return peak + (0.5 * (left - right) / bend if bend else 0.0) - place


def _longest_silence(samples: Samples) -> float:
    """The longest silence in seconds, but for the fade at the end: [N, 2] -> seconds."""
    block, piece = RATE_HZ // 20, 60 * RATE_HZ
    frames = max(0, len(samples) - 2 * RATE_HZ) // block * block
    powers = [np.zeros(0)]
    for first in range(0, frames, piece):
        body = samples[first : min(frames, first + piece)].reshape(-1, block * 2)
        powers.append(np.einsum("ij,ij->i", body, body) / body.shape[1])
    run = longest_run(np.concatenate(powers) < 10 ** (_SILENT_DB / 10))
    return (run.stop - run.start) * block / RATE_HZ
