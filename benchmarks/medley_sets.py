"""Medleys of whole folders for every --order, as a table: `python -m benchmarks.medley_sets FOLDER...`.

Each medley is rendered and checked as `djnet medley` does it, and a row printed as soon as it is measured. With
`--release=MEDLEY.wav`, a medley that an earlier version made of the only folder is measured too, by the receipt beside
it. Its beat phases are left out: the receipt does not say where its beats lie to the millisecond.

The sets of docs/medley.md are a folder of songs with voices and two packages of free recordings, chosen by the genre
tags inside the files alone: of the packages of the medium set, that of which most files are tagged as electronic music
(wizznic-data), and that of which most are tagged as classical music (wesnoth-1.16-music). Of a package with more than
twelve recordings, the first twelve by their names are taken, for the time that more would need.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from absl import flags

import djnet
from djnet.cli import job
from djnet.corpora import folder
from djnet.errors import UserError
from djnet.files import read_json
from djnet.medley import analysis, check, mix, receipt
from djnet.medley.arrange import Options, arrange
from djnet.medley.search import Constraints
from djnet.medley.transitions import BLENDS, Join

ORDERS = ("mix", "sen", "tempo", "keep-order")
_HEADER = "| folder | order | songs | joins that blend | largest tempo jump | loudness, LUFS | smooth | abrupt |"


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_list("orders", list(ORDERS), f"Which of {', '.join(ORDERS)}.")
    flags.DEFINE_string(
        "release", "", "A medley that an earlier version made of the folder, with its receipt beside it."
    )
    flags.DEFINE_string("network", "sen-medley", "Name of shipped weights, or folder of a trained run.")
    flags.DEFINE_string("cache", "~/.cache/djnet", "Folder where analysed songs are kept.")


def main(given: Any, *folders: str) -> None:
    """Print a row for every folder and order."""
    if unknown := set(given.orders) - set(ORDERS):
        raise UserError(f"--orders: there is no {min(unknown)!r}; there are {', '.join(ORDERS)}.")
    if given.release and len(folders) != 1:
        raise UserError("--release: name the one folder that this medley was made of.")
    print(f"{_HEADER}\n|---|---|---|---|---|---|---|---|")
    for name in folders:
        paths = [track.path for track in folder.corpus(name).tracks]
        if given.release:
            print(row(Path(name).name, "earlier release", *released(Path(given.release))), flush=True)
        if not given.orders:
            continue
        songs, _ = analysis.analyse(paths, Path(given.cache).expanduser())
        for order in given.orders:
            print(row(Path(name).name, order, *made(songs, order, given.network)), flush=True)


def made(songs: Sequence[analysis.Song], order: str, network: str) -> tuple[list[Join], check.Check]:
    """The joins of a medley with the settings of `djnet medley`, and its self-check."""
    keep = order == "keep-order"
    options = Options(order="mix" if keep else order)
    arrangement = arrange(songs, djnet.load(network).scores, Constraints(keep_order=keep), options)
    content = receipt.make_receipt(arrangement, order, options.bars, mix.PEAK_DB, network)
    rendered = mix.render(receipt.read_segments(content), options.bars)
    return rendered.joins, check.check(rendered)


def released(path: Path) -> tuple[list[Join], check.Check]:
    """The same of a medley on disk, by the receipt beside it."""
    content = read_json(path.with_suffix(".json"), {"clips": [dict], "joins": [dict]})
    joins = [Join(**join) for join in content["joins"]]
    samples, _ = soundfile.read(path, dtype="float32", always_2d=True)
    edges = [(0.0, 0.0), *((join.start, join.end) for join in joins), (len(samples) / mix.RATE_HZ,) * 2]
    beats = [_beats_in_mix(clip, *own) for clip, own in zip(content["clips"], itertools.pairwise(edges), strict=True)]
    checked = check.check(mix.Mix(samples, beats, joins))
    return joins, replace(checked, joins=[replace(one, phase_ms=None) for one in checked.joins])


def _beats_in_mix(clip: dict[str, Any], first: tuple[float, float], last: tuple[float, float]) -> np.ndarray:
    """Beats of a clip in seconds of the mix, between its two joins (start and end each): -> [K, 2].

    As if it were stretched evenly, which is exact where it is not stretched at all, as between two cuts.
    """
    beats = np.reshape(clip["beats"], (-1, 2)).astype(float) + np.array([clip["begin"], 0.0])
    beats = beats[(beats[:, 0] > clip["start"] - 0.1) & (beats[:, 0] < clip["end"] + 0.1)]
    source = [clip["start"], clip["end"]]
    return np.stack([np.interp(beats[:, 0], source, [first[0], last[1]]), beats[:, 1]], axis=1)


def row(name: str, order: str, joins: Sequence[Join], checked: check.Check) -> str:
    """One line of the table."""
    share = sum(join.kind in BLENDS for join in joins) / max(1, len(joins))
    jump = max((one.tempo_jump for one in checked.joins), default=0.0)
    abrupt = sum(bool(one.warnings) for one in checked.joins)
    values = (len(joins) + 1, f"{100 * share:.0f}%", f"{100 * jump:.0f}%", f"{checked.loudness:.1f}")
    return f"| {name} | {order} | {' | '.join(map(str, values))} | {len(joins) - abrupt} | {abrupt} |"


if __name__ == "__main__":
    job.run(main, define_flags, "FOLDER...")
