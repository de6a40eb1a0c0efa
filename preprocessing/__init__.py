"""Jobs that turn music into records."""
