"""Bases that are fitted to a map."""
