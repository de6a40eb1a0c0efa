"""Medleys: from songs to one mix. The package itself can be called: `djnet.medley(files, "medley.mp3")`."""

import importlib
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return importlib.import_module("djnet.cli.call").medley(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
