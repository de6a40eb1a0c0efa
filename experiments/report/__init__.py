"""The report: two pages that work from files, one for visitors, with puzzles to play, and one with the results."""
