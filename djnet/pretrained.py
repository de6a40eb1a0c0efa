"""Trained networks, ready to score fragments: those shipped with the package, or a run folder of one's own."""

import contextlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

import djnet.networks.models  # noqa: F401  (registers the layers that a saved model is made of)
from djnet.cuts import frame_range
from djnet.errors import UserError
from djnet.files import read_json, require_shape
from djnet.puzzles import Puzzle
from djnet.records import moments
from djnet.scoring import score_puzzles

WEIGHTS = Path(__file__).parent / "weights"
_LARGEST_TEXT_BYTES = 10 << 20  # of a network's description: a thousand times what ours have
_LARGEST_BYTES = 1 << 30  # of its weights


class ModelError(UserError):
    """A model file that cannot be used: which one, and why."""


@dataclass(frozen=True)
class Scorer:
    """A pairwise network with mean and standard deviation that its features are normalised by."""

    model: keras.Model
    mean: np.ndarray  # of log-mel, [128]
    std: np.ndarray
    protocol: str = "centred"  # that it was trained with

    def scores(self, mels: Sequence[np.ndarray]) -> np.ndarray:
        """How well each fragment follows each other one: n log-mels [t_i, 128] -> float32 [n, n], in [0, 1].

        Row a, column b holds the probability that b follows a; the diagonal is 0. Log-mels are those of
        `features.log_mel`; a network that was trained without the frames at the edges does not get them.
        """
        if self.protocol == "trimmed":
            mels = [mel[slice(*frame_range(0, len(mel) - 1, "trimmed"))] for mel in mels]
        puzzle = Puzzle("", list(mels), tuple(range(len(mels))))
        (scores,) = score_puzzles(self.model, [puzzle], self.mean, self.std)
        return scores


def names() -> list[str]:
    """The networks that are shipped."""
    return sorted(path.parent.name for path in WEIGHTS.glob("*/run.json"))


def load(name: str | Path) -> Scorer:
    """A shipped network by its name, such as "sen-downbeat", or the best weights of a run folder by its path."""
    folder = WEIGHTS / name if name in names() else Path(name).expanduser()
    if not (folder / "best.keras").exists() or not (folder / "run.json").exists():
        shipped = ", ".join(names()) or "none"
        raise FileNotFoundError(f"{name} is neither a network of the package ({shipped}) nor a folder of a run.")
    path = folder / "run.json"
    facts = read_json(path, {})
    if "mean" not in facts:
        raise ValueError(f"{path} has no mean of the features: the run is of an older version.")
    require_shape(facts, {"run": {"protocol": str}}, path)
    mean, std = moments(facts, path)
    protocol = {"isolated": "trimmed"}.get(facts["run"]["protocol"], facts["run"]["protocol"])
    return Scorer(read_model(folder / "best.keras"), mean, std, protocol)


def _check_sizes(path: Path) -> None:
    """Refuse a .keras file, which is a zip, whose parts would fill the memory: Keras reads them whole."""
    with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as parts:  # Keras says that better
        for part in parts.infolist():
            largest = _LARGEST_BYTES if part.filename.endswith(".h5") else _LARGEST_TEXT_BYTES
            if part.file_size > largest:
                raise ModelError(f"{path} is not loaded: {part.filename} in it has {part.file_size / 1e6:.0f} MB.")


def read_model(path: Path) -> keras.Model:
    """A network from a .keras file, in safe mode: a file that holds code is refused."""
    _check_sizes(path)
    try:
        return keras.models.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # a damaged file can make Keras, HDF5 and zipfile say almost anything
        said = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is not loaded: it is damaged, or not a network of djnet ({said}).") from error
