"""Protocols and generated worlds."""
