"""The descriptor F(p) of a place, and its Jacobian J(p)."""
