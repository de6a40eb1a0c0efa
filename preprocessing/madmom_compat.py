"""madmom 0.16.1 on a current Python and NumPy: the names that it misses are put back before it is imported.

Nothing else of djnet imports madmom. Models and filters are read from the installed package at run time.
"""

import collections
import collections.abc
import importlib
import warnings
from types import ModuleType

import numpy as np


class MadmomMissingError(RuntimeError):
    """madmom is not installed; the message says how to build it."""


def madmom(name: str) -> ModuleType:
    """Import a module of madmom: `madmom("features.downbeats")`."""
    for module, missing, value in (
        (collections, "MutableSequence", collections.abc.MutableSequence),
        (np, "float", float),
        (np, "int", int),
    ):
        if missing not in vars(module):
            setattr(module, missing, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pkg_resources, invalid escapes
            return importlib.import_module(f"madmom.{name}")
    except ImportError as error:
        raise MadmomMissingError(
            f"Downbeats need madmom, which cannot be imported ({error}). Build it with: make madmom. "
            "Fixed-length games work without it (--nodownbeats)."
        ) from error
