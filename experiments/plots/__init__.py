"""Figures: charts of tables and training, pictures of puzzles and networks."""
