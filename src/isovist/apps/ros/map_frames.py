"""Find which of several maps Nav2 has loaded, and the frame of poses on each.

Nav2 has one map at a time, the one on the topic of map_server, and calls its frame `map` whichever
map that is. So a pose is published in that frame only while its map is the loaded one. Otherwise it
is published in a frame with the name of its map, which AMCL ignores.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.settings import NODE
from isovist.errors import InputError
from isovist.localization import AnyMaps
from isovist.maps import OccupancyMap

UNKNOWN_MAP = "The map on {} is none of the given ones, or equals several of them."


class MapFrames:
    """Frames of several maps, and the name of the loaded one.

    Attributes:
        name: Name of the loaded map; `None` while it is not known, or if there is one map.
        has_several: Whether there are several maps.
    """

    def __init__(self, frame: str) -> None:
        """Take the frame of the loaded map."""
        self.frame = frame
        self.name: str | None = None
        self._maps: Mapping[str, Any] = {}

    def set_maps(self, maps: AnyMaps) -> None:
        """Replace the named maps; none of them is loaded at first."""
        self._maps = maps if isinstance(maps, Mapping) else {}
        self.name = None
        if self.frame in self._maps:
            raise InputError(
                f"A map is called {self.frame!r}, like the frame of the loaded map. "
                "Rename it, or set `map_frame`.",
                code="conflict",
                field="map_frame",
            )

    @property
    def has_several(self) -> bool:
        """True if there are several maps."""
        return len(self._maps) > 0

    def identify(self, world: OccupancyMap) -> bool:
        """Find which of the maps was loaded; return whether it changed."""
        shares = {name: _equal_share(world, atlas.world) for name, atlas in self._maps.items()}
        best = [name for name, share in shares.items() if share == max(shares.values())]
        is_certain = len(best) == 1 and shares[best[0]] >= NODE.min_equal_cells
        previous, self.name = self.name, best[0] if is_certain else None
        return self.name != previous

    def frame_of(self, name: str | None) -> str:
        """Return the frame in which poses on a map are given."""
        return self.frame if name is None or name == self.name else name

    def is_other_loaded(self, name: str | None) -> bool:
        """Return whether another map than the given one is loaded."""
        return name is not None and self.name is not None and name != self.name

    def pose_of(self, message: Any) -> tuple[Any, Any, str | None]:
        """Return pose, covariance and map of a PoseWithCovarianceStamped, or raise an error."""
        pose, covariance = messages.pose_of(message)
        if not self.has_several:
            return pose, covariance, None
        frame = message.header.frame_id
        name = self.name if frame == self.frame else frame
        if name is None:
            raise InputError(
                f"It is in {frame!r}, and the loaded map is unknown.",
                code="missing",
                field="frame_id",
            )
        if name not in self._maps:
            raise InputError(f"It is in {frame!r}, not in the frame of a map.", field="frame_id")
        return pose, covariance, name


def _equal_share(a: OccupancyMap, b: Any) -> float:
    """Return the share of equal cells of two maps; 0 if their grids differ."""
    if not isinstance(b, OccupancyMap) or a.shape != b.shape:
        return 0.0
    step = np.abs(a.origin.inverse.apply(b.origin.position)).max()
    off = max(float(step) / b.resolution, abs(a.resolution / b.resolution - 1.0) * max(a.shape))
    return 0.0 if off > 0.5 else float((a.cells == b.cells).mean())
