"""Trained networks, ready to score fragments: those shipped with the package, a run folder, or the authors' checkpoint.

Shipped networks run in NumPy (weights.npz). A run folder that has only best.keras and a checkpoint of
TensorFlow 1 need TensorFlow.
"""

import contextlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np

from djnet import audio
from djnet.constants import MEL_BINS, hops_to_seconds
from djnet.cuts import frame_range
from djnet.errors import UserError
from djnet.features import SHORTEST_SAMPLES, log_mel
from djnet.files import read_json, require_shape
from djnet.networks import inference
from djnet.ordering import Order, best_order
from djnet.puzzles import Puzzle
from djnet.records import moments

if TYPE_CHECKING:
    import keras

Fragment = str | Path | np.ndarray  # a music file, or a log-mel [t, 128]

WEIGHTS = Path(__file__).parent / "weights"
SHORTEST_FRAMES = 11  # a quarter of a second
_LARGEST_TEXT_BYTES = 10 << 20  # of a network's description: a thousand times what ours have
_LARGEST_BYTES = 1 << 30  # of its weights


class ModelError(UserError):
    """A model file that cannot be used: which one, and why."""


@dataclass(frozen=True)
class Scorer:
    """A pairwise network with mean and standard deviation that its features are normalised by."""

    network: Union[inference.Sen, "keras.Model"]
    mean: np.ndarray  # of log-mel, [128]
    std: np.ndarray
    protocol: str = "centred"  # that it was trained with
    folder: Path | None = None  # that it was read from
    window: str = "hamming"  # of its features

    @cached_property
    def model(self) -> "keras.Model":
        """The network as a Keras model, which needs TensorFlow."""
        if isinstance(self.network, inference.Sen):
            from djnet.networks.models import from_numpy

            return from_numpy(self.network)
        return self.network

    def scores(self, fragments: Sequence[Fragment], wanted: np.ndarray | None = None) -> np.ndarray:
        """How well each fragment follows each other one: n files or log-mels [t_i, 128] -> float32 [n, n], in [0, 1].

        Row a, column b holds the probability that b follows a; the diagonal is 0. Log-mels are those of
        `features.log_mel` with the scorer's window; a network that was trained without the frames at the edges does
        not get them. With `wanted`, bool [n, n], the scores of other pairs are not needed, and may be 0.
        """
        if isinstance(fragments, (str, Path)) or not len(fragments):
            raise UserError("There is nothing to score: give a list of music files or of log-mels [frames, 128].")
        mels = [_as_mel(fragment, number, self.window) for number, fragment in enumerate(fragments)]
        if self.protocol == "trimmed":
            mels = [mel[slice(*frame_range(0, len(mel) - 1, "trimmed"))] for mel in mels]
        if isinstance(self.network, inference.Sen):
            return self.network.scores([(mel - self.mean) / self.std for mel in mels], wanted)
        from djnet.scoring import score_puzzles  # imports TensorFlow

        puzzle = Puzzle("", mels, tuple(range(len(mels))))
        (scores,) = score_puzzles(self.network, [puzzle], self.mean, self.std)
        return scores

    def order(self, fragments: Sequence[Fragment], first: int | None = None, last: int | None = None) -> Order:
        """The order with the highest sum of scores: n files or log-mels [t_i, 128] -> Order(order, value, bound)."""
        return best_order(self.scores(fragments), first, last)


def _as_mel(fragment: Fragment, number: int, window: str) -> np.ndarray:
    """The log-mel [t, 128] of a fragment; a UserError says what is wrong with it."""
    if isinstance(fragment, (str, Path)):
        samples = audio.load(fragment)
        mel = log_mel(samples, window) if len(samples) >= SHORTEST_SAMPLES else np.zeros((0, MEL_BINS), np.float32)
        named = str(fragment)
    else:
        mel, named = np.asarray(fragment), f"Fragment {number}"
    if mel.ndim != 2 or mel.shape[1] != MEL_BINS or not np.issubdtype(mel.dtype, np.number):
        raise UserError(
            f"{named} is an array of shape {mel.shape}, not a log-mel [frames, {MEL_BINS}]: "
            "give a file's path, or djnet.features.log_mel(samples) of mono samples at 22,050 Hz."
        )
    if len(mel) < SHORTEST_FRAMES:
        seconds = hops_to_seconds(SHORTEST_FRAMES - 1)
        raise UserError(
            f"{named} has {len(mel)} frames, and {SHORTEST_FRAMES} are the fewest ({seconds:.2f} s of music)."
        )
    if not np.isfinite(mel).all():
        raise UserError(f"{named} has values that are no numbers (NaN or infinite).")
    return mel


def names() -> list[str]:
    """The networks that are shipped."""
    return sorted(path.parent.name for path in WEIGHTS.glob("*/run.json"))


def load(name: str | Path) -> Scorer:
    """A shipped network by its name, such as "sen-downbeat", or by a folder's path: a run's, or a checkpoint's.

    A checkpoint is that of the paper's authors, in TensorFlow 1: `networks/release.py`.
    """
    folder = WEIGHTS / name if name in names() else Path(name).expanduser()
    weights = weights_of(folder)
    if not (folder / "run.json").exists() and any(folder.glob("*.index")):
        return _load_release(folder)
    if weights is None or not (folder / "run.json").exists():
        shipped = ", ".join(names()) or "none"
        raise FileNotFoundError(
            f"{name} is neither a network of the package ({shipped}) nor a folder of a run or of a checkpoint."
        )
    path = folder / "run.json"
    facts = read_json(path, {})
    if "mean" not in facts:
        raise ValueError(f"{path} has no mean of the features: the run is of an older version.")
    require_shape(facts, {"run": {"protocol": str}}, path)
    mean, std = moments(facts, path)
    protocol = {"isolated": "trimmed"}.get(facts["run"]["protocol"], facts["run"]["protocol"])
    network = read_network(weights) if weights.suffix == ".npz" else read_model(weights)
    return Scorer(network, mean, std, protocol, folder)


def weights_of(folder: Path) -> Path | None:
    """The file that holds a network's weights: weights.npz, as shipped networks have it, or best.keras."""
    return next((folder / file for file in ("weights.npz", "best.keras") if (folder / file).exists()), None)


def _load_release(folder: Path) -> Scorer:
    """The network of the paper's authors from their checkpoint."""
    try:
        from djnet.networks import release
    except ModuleNotFoundError as error:
        raise ModelError(f"{folder} needs {error.name}, which is not installed: pip install 'djnet[train]'") from error
    return Scorer(release.read(folder), *release.moments(), "centred", folder, release.WINDOW)


def _check_sizes(path: Path) -> None:
    """Refuse a .keras file, which is a zip, whose parts would fill the memory: Keras reads them whole."""
    with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as parts:  # Keras says that better
        for part in parts.infolist():
            largest = _LARGEST_BYTES if part.filename.endswith(".h5") else _LARGEST_TEXT_BYTES
            if part.file_size > largest:
                raise ModelError(f"{path} is not loaded: {part.filename} in it has {part.file_size / 1e6:.0f} MB.")


def read_network(path: Path) -> inference.Sen:
    """A network for NumPy from a .npz file."""
    try:
        return inference.read(path)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ModelError(f"{path} is not loaded: it is damaged, or not a network of djnet ({error}).") from error


def read_model(path: Path) -> "keras.Model":
    """A Keras model from a .keras file, in safe mode (one that holds code is refused), or from weights.npz."""
    _check_sizes(path)
    try:
        import keras

        from djnet.networks.models import from_numpy  # registers the layers that a saved model is made of
    except ModuleNotFoundError as error:
        raise ModelError(f"{path} needs {error.name}, which is not installed: pip install 'djnet[train]'") from error
    if path.suffix == ".npz":
        return from_numpy(read_network(path))
    try:
        return keras.models.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # a damaged file can make Keras, HDF5 and zipfile say almost anything
        said = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is not loaded: it is damaged, or not a network of djnet ({said}).") from error
