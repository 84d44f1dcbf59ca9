"""Parts that the server and the studio share: access, limits, request fields, uploads, streams."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
