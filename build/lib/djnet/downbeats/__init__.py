"""Beats and downbeats: madmom's results at a fraction of the cost."""
