"""Jobs that train, evaluate, draw, and make medleys."""
