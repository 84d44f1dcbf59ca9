"""A map made ready for searching: descriptors on a grid of nodes, beams and their fits."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
