"""Ranges and descriptors of many cells at once."""
