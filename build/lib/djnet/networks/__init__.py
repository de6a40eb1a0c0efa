"""The networks of the paper: their sizes, layers and models."""
