"""Trees of boxes over triangles."""
