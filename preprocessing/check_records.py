"""Look at records: counts, lengths, pictures, and a check of every shard.

python -m preprocessing.check_records data/
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags
from tqdm import tqdm

from djnet import constants
from djnet.cli import job
from djnet.cuts import SHORTEST_HOPS
from djnet.files import whole_file
from djnet.records import SPLITS, Clip, Manifest, RecordsError


@dataclass
class Findings:
    """What a folder of records contains."""

    clips: dict[str, int] = field(default_factory=dict)
    tracks: dict[str, set[str]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of the fragments, by segmentation
    examples: list[Clip] = field(default_factory=list)


def inspect(manifest: Manifest, pictures: int = 0) -> Findings:
    """Read every record and check it; a RecordsError says what is wrong and where."""
    findings = Findings()
    total = sum(manifest.clips(split) for split in SPLITS)
    with tqdm(desc="check", total=total, unit="clip") as bar:
        for split in SPLITS:
            findings.tracks[split], count = set(), 0
            for clip in manifest.read_clips(split) if manifest.clips(split) else ():
                _check(clip, split)
                count += 1
                findings.tracks[split].add(clip.track)
                for name, segmentation in clip.segmentations.items():
                    lengths = constants.hops_to_seconds(1) * np.diff(segmentation.cuts)
                    findings.seconds.setdefault(name, []).extend(lengths)
                if len(findings.examples) < pictures:
                    findings.examples.append(clip)
                bar.update()
            findings.clips[split] = count
            if count != manifest.clips(split):
                raise RecordsError(f"The {split} split has {count} clips, its manifest says {manifest.clips(split)}.")
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        if shared := findings.tracks[one] & findings.tracks[other]:
            raise RecordsError(f"The track {min(shared)!r} stands in two splits, {one} and {other}.")
    return findings


def _check(clip: Clip, split: str) -> None:
    problems = []
    if clip.split != split:
        problems.append(f"is marked as {clip.split} but stands in {split}")
    if not np.isfinite(clip.mel).all():
        problems.append("has features that are not numbers")
    for name, segmentation in clip.segmentations.items():
        cuts = segmentation.cuts
        first, last = (0, clip.hops) if split == "train" else (clip.offset, clip.offset + constants.CLIP_HOPS)
        if np.diff(cuts).min() < SHORTEST_HOPS or cuts[0] < first or cuts[-1] > last:
            problems.append(f"has impossible cuts for {name}")
        n = len(segmentation.cuts) - 1
        if any(not (0 <= pair.first < n and 0 <= pair.second < n) for pair in segmentation.pairs):
            problems.append(f"has impossible pairs for {name}")
    if problems:
        raise RecordsError(f"The clip {clip.id!r} {' and '.join(problems)}: make the records again.")


def draw(clips: list[Clip], path: Path) -> None:
    """Draw spectrograms with the cuts of the 3-piece puzzle."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.2 * len(clips)), layout="constrained")
    for axes, clip in zip(np.atleast_1d(figure.subplots(len(clips))), clips, strict=True):
        extent = (0, constants.hops_to_seconds(len(clip.mel)), 0, constants.MEL_BINS)
        axes.imshow(clip.mel.astype(np.float32).T, origin="lower", aspect="auto", extent=extent)
        for cut in clip.segmentations["fixed/3"].cuts:
            axes.axvline(constants.hops_to_seconds(cut), color="white", linestyle="--")
        axes.set(xlabel="seconds", ylabel="mel bin")
        axes.set_title(clip.id.encode("ascii", "replace").decode()[-90:], fontsize=8, parse_math=False)
    with whole_file(path) as partial:
        figure.savefig(partial, format="png", dpi=100)


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_integer("pictures", 4, "How many clips to draw into spectrograms.png; 0 for none.", lower_bound=0)


def main(given: Any, data: str) -> None:
    """Print how many clips, tracks and fragments there are."""
    manifest = Manifest.read(Path(data).expanduser())
    findings = inspect(manifest, given.pictures)
    corpus = manifest.content["corpus"]
    print(f"corpus {corpus['name']}, hash {corpus['hash'][:12]}; records {manifest.hash[:12]}")
    for split in SPLITS:
        sizes = [shard["bytes"] for shard in manifest.content["splits"][split]["shards"]]
        counts = f"{findings.clips[split]:6d} clips of {len(findings.tracks[split]):5d} tracks"
        print(f"{split:6s} {counts}, {len(sizes)} shards, {sum(sizes) / 1e6:.0f} MB")
    for name, lengths in sorted(findings.seconds.items()):
        low, middle, high = np.percentile(lengths, [0, 50, 100])
        print(f"{name:12s} {len(lengths):7d} fragments of {low:.2f} to {high:.2f} s (median {middle:.2f})")
    print(f"silent clips left out: {manifest.content['silent_clips']}")
    if findings.examples:
        target = manifest.folder / "spectrograms.png"
        draw(findings.examples, target)
        print(f"pictures: {target}")
    print("Every shard is in order.")


if __name__ == "__main__":
    job.run(main, define_flags, "DATA")
