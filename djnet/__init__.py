"""djnet: puts pieces of music in order.

The library takes arguments and returns values; jobs with flags live in `preprocessing` and `experiments`.
"""

__version__ = "0.1.0"
