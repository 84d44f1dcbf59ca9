"""Scans from files, and to files."""
