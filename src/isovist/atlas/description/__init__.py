"""How the nodes of a map are described."""
