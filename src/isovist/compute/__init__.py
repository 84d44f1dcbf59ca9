"""Run compiled loops, on the processor or on a graphics card."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
