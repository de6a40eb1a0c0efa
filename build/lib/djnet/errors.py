"""What went wrong, in words for the person at the keyboard."""


class UserError(ValueError):
    """Something that the user can put right; the message says how. Commands show it as one line, no traceback."""
