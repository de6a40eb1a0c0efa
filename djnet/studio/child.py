"""Analyses songs in a process of its own, with a limit of memory: `python -m djnet.studio.child CACHE`.

A path as JSON on each line of standard input; on standard output, a line with why it cannot be a song, or "".
"""

import json
import os
import resource
import sys
from pathlib import Path

MEMORY_BYTES = 6 << 30


def main() -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)  # whoever listens to a join comes first
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # nothing else gets among the answers
    from djnet.medley import analysis

    cache = Path(sys.argv[1])
    for line in sys.stdin:
        _, skipped = analysis.analyse([json.loads(line)], cache, workers=1)
        print(json.dumps(skipped[0].reason if skipped else ""), file=answers, flush=True)


if __name__ == "__main__":
    main()
