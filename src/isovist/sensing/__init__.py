"""Scans, the sensors that take them, and logs of them."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
