"""Files of maps, scans, logs and atlases, and what they hold."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
