"""Where to drive, so that one place is left."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
