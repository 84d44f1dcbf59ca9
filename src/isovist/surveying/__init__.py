"""Find out where on a site a sensor can be localized."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
