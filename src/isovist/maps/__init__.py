"""Maps of cells, segments, voxels and triangles: rays, distances, free space."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
