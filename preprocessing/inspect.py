"""The old name of `python -m preprocessing.check_records`."""

from djnet.cli import job
from preprocessing.check_records import define_flags, main

if __name__ == "__main__":
    job.run(main, define_flags, "DATA")
