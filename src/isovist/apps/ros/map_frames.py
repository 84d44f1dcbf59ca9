"""Which of several maps the robot has loaded, and in which frame a pose on each is told.

Nav2 has one map at a time, the one on the topic of map_server, and calls its frame `map` whichever
map that is.  So a pose on one of several maps is told in that frame only while its map is the one
that is loaded; else in a frame of the map's own name, which AMCL leaves alone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isovist.apps.ros import messages
from isovist.errors import InputError
from isovist.localization.maps import AnyMaps
from isovist.maps.grid2d.occupancy_map import OccupancyMap

ALIKE = 0.99
"""Least share of equal cells of a map on the topic and one of ours."""
STRANGER = "The map on {} is none of those given, or like several of them."


class Loaded:
    """Frames of several maps, and which of the maps is loaded.

    Attributes:
        name: Name of the loaded map; `None` while it is not known, or if there is one map.
        several: Whether there are several maps.
    """

    def __init__(self, frame: str) -> None:
        """With the frame of whatever map is loaded."""
        self.frame = frame
        self.name: str | None = None
        self._maps: Mapping[str, Any] = {}

    def take(self, maps: AnyMaps) -> None:
        """Replace the maps; which of them is loaded is then unknown."""
        self._maps = maps if isinstance(maps, Mapping) else {}
        self.name = None
        if self.frame in self._maps:
            raise InputError(
                f"A map is called {self.frame!r}, as the frame of the map that is loaded is. "
                "Rename it, or set `map_frame`.",
                code="conflict",
                field="map_frame",
            )

    @property
    def several(self) -> bool:
        return len(self._maps) > 0

    def heard(self, world: OccupancyMap) -> bool:
        """Find which of the maps was loaded; return whether it is another than before."""
        shares = {name: _alike(world, atlas.world) for name, atlas in self._maps.items()}
        best = [name for name, share in shares.items() if share == max(shares.values())]
        before, known = self.name, len(best) == 1 and shares[best[0]] >= ALIKE
        self.name = best[0] if known else None
        return self.name != before

    def frame_of(self, name: str | None) -> str:
        """Return the frame in which poses on a map are given."""
        return self.frame if name is None or name == self.name else name

    def hides(self, name: str | None) -> bool:
        """Return whether another map than the given one is loaded."""
        return name is not None and self.name is not None and name != self.name

    def pose_of(self, message: Any) -> tuple[Any, Any, str | None]:
        """Return pose, covariance and map of a PoseWithCovarianceStamped, or raise an error."""
        pose, covariance = messages.pose_of(message)
        if not self.several:
            return pose, covariance, None
        frame = message.header.frame_id
        name = self.name if frame == self.frame else frame
        if name is None:
            raise InputError(
                f"It is in {frame!r}, and which map is loaded is not known.",
                code="missing",
                field="frame_id",
            )
        if name not in self._maps:
            raise InputError(f"It is in {frame!r}, which is no map's frame.", field="frame_id")
        return pose, covariance, name


def _alike(a: OccupancyMap, b: Any) -> float:
    """Share of equal cells of two maps; 0 where their grids differ."""
    if not isinstance(b, OccupancyMap) or a.shape != b.shape:
        return 0.0
    step = np.abs(a.origin.inverse.apply(b.origin.position)).max()
    off = max(float(step) / b.resolution, abs(a.resolution / b.resolution - 1.0) * max(a.shape))
    return 0.0 if off > 0.5 else float((a.cells == b.cells).mean())
