"""The old place of `djnet.networks.models`."""

from djnet.networks.models import MODELS, build

__all__ = ["MODELS", "build"]
