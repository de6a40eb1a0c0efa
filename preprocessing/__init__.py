"""Jobs that turn music into records."""

from djnet.cli import job

job.require_training()
