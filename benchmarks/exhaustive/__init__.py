"""Exhaustive search: what brute force would say of a place."""
