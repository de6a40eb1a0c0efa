"""Medleys: from songs to one mix."""
