"""Define the values that stand for what a channel of a descriptor does not know."""

FAR = 1.0e3
"""Value of an unknown channel: larger than the logarithm of any range."""


MAJORITY = 0.5 - 1e-5
"""Minimum known share of a channel that counts: half, less a margin for rounding."""
