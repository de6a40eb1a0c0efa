"""The SEN that the paper's authors released: a TensorFlow 1 checkpoint -> a Keras model of the preset `release`.

The checkpoint's variables are read by their names; nothing of the graph beside them is read or run. `WINDOW` and
`moments` say which features it wants: Hann window, and the mean and deviation of the authors' own training set.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from djnet.errors import UserError
from djnet.networks.models import build

WINDOW = "hann"
# The authors' names for what batch normalisation keeps, and ours.
_NORM = {"gamma": "gamma", "beta": "beta", "moving_mean": "mean", "moving_variance": "variance"}


def moments() -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each mel bin that the authors normalise by: float32 [128] each."""
    with open(Path(__file__).with_name("release_moments.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    mean, std = (np.array([row[name] for row in rows], np.float32) for name in ("mean", "std"))
    return mean, std


def read(folder: Path) -> keras.Model:
    """The network in a folder with a checkpoint (NAME.index, NAME.data-...); a UserError says what is wrong there."""
    indices = sorted(folder.glob("*.index"))
    if len(indices) != 1:
        raise UserError(f"{folder} should hold one checkpoint and holds {len(indices)}: leave one NAME.index there.")
    prefix = indices[0].with_suffix("")
    if not any(folder.glob(f"{prefix.name}.data-*")):
        raise UserError(f"{prefix}.data-00000-of-00001 is missing: the weights belong beside {indices[0].name}.")
    model = build("sen", "release")
    wanted = list(_variables(model))
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}
        stored = {name: reader.get_tensor(name) for name, shape, _ in wanted if shapes.get(name) == shape}
    except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
        said = " ".join(str(error).split())[:200]
        raise UserError(f"{prefix} is not a checkpoint that can be read ({said}).") from error
    for name, shape, variable in wanted:
        if name not in shapes:
            raise UserError(f"{prefix} has no variable {name}, which should be {_shown(shape)}.")
        if name not in stored:
            raise UserError(f"{prefix}: the variable {name} is {_shown(shapes[name])} and should be {_shown(shape)}.")
        if not np.isfinite(stored[name]).all():
            raise UserError(f"{prefix}: the variable {name} has values that are no numbers (NaN or infinite).")
        variable.assign(stored[name].reshape(variable.shape))
    return model


def _variables(model: keras.Model) -> Iterator[tuple[str, tuple[int, ...], Any]]:
    """Every variable of the checkpoint: its name, its shape there, and the weight of the model that it is."""
    embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")
    layers = [
        *[(_numbered("cnn/Conv", i), block.kernel, block.normalise) for i, block in enumerate(embedding.blocks)],
        *[(_numbered("Conv", i), block.kernel, block.normalise) for i, block in enumerate(comparison.blocks)],
        *[
            (_numbered("fully_connected", i), dense.kernel, norm)
            for i, (_, dense, norm) in enumerate(comparison.classifier.steps)
        ],
    ]
    for name, kernel, norm in layers:
        shape = tuple(kernel.shape)
        if name.startswith("cnn/"):  # a 2D convolution there, whose first layer sees all mel bins as one place
            size, channels, filters = shape
            shape = (size, channels, 1, filters) if name == "cnn/Conv" else (size, 1, channels, filters)
        yield f"{name}/weights", shape, kernel
        for theirs, ours in _NORM.items():
            yield f"{name}/BatchNorm/{theirs}", shape[-1:], getattr(norm, ours)


def _numbered(name: str, i: int) -> str:
    """TensorFlow 1's name of the i-th layer of a kind."""
    return f"{name}_{i}" if i else name


def _shown(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a single number"
