"""Compiled loops; `compiled` says how they are made, `threads` how they share the cores."""
