"""Follow a robot through many scans."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
