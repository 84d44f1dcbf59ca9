"""Poses worth fitting: ever more of them, best first, with a bound on the rest."""
