"""The report: one page that works from a file, with tables, puzzles to hear and to play, and a listening test."""
