"""What is wrong with a music file."""

from pathlib import Path

from djnet.errors import UserError


class AudioError(UserError):
    """A file that cannot be used, with the reason in words for a person."""

    def __init__(self, path: str | Path, reason: str):
        super().__init__(path, reason)
        self.path, self.reason = str(path), reason

    def __str__(self) -> str:
        return f"{self.path!r}: {self.reason}"
