"""The report: one page that works from a file, with the tables, puzzles to hear and to play, and a listening test."""
