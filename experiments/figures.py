"""Draw the figures in results/figures: `python -m experiments.figures --data=data`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import flags

from djnet import spec
from djnet.files import whole_file
from djnet.fragments import cut_frames
from djnet.records import Clip, Manifest
from djnet.rng import rng_for
from preprocessing import job

_DATA = flags.DEFINE_string("data", "data", "Folder of records.")
_OUTPUT = flags.DEFINE_string("output", "results/figures", "Folder for the pictures.")


def draw_puzzle(clip: Clip, path: Path, n: int = 4, seed: int = 3) -> None:
    """A puzzle: the fragments of a clip shuffled, and in their order."""
    from matplotlib.figure import Figure

    fragments = cut_frames(clip.mel.astype(np.float32), clip.segmentations[f"fixed/{n}"].cuts)
    shuffled = rng_for(seed, "picture").permutation(n)
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    rows = figure.subplots(2, n)
    low, high = np.percentile(clip.mel.astype(np.float32), [2, 99.5])
    for title, row, order in (("shuffled", rows[0], shuffled), ("in order", rows[1], range(n))):
        for axes, piece in zip(row, order, strict=True):
            axes.imshow(fragments[piece].T, origin="lower", aspect="auto", vmin=low, vmax=high, cmap="magma")
            axes.set(xticks=[], yticks=[])
            axes.set_xlabel(f"R{piece + 1}")
        row[0].set_ylabel(title)
    with whole_file(path) as partial:
        figure.savefig(partial, format="png", dpi=80, metadata={"Title": clip.id})


def main(argv: Sequence[str]) -> None:
    """Draw everything that the records allow."""
    del argv
    output = Path(_OUTPUT.value)
    output.mkdir(parents=True, exist_ok=True)
    manifest = Manifest.read(_DATA.value)
    # The liveliest of the first test clips makes the clearest picture.
    clips = [clip for clip, _ in zip(manifest.read_clips("test"), range(40), strict=False)]
    clip = max(clips, key=lambda clip: float(np.abs(np.diff(clip.mel.astype(np.float32), axis=0)).mean()))
    draw_puzzle(clip, output / "puzzle.png")
    print(f"{output / 'puzzle.png'}: {clip.id}, at {spec.hops_to_seconds(clip.offset) + clip.start:.1f} s of the track")


if __name__ == "__main__":
    job.run(main)
