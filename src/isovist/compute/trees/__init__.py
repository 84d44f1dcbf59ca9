"""Build trees of boxes over triangles and segments."""
