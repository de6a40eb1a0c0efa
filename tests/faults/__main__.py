"""Break things for a while and count: `python -m stress [minutes]`.

Every fault is followed by the same command again, and what comes out must be what an undisturbed run gives. A fault is
survived if it was noticed, named in one line, and nothing is missing afterwards; everything else is lost.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from djnet.rng import rng_for
from tests.faults.faults import Bench

AT_LEAST_TURNS = 2  # of every fault
AT_LEAST_AUDIO = 10_000


def main(minutes: float = 10.0) -> int:
    """Inject faults until the time is over and there were enough of each; -> how many were lost."""
    injected, survived = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="djnet-stress-") as folder:
        bench = Bench(Path(folder))
        end, turn = time.monotonic() + 60 * minutes, 0
        faults = bench.faults
        while time.monotonic() < end or turn < AT_LEAST_TURNS * len(faults) or bench.fuzzed["audio"] < AT_LEAST_AUDIO:
            in_time = time.monotonic() < end or turn < AT_LEAST_TURNS * len(faults)
            fault = faults[turn % len(faults)] if in_time else bench.fuzz_audio
            name = fault.__name__
            for was_survived in fault(rng_for(0, "stress", turn)):
                injected[name] += 1
                survived[name] += bool(was_survived)
            turn += 1
            print(f"{name}: {injected[name]} faults, {injected[name] - survived[name]} lost", flush=True)
    print("\n| fault | injected | survived | lost |\n|---|---|---|---|")
    for name in sorted(injected):
        print(f"| {name.replace('_', ' ')} | {injected[name]} | {survived[name]} | {injected[name] - survived[name]} |")
    lost = injected.total() - survived.total()
    print(f"| all | {injected.total()} | {survived.total()} | {lost} |")
    return lost


if __name__ == "__main__":
    sys.exit(1 if main(*map(float, sys.argv[1:2])) else 0)
