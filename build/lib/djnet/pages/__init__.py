"""Pages for a browser: templates, scripts and styles that the puzzle, the medley and the report share."""
