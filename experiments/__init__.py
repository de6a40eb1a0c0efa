"""Jobs that train, evaluate, draw, and make medleys."""

from djnet.cli import job

job.require_training()
