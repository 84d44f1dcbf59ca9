"""Answers as words and as JSON."""
