"""What licences allow, by their names alone: a custom one that would have to be read counts as no."""

import re

_FREE = re.compile(r"(CC0|CC-BY(-SA)?-\d|public[- ]domain|L?GPL|GFDL|Expat|MIT|BSD|zlib|Free-Art)", re.IGNORECASE)
_NONCOMMERCIAL = re.compile(r"CC-BY-NC(-SA)?-\d", re.IGNORECASE)


def may_be_published(licence: str) -> bool:
    """Whether anybody may pass a recording on, in parts and changed too, when it is credited."""
    return bool(_FREE.match(licence))


def is_noncommercial(licence: str) -> bool:
    """Whether the same holds, but only where nothing is earned by it."""
    return bool(_NONCOMMERCIAL.match(licence))
