"""The old name of `python -m experiments.plots`."""

from djnet.cli import job
from experiments.plots.__main__ import define_flags, main

if __name__ == "__main__":
    job.run(main, define_flags)
