"""What went wrong, in words for the person at the keyboard."""

import re

# Control characters, ends of lines and of paragraphs, changes of direction, and bytes of a name that is not UTF-8.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class UserError(ValueError):
    """Something that the user can put right; the message says how. Commands show it as one line, no traceback."""


def shown(text: str) -> str:
    """A name or a message as it may be shown: characters that a terminal would obey are written as escapes."""
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
