"""Bound the score of every pose in a box."""
