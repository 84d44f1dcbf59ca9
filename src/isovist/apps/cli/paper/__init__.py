"""Commands of the reference paper."""
