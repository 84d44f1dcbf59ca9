"""A simulated 3D lidar: rings of beams that turn about the vertical."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.maps import Map
from isovist.poses import AnyPose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.models.beams import (
    check_beams,
    check_faults,
    check_view,
    measured_intensities,
    simulated_ranges,
)


@dataclass(frozen=True, slots=True)
class SpinningLidar:
    """A simulated 3D lidar that spins about the vertical.

    Attributes:
        rings: Number of beams above each other.
        low: Elevation of the lowest beam, in rad.
        high: Elevation of the highest beam, in rad.
        azimuths: Number of shots of each beam per turn, or within the field of view.
        range_max: Maximum range in m; longer beams return nothing.
        noise: Standard deviation of a range, in m.
        clutter: Share of beams that end early at something that is not on the map.
        range_min: Minimum range, in m.
        field_of_view: Horizontal field of view in rad; 2π is a full turn.  A smaller one is centred
            ahead, as of a sensor that does not turn.

    Examples:
        >>> import isovist as iv
        >>> import numpy as np
        >>> hall = iv.MeshMap.box([0.0, 0.0, 0.0], [8.0, 6.0, 3.0])
        >>> scan = iv.SpinningLidar(rings=16, azimuths=90).scan(
        ...     hall, iv.Pose3(4.0, 3.0, z=1.0), np.random.default_rng(0)
        ... )
        >>> scan.points.shape
        (1440, 3)
    """

    rings: int = 16
    low: float = -np.pi / 12.0
    high: float = np.pi / 12.0
    azimuths: int = 900
    range_max: float = 30.0
    noise: float = 0.02
    clutter: float = 0.0
    range_min: float = 0.05
    field_of_view: float = 2.0 * np.pi

    def __post_init__(self) -> None:
        if self.rings < 1 or self.azimuths < 1:
            raise InputError(
                "A spinning lidar needs at least 1 ring and 1 azimuth, "
                f"got {self.rings} and {self.azimuths}.",
                field="rings",
            )
        check_beams(self.rings * self.azimuths)
        if not -np.pi / 2.0 <= self.low <= self.high <= np.pi / 2.0:
            raise InputError.about(
                ("low", "high"),
                "must be elevations in ascending order within ±90°, as ±π/2 rad, "
                f"got {np.degrees(self.low):g}° and {np.degrees(self.high):g}°.",
            )
        check_view(self.field_of_view)
        check_faults(self)

    @property
    def directions(self) -> FloatArray:
        """The unit vectors of the beams in the sensor frame, ring after ring, shape (m, 3)."""
        elevation = np.linspace(self.low, self.high, self.rings)[:, None]
        azimuth = self.field_of_view * np.arange(self.azimuths) / self.azimuths
        if self.field_of_view < 2.0 * np.pi - 1e-9:  # as many to the left as to the right
            azimuth += 0.5 * (self.field_of_view / self.azimuths - self.field_of_view)
        flat = np.cos(elevation)
        up = np.broadcast_to(np.sin(elevation), (self.rings, self.azimuths))
        return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), up], -1).reshape(-1, 3)

    def scan(
        self, world: Map, pose: AnyPose, rng: np.random.Generator, *, tells_tilt: bool = True
    ) -> CloudScan:
        """Simulate a scan of a 3D map.

        Where the map has reflectances, the returns have intensities; the intensity of clutter is
        random. A beam that meets no wall returns nothing.

        Args:
            world: A 3D map.
            pose: T_world_sensor, in free space.
            rng: Source of the random noise.
            tells_tilt: Whether the scan contains roll and pitch, as from an inertial sensor.
        """
        place = Pose3.lifted(pose)
        if world.dimension != 3:
            raise InputError(
                "A spinning lidar needs a 3D map: a VoxelMap or a MeshMap.",
                code="wrong_dimension",
                field="world",
            )
        if not world.contains(place.position):
            raise InputError(
                f"The sensor at ({place.x:g}, {place.y:g}, {place.z:g}) is not in free space.",
                code="not_free",
                field="pose",
            )
        d = self.directions
        hits = world.cast(place.position, d @ place.rotation.T)
        ranges, is_clutter = simulated_ranges(self, hits, rng)
        returned = (ranges > 0.0) & (ranges < self.range_max)
        ranges = np.where(returned, ranges + rng.normal(0.0, self.noise, len(d)), 0.0)
        strengths = measured_intensities(world, hits, is_clutter, rng)
        points, limits = np.maximum(ranges, 0.0)[:, None] * d, (self.range_min, self.range_max)
        roll, pitch = (place.roll, place.pitch) if tells_tilt else (0.0, 0.0)
        return CloudScan(points, strengths, *limits, roll=roll, pitch=pitch)
