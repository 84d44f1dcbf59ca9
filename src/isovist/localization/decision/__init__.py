"""Decide on a verdict from scored places, and whether to search on."""
