"""Speed, always as a ratio against the plain way in the same run: `make bench`."""
