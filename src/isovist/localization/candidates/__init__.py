"""Candidate poses: search all poses of a map, best first, with a lower bound on the rest."""
