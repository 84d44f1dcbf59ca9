"""Arrays on disk: atomic folders, checksums, partial reads, object storage."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
