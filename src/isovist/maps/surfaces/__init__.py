"""Maps of segments and of triangles."""
