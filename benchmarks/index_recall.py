"""Does an index of embeddings find the next fragment? `python -m benchmarks.index_recall RUN_FOLDER DATA`

Every record is cut at many places, about 100,000 in all. The index holds one vector for what begins at each place: the
mean of SEN's embedded frames next to the cut. The end of a test fragment asks for its nearest neighbours; the place
where it really goes on should be among the first hundred. Beside it stands full scoring by the network: how many of
2,000 random places score higher than the true one, which gives its rank in the whole index but for chance.
"""

import csv
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from djnet import spec
from djnet.files import whole_file
from djnet.pretrained import read_model
from djnet.records import SPLITS, Manifest
from djnet.rng import rng_for
from djnet.scoring import window_of
from experiments.checkpoints import commit

TABLE = Path(__file__).parents[1] / "results" / "index.csv"
STEP = 32  # frames between places
NEAREST = 100
NEXT_TO_CUT = (4, 16, 63)  # frames that are averaged
FULL_QUERIES, FULL_PLACES = 40, 2_000


class Places:
    """The places of all records, and what the network makes of the frames before and behind each."""

    def __init__(self, model: keras.Model, manifest: Manifest):
        self.window, embedding = window_of(model), model.get_layer("embedding")
        self._run = tf.function(lambda x: embedding(x, None)[0], input_signature=[tf.TensorSpec([None, None, 128])])
        self._mean, self._std = manifest.mean, manifest.std
        self._mels = [clip.mel for split in SPLITS for clip in manifest.read_clips(split)]
        clips = [len(np.arange(*self._range(mel))) for mel in self._mels]
        self._of = np.array([(i, j) for i, mel in enumerate(self._mels) for j in np.arange(*self._range(mel))])
        self.is_test = self._of[:, 0] >= len(clips) - manifest.clips("test")  # SPLITS ends with it

    def __len__(self) -> int:
        return len(self._of)

    def _range(self, mel: np.ndarray) -> tuple[int, int, int]:
        return self.window + spec.WINDOW_HOPS - 1, len(mel) - self.window, STEP

    def embed(self, side: str, places: np.ndarray) -> np.ndarray:
        """What ends, or what begins, at places: [P] -> float32 [P, W, C]."""
        back = self.window + spec.WINDOW_HOPS - 1 if side == "end" else 0
        cut = [self._mels[i][j - back : j - back + self.window] for i, j in self._of[places]]
        return self._run((np.stack(cut).astype(np.float32) - self._mean) / self._std).numpy()

    def vectors(self, side: str) -> list[np.ndarray]:
        """Mean of the frames next to every cut, of length 1, for each of NEXT_TO_CUT: -> float32 [P, C] each."""
        found: list[list[np.ndarray]] = [[] for _ in NEXT_TO_CUT]
        for part in tqdm(np.array_split(np.arange(len(self)), len(self) // 256), f"embed the {side}s", unit="batch"):
            frames = self.embed(side, part)
            for kept, count in zip(found, NEXT_TO_CUT, strict=True):
                mean = (frames[:, -count:] if side == "end" else frames[:, :count]).mean(axis=1)
                kept.append(mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-6))
        return [np.concatenate(kept) for kept in found]


def recall(ends: np.ndarray, beginnings: np.ndarray, queries: np.ndarray) -> float:
    """Share of queries whose true next place is among the nearest: [P, C], [P, C], [Q]."""
    scores = ends[queries] @ beginnings.T
    own = scores[np.arange(len(queries)), queries]
    return float(np.mean((scores > own[:, None]).sum(axis=1) < NEAREST))


def full_shares(model: keras.Model, places: Places, queries: np.ndarray) -> np.ndarray:
    """For each query the share of random places that the network scores higher than the true one: -> [Q]."""
    comparison = model.get_layer("comparison")
    score = tf.function(lambda a, b: tf.nn.softmax(comparison([a, b], None))[:, 1], reduce_retracing=True)
    others = rng_for(0, "others").choice(len(places), FULL_PLACES, replace=False)
    beginnings = np.concatenate([places.embed("beginning", part) for part in np.array_split(others, 8)])
    found = []
    for query in tqdm(queries, "full scoring", unit="query"):
        end, own = (tf.constant(places.embed(side, np.array([query]))) for side in ("end", "beginning"))
        scores = [score(tf.repeat(end, len(part), axis=0), part) for part in np.array_split(beginnings, 16)]
        found.append(float(np.mean((np.concatenate(scores) > score(end, own).numpy()) & (others != query))))
    return np.array(found)


def main(run_folder: str, data: str) -> None:
    manifest = Manifest.read(data)
    model = read_model(Path(run_folder) / "best.keras")
    places = Places(model, manifest)
    queries = rng_for(0, "queries").choice(np.flatnonzero(places.is_test), 1_000, replace=False)
    total = len(places)
    rows = []
    for frames, ends, beginnings in zip(NEXT_TO_CUT, places.vectors("end"), places.vectors("beginning"), strict=True):
        found = recall(ends, beginnings, queries)
        rows.append([f"index, mean of the {frames} frames next to the cut", total, len(queries), round(found, 3)])
    shares = full_shares(model, places, queries[:FULL_QUERIES])
    rows.append(
        ["full scoring by the network", total, FULL_QUERIES, round(float(np.mean(shares * total < NEAREST)), 3)]
    )
    header = ["method", "places", "queries", f"recall in the top {NEAREST}", "median rank", "corpus", "commit"]
    middle = [""] * len(NEXT_TO_CUT) + [f"{np.median(shares) * total:.0f}"]
    name = manifest.content["corpus"]["name"]
    rows = [[*row, rank, name, commit()] for row, rank in zip(rows, middle, strict=True)]
    with whole_file(TABLE) as partial, open(partial, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(TABLE.read_text())


if __name__ == "__main__":
    main(*sys.argv[1:])
