"""Access, origin, limits, uploads and streams, shared by server and studio."""
