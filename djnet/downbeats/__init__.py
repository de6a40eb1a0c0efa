"""Beats and downbeats: madmom's answers at a fraction of the cost."""
