"""Draw which samples the frames beside a cut see, for each protocol: `python -m experiments.plots.protocols`."""

from pathlib import Path
from typing import Any

from absl import flags

from djnet.cli import job
from djnet.constants import HOP_SAMPLES, SAMPLE_RATE_HZ, WINDOW_SAMPLES
from experiments.plots.charts import new_figure, save

FRAMES = 3  # drawn on each side of the cut
COLOURS = ("#2f6db5", "#d97b29")  # fragment before the cut, fragment after it
NOTES = {
    "centred": "cut first; frame t is centred on sample 512 t of the fragment, edges mirrored",
    "trimmed": "cut first; only whole windows inside the fragment",
    "overlapping": "transform first, then cut the frames: neighbours share samples",
}
# First samples, counted from the cut, of the nearest window before it and after it.
NEAREST = {
    "centred": (-WINDOW_SAMPLES // 2, -WINDOW_SAMPLES // 2),
    "trimmed": (-WINDOW_SAMPLES, 0),
    "overlapping": (-HOP_SAMPLES, 0),
}


def windows(protocol: str) -> tuple[list[int], list[int]]:
    """First samples, counted from the cut, of the windows nearest to it: before the cut and after it, nearest first."""
    hops = range(0, FRAMES * HOP_SAMPLES, HOP_SAMPLES)
    before, after = NEAREST[protocol]
    return [before - hop for hop in hops], [after + hop for hop in hops]


def draw() -> Any:
    """One row a protocol; a pale part of a window lies beyond the fragment's edge and is mirrored from inside."""
    milliseconds = 1000 / SAMPLE_RATE_HZ
    figure = new_figure(9, 6.3)
    rows = figure.subplots(len(NOTES), sharex=True)
    for row, (protocol, note) in zip(rows, NOTES.items(), strict=True):
        for side, firsts in enumerate(windows(protocol)):
            for height, first in enumerate(firsts):
                last = first + WINDOW_SAMPLES
                y, look = -height - side * (FRAMES + 0.5), {"color": COLOURS[side], "height": 0.7}
                inside = (first, last)
                if protocol == "centred":
                    inside = (first, min(last, 0)) if side == 0 else (max(first, 0), last)
                    row.barh(y, WINDOW_SAMPLES * milliseconds, left=first * milliseconds, alpha=0.25, **look)
                row.barh(y, (inside[1] - inside[0]) * milliseconds, left=inside[0] * milliseconds, **look)
                row.plot((first + last) / 2 * milliseconds, y, "|", color="black", markersize=9)
        row.axvline(0, color="black", linestyle="--", linewidth=1)
        row.set_title(f"{protocol}: {note}", loc="left", fontsize=10)
        row.set_yticks([-1, -FRAMES - 1.5], ["last frames\nbefore the cut", "first frames\nafter the cut"], fontsize=8)
        row.spines[["top", "right", "left"]].set_visible(False)
    rows[-1].set_xlim(-150, 150)
    rows[-1].set_xlabel("milliseconds from the cut (bar: a frame's window, tick: its centre, pale: mirrored samples)")
    return figure


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("output", "docs", "Folder for protocols.png and protocols.svg.")


def main(given: Any) -> None:
    """Write the picture in both formats."""
    save(draw(), Path(given.output), "protocols")


if __name__ == "__main__":
    job.run(main, define_flags)
