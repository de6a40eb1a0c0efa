"""A medley listens to itself: are beats in step at every join, is it equally loud, does it clip or fall silent?"""

import itertools
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from djnet.medley.loudness import loudness_of, true_peak
from djnet.medley.mix import RATE_HZ, Join

PHASE_LIMIT_MS = 20.0
STEP_LIMIT_LU = 1.5
PEAK_LIMIT_DB = -1.0
SILENCE_LIMIT_SECONDS = 0.5

_AROUND_SECONDS = 8.0  # of a join, where beats are looked at
_LOUDNESS_SECONDS = 6.0  # on each side of a join
_NEAR_FRAMES = 7.0  # of where a beat should be, in hundredths of a second
_FAINTEST = 0.1  # probability of a beat that is counted
_FEWEST = 3  # beats on each side
_SILENT_DB = -60.0


@dataclass(frozen=True)
class JoinCheck:
    """What was measured at a join; no phase where no beats can be heard."""

    phase_ms: float | None
    step: float  # in LU, from the last seconds before it to the first behind it

    @property
    def warnings(self) -> list[str]:
        """What is over its limit, in words."""
        found = []
        if self.phase_ms is not None and abs(self.phase_ms) > PHASE_LIMIT_MS:
            found.append(f"beats jump by {self.phase_ms:.0f} ms")
        if abs(self.step) > STEP_LIMIT_LU:
            found.append(f"loudness jumps by {self.step:.1f} LU")
        return found


@dataclass(frozen=True)
class Check:
    """What was measured in a whole medley."""

    joins: list[JoinCheck]
    loudness: float
    spread: float  # in LU, between the loudest and the quietest clip
    peak_db: float
    silence: float  # seconds of the longest one

    @property
    def warnings(self) -> list[str]:
        """What is over its limit in the whole, in words."""
        found = []
        if self.peak_db > PEAK_LIMIT_DB:
            found.append(f"the true peak is {self.peak_db:.1f} dB, above {PEAK_LIMIT_DB:g} dB")
        if self.silence > SILENCE_LIMIT_SECONDS:
            found.append(f"there are {self.silence:.1f} s of silence")
        return found


def check(samples: np.ndarray, joins: list[Join], beats: list[np.ndarray]) -> Check:
    """Measure a medley [N, 2]; `beats` are where the beats of every clip [K, 2] should be."""
    cuts = [0.0, *(join.middle for join in joins), len(samples) / RATE_HZ]
    spans = [samples[round(a * RATE_HZ) : round(b * RATE_HZ)] for a, b in itertools.pairwise(cuts)]
    loudness = [loudness_of(span, RATE_HZ) for span in spans]
    steps = [_step(samples, join, cuts[i], cuts[i + 2]) for i, join in enumerate(joins)]
    listened = tqdm(joins, desc="check", unit="join", disable=not joins)
    phases = [_phase(samples, join, *beats[i : i + 2]) for i, join in enumerate(listened)]
    known = [value for value in loudness if np.isfinite(value)]
    return Check(
        [JoinCheck(phase, step) for phase, step in zip(phases, steps, strict=True)],
        _together(loudness, cuts),
        max(known, default=0.0) - min(known, default=0.0),
        20 * float(np.log10(max(true_peak(samples, RATE_HZ), 1e-9))),
        _longest_silence(samples),
    )


def _together(loudness: list[float], cuts: list[float]) -> float:
    """Loudness of the whole from that of its clips, each for as long as it plays."""
    power = np.average(10 ** (np.array(loudness) / 10), weights=np.diff(cuts))
    return 10 * float(np.log10(power)) if power > 0 else -np.inf


def _step(samples: np.ndarray, join: Join, first: float, last: float) -> float:
    """How much louder, in LU, it is right behind a join than right before it, within the two clips."""
    before = (max(first, join.start - _LOUDNESS_SECONDS), max(join.start, first + 1.0))
    after = (min(join.end, last - 1.0), min(last, join.end + _LOUDNESS_SECONDS))
    values = [loudness_of(samples[round(a * RATE_HZ) : round(b * RATE_HZ)], RATE_HZ) for a, b in (before, after)]
    return values[1] - values[0] if np.isfinite(values).all() else 0.0


def _phase(samples: np.ndarray, join: Join, before: np.ndarray, after: np.ndarray) -> float | None:
    """How much later, in ms, beats come after the middle of a join than before it, against where they should be."""
    from djnet.downbeats.network import FRAMES_PER_SECOND
    from djnet.downbeats.tracker import activations

    if not len(before) or not len(after):
        return None
    begin = max(0.0, join.start - _AROUND_SECONDS)
    around = samples[round(begin * RATE_HZ) : round((join.end + _AROUND_SECONDS) * RATE_HZ)]
    heard = activations(around.mean(axis=1), RATE_HZ).max(axis=1)
    sides = []
    for times in (before[before[:, 0] < join.middle - 0.01, 0], after[after[:, 0] > join.middle - 0.01, 0]):
        offsets = [_offset(heard, (time - begin) * FRAMES_PER_SECOND) for time in times]
        known = [offset / FRAMES_PER_SECOND for offset in offsets if offset is not None]
        if len(known) < _FEWEST:
            return None
        sides.append(float(np.median(known)))
    return 1e3 * (sides[1] - sides[0])


def _offset(heard: np.ndarray, place: float) -> float | None:
    """From where a beat should be to the peak nearby, in frames; nothing if there is none or it lies outside."""
    first = max(1, int(np.ceil(place - _NEAR_FRAMES)))
    last = min(len(heard) - 2, int(place + _NEAR_FRAMES))
    if last <= first:
        return None
    peak = first + int(np.argmax(heard[first : last + 1]))
    left, top, right = heard[peak - 1 : peak + 2]
    if top < _FAINTEST or top < max(left, right):
        return None
    bend = left - 2 * top + right
    return peak + (0.5 * (left - right) / bend if bend else 0.0) - place


def _longest_silence(samples: np.ndarray) -> float:
    """The longest silence in seconds, but for the fade at the end."""
    block = RATE_HZ // 20
    body = samples[: max(0, len(samples) - 2 * RATE_HZ) // block * block]
    power = (body.reshape(-1, block * 2) ** 2).mean(axis=1) if len(body) else np.ones(1)
    silent = np.concatenate([[0], (power < 10 ** (_SILENT_DB / 10)).astype(int), [0]])
    edges = np.flatnonzero(np.diff(silent)).reshape(-1, 2)
    return float(np.diff(edges, axis=1).max(initial=0)) * block / RATE_HZ
