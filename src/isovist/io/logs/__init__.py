"""Drives from files, and to files."""
