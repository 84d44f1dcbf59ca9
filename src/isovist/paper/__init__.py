"""The reference paper: its descriptor, its theorems, its localizer."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
