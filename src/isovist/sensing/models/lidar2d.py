"""A simulated 2D lidar: rays, noise, missing returns and clutter."""

from dataclasses import dataclass

import numpy as np

from isovist.errors import InputError
from isovist.maps import Map
from isovist.poses import AnyPose, unit_vectors
from isovist.sensing.models.beams import (
    check_beams,
    check_faults,
    check_view,
    measured_intensities,
    simulated_ranges,
)
from isovist.sensing.models.spinning import SpinningLidar
from isovist.sensing.scan import Scan


@dataclass(frozen=True, slots=True)
class Lidar:
    """A simulated 2D lidar.

    Attributes:
        field_of_view: Field of view in rad; 2π is a full turn.
        beams: Number of beams.
        range_max: Maximum range in m; longer beams return nothing.
        noise: Standard deviation of a range, in m.
        clutter: Share of beams that end early at something that is not on the map.
        range_min: Minimum range, in m.
        spinning: The class of 3D lidars: `Lidar.spinning(32, range_max=20.0)` makes one.

    Examples:
        >>> import isovist as iv
        >>> import numpy as np
        >>> room = iv.SegmentMap.room(6.0, 4.0)
        >>> lidar = iv.Lidar(beams=4, range_max=10.0, noise=0.0)
        >>> scan = lidar.scan(room, iv.Pose(1.0, 2.0), np.random.default_rng(0))
        >>> scan.distances.round(3).tolist()
        [1.0, 2.0, 5.0, 2.0]
    """

    field_of_view: float = 2.0 * np.pi
    beams: int = 360
    range_max: float = 30.0
    noise: float = 0.02
    clutter: float = 0.0
    range_min: float = 0.05
    spinning = SpinningLidar

    def __post_init__(self) -> None:
        check_view(self.field_of_view)
        if self.beams < 1:
            raise InputError(f"A lidar needs at least 1 beam, got {self.beams}.", field="beams")
        check_beams(self.beams)
        check_faults(self)

    def scan(self, world: Map, pose: AnyPose, rng: np.random.Generator) -> Scan:
        """Simulate a scan of a map.

        Where the map has reflectances, the returns have intensities.  A beam that meets no wall
        returns nothing.

        Args:
            world: A 2D map.
            pose: T_world_sensor, in free space.
            rng: Source of the random noise.

        Raises:
            InputError: If the sensor is not in free space.
        """
        if not world.contains([pose.x, pose.y]):
            raise InputError(
                f"The sensor at ({pose.x:g}, {pose.y:g}) is not in free space.",
                code="not_free",
                field="pose",
            )
        full = self.field_of_view >= 2.0 * np.pi - 1e-9
        half = self.field_of_view / 2.0
        bearings = np.linspace(-half, half, self.beams, endpoint=not full)
        hits = world.cast([pose.x, pose.y], unit_vectors(bearings + pose.yaw))
        ranges, is_clutter = simulated_ranges(self, hits, rng)
        with np.errstate(invalid="ignore"):
            ranges = ranges + rng.normal(0.0, self.noise, self.beams)
        strengths = measured_intensities(world, hits, is_clutter, rng)
        return Scan(bearings, ranges, self.range_min, self.range_max, strengths)
