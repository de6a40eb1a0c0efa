"""Draw docs/transitions.png, what each kind of join does: `python -m experiments.plots.transitions`.

Noise plays in place of two songs of 120 and 124 beats a minute; levels are measured in what the renderer makes of it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.signal
from matplotlib.figure import Figure

from djnet.files import whole_file
from djnet.medley.fades import fade, repeated
from djnet.medley.transitions import KINDS, RATE_HZ, Asked, Segment, lay_out
from djnet.rng import rng_for

OUTPUT = Path(__file__).parents[2] / "docs" / "transitions.png"
BPM = (120.0, 124.0)
BARS, JOINED_BARS = 16, 4
BANDS = {"lows": ("lowpass", 150.0, ":"), "highs": ("highpass", 2_000.0, "-")}
COLOURS = ("#0072b2", "#d55e00")
STEP = RATE_HZ // 20


def segment(bpm: float) -> Segment:
    """Beats of a song, without samples."""
    times = 1.0 + np.arange(4 * BARS + 1) * 60 / bpm
    return Segment(np.zeros((0, 2)), times[0], times[-1], np.stack([times, np.arange(len(times)) % 4 + 1], axis=1))


def levels(stem: np.ndarray, band: tuple[str, float, str]) -> np.ndarray:
    """Level of a band, 1 for untouched noise, every 50 ms: [N, 2] -> [T]."""
    filters = scipy.signal.butter(4, band[1], band[0], fs=RATE_HZ, output="sos")
    power = scipy.signal.sosfilt(filters, stem[:, 0])[: len(stem) // STEP * STEP].reshape(-1, STEP) ** 2
    smooth = scipy.signal.medfilt(np.sqrt(power.mean(axis=1)), 5)
    return smooth / np.median(smooth)


def draw_kind(axes: Any, tempo: Any, kind: str) -> None:
    """Levels of both songs around a join of a kind, and below them the tempo of the beats that play."""
    songs = [segment(bpm) for bpm in BPM]
    maps, (join,) = lay_out(songs, JOINED_BARS, [Asked(kind, JOINED_BARS)])
    for i, (song, (source, target), colour) in enumerate(zip(songs, maps, COLOURS, strict=True)):
        places = np.round(target * RATE_HZ).astype(int)
        noise = rng_for(0, kind, i).standard_normal((places[-1] - places[0], 2)).astype(np.float32)
        after = repeated(noise, join) if i == 0 else noise[:0]
        fade(noise, join, places - places[0], rising=i == 1)
        noise = np.concatenate([noise, after])
        for name, band in BANDS.items():
            level = levels(noise, band)
            times = places[0] / RATE_HZ + (np.arange(len(level)) + 0.5) * STEP / RATE_HZ
            axes.plot(times, level, band[2], color=colour, linewidth=1, label=f"song {i + 1}, {name}")
        beats = np.interp(song.beats[:, 0], source, target)
        tempo.plot(beats[1:], 60 / np.diff(beats), color=colour, linewidth=1)
    axes.axvspan(join.start, join.end, color="black", alpha=0.1, linewidth=0)
    axes.set(title=kind, ylim=(0, 1.4), xlim=(join.middle - 20, join.middle + 20))
    tempo.set(ylim=(118, 126), xlim=(join.middle - 20, join.middle + 20), ylabel="bpm")


def main() -> None:
    """Draw all kinds."""
    figure = Figure(figsize=(12, 2.1 * len(KINDS)), layout="constrained")
    for (axes, tempo), kind in zip(figure.subplots(len(KINDS), 2, width_ratios=(3, 1)), KINDS, strict=True):
        draw_kind(axes, tempo, kind)
    axes.set_xlabel("seconds")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    with whole_file(OUTPUT) as partial:
        figure.savefig(partial, format="png", dpi=70)


if __name__ == "__main__":
    main()
