"""A control for hidden leaks: does cutting the original samples before anything else make a puzzle harder?

    python -m experiments.leak_control --data=data --network=sen-fixed --n=3

Records are made of music that was resampled before the cut, and a resampling filter spreads a few milliseconds of one
piece into the next. Here the decoded samples of test tracks are cut at their own sample rate, every piece is written
to a file of its own, and each file is loaded by itself. The network plays the same puzzles both ways; leak_control.csv
in --output has both accuracies with intervals over tracks, which should overlap. What a lossy codec has spread is in
the decoded samples already, and so the same in both.
"""

import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
from absl import flags
from tqdm import tqdm

import djnet
from djnet import audio, metrics
from djnet.cli import job
from djnet.constants import HOPS_PER_SECOND, JIGSAW_SIZES
from djnet.corpora import TRACK_LIST, read_tracks
from djnet.errors import UserError
from djnet.ordering import best_order
from djnet.puzzles import jigsaw
from djnet.records import Clip, Manifest
from experiments import tables
from experiments.significance import interval, permutation_test

if TYPE_CHECKING:
    from djnet.pretrained import Scorer

WAYS = ("resampled, then cut", "cut, then resampled")


def write_pieces(path: str, clip: Clip, cuts: np.ndarray, folder: Path) -> list[Path]:
    """Cut a track at a clip's cuts [n + 1], in hops of the record, at the track's own sample rate: -> n files."""
    rate = soundfile.info(path).samplerate
    edges = np.round((clip.start + cuts / HOPS_PER_SECOND) * rate).astype(int)
    samples = audio.load_stereo(path, edges[0] / rate, (edges[-1] - edges[0]) / rate, rate)
    pieces = np.split(samples, edges[1:-1] - edges[0])
    files = [folder / f"{number}.wav" for number in range(len(pieces))]
    for file, piece in zip(files, pieces, strict=True):
        soundfile.write(file, piece, rate, subtype="FLOAT")
    return files


def play(
    manifest: Manifest, scorer: "Scorer", segmentation: str, n: int, limit: int
) -> Iterator[tuple[str, list[dict[str, float]]]]:
    """Puzzles of the test split, played both ways: -> the track and the metrics of both answers, for each."""
    name = f"{segmentation}/{n}"
    tracks = read_tracks(manifest.folder)
    clips = (clip for clip in manifest.read_clips("test") if name in clip.segmentations)
    for clip in islice(clips, limit):
        puzzle = jigsaw(clip, segmentation, n, window=scorer.window)
        with tempfile.TemporaryDirectory() as folder:
            try:
                pieces = write_pieces(tracks[clip.track]["path"], clip, clip.segmentations[name].cuts, Path(folder))
            except (KeyError, soundfile.LibsndfileError, audio.AudioError) as error:
                raise UserError(
                    f"{clip.track!r} cannot be read: {manifest.folder / TRACK_LIST} should name its file."
                ) from error
            shuffled = [pieces[place] for place in np.argsort(puzzle.truth)]
            scores = scorer.scores(puzzle.fragments), scorer.scores(shuffled)
        yield clip.track, [metrics.evaluate(best_order(matrix).order, puzzle.truth) for matrix in scores]


def rows_of(tracks: Sequence[str], played: Sequence[Sequence[dict[str, float]]]) -> list[dict[str, Any]]:
    """A row for each way: accuracies with intervals over tracks, and how the second way differs from the first."""
    rows = []
    for number, way in enumerate(WAYS):
        row: dict[str, Any] = {"method": way, "puzzles": len(played), "tracks": len(set(tracks))}
        for name in ("pairwise", "global"):
            values, usual = (np.array([both[i][f"{name}_accuracy"] for both in played]) for i in (number, 0))
            low, high = interval(values, tracks)
            row |= {name: round(float(values.mean()), 4), f"{name}_low": round(low, 4), f"{name}_high": round(high, 4)}
        if number:
            row |= {"versus": WAYS[0], "difference": round(float((values - usual).mean()), 4)}
            row |= {"p_value": round(permutation_test(values, usual, tracks), 6)}
        rows.append(row)
    return rows


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records, of tracks whose files are still where they were.")
    flags.DEFINE_string("network", "sen-fixed", "A network's name, or a run's folder.")
    flags.DEFINE_string("output", "results/local", "Folder for leak_control.csv.")
    flags.DEFINE_enum("segmentation", "fixed", ["fixed", "downbeat"], "Where clips are cut.")
    flags.DEFINE_enum("n", "3", [str(n) for n in JIGSAW_SIZES], "Into how many pieces.")
    flags.DEFINE_integer("puzzles", 200, "At most that many puzzles.", lower_bound=1)


def main(given: Any) -> None:
    """Play, write, print."""
    from experiments.checkpoints import commit

    manifest = Manifest.read(Path(given.data).expanduser())
    try:
        with job.quiet():  # TensorFlow, which the folder of a run needs, has remarks
            scorer = djnet.load(given.network)
    except (OSError, ValueError) as error:
        raise UserError(f"--network={given.network}: {error}") from error
    puzzles = min(given.puzzles, manifest.clips("test"))
    answers = play(manifest, scorer, given.segmentation, int(given.n), puzzles)
    played = list(tqdm(answers, total=puzzles, unit="puzzle", leave=False))
    if not played:
        raise UserError(f"{manifest.folder} has no test clips for {given.segmentation} cuts, n = {given.n}.")
    corpus = manifest.content["corpus"]
    setting = dict.fromkeys(tables.KEY, "") | {
        "game": "jigsaw", "segmentation": given.segmentation, "n": given.n, "protocol": scorer.protocol,
        "corpus": corpus["name"], "corpus_hash": corpus["hash"][:12], "run": Path(given.network).name,
    }  # fmt: skip
    rows = [setting | row | {"commit": commit()} for row in rows_of(*zip(*played, strict=True))]
    path = Path(given.output).expanduser() / "leak_control.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    tables.write(path, rows)
    for row in rows:
        spread = f"[{row['global_low']:.3f}, {row['global_high']:.3f}]"
        print(f"{row['method']:20s} {row['pairwise']:.3f} ({row['global']:.3f})  {spread}  {row['puzzles']} puzzles")
    print(f"difference of the global accuracy {rows[1]['difference']:+.3f}, p = {rows[1]['p_value']:.3f}\n-> {path}")


if __name__ == "__main__":
    job.run(main, define_flags)
