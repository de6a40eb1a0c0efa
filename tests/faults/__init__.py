"""Faults on purpose: `make stress`. What is broken here must be noticed, named and repaired; nothing may be lost."""
