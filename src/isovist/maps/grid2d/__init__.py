"""2D maps of cells."""
