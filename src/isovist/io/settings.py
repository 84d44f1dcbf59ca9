"""Limits of the files that are read, and thresholds of the checks of recorded drives."""

from dataclasses import dataclass

from isovist.settings import Settings, unvaried

# fmt: off
_BYTES = (1.0, 2.0**50)


@dataclass(frozen=True, slots=True)
class FileLimits(Settings):
    """Set the largest files that are read; larger ones are refused before memory is taken.

    Attributes:
        scan_bytes: Size of a file with one scan.
        scan_set_bytes: Unpacked size of a set of scans (`.npz`).
        intrinsics_bytes: Size of a file with the intrinsics of a depth camera.
        depth_pixels: Number of pixels of a depth image.
        carmen_bytes: Unpacked size of a CARMEN log.
        carmen_line_bytes: Length of a line of a CARMEN log.
        carmen_numbers: Number of readings of a CARMEN log.
        bag_part_bytes: Unpacked size of a chunk of a bag.
        bag_metadata_bytes: Size of the `metadata.yaml` of a bag.
        yaml_bytes: Size of a YAML file.
        plan_bytes: Size of a GeoJSON plan.
        image_pixels: Number of pixels of a map image.
        octomap_bytes: Size of an OctoMap.
        mesh_bytes: Size of a mesh.
        cloud_bytes: Size of a point cloud.
        min_resolution_m: Minimum side of a map cell.
        max_resolution_m: Maximum side of a map cell.
    """

    scan_bytes: int = unvaried(
        64 << 20, unit="bytes", range=_BYTES, raises="larger files are read as one scan")
    scan_set_bytes: int = unvaried(
        2 << 30, unit="bytes", range=_BYTES,
        raises="larger .npz files are unpacked as a set of scans")
    intrinsics_bytes: int = unvaried(
        1 << 20, unit="bytes", range=_BYTES,
        raises="larger files are read as intrinsics of a depth image")
    depth_pixels: int = unvaried(
        64_000_000, unit="1", range=_BYTES,
        raises="larger depth images are read; each pixel takes some dozens of bytes")
    carmen_bytes: int = unvaried(
        2 << 30, unit="bytes", range=_BYTES, raises="longer CARMEN logs are unpacked")
    carmen_line_bytes: int = unvaried(
        1 << 20, unit="bytes", range=_BYTES, raises="longer lines of a CARMEN log are read")
    carmen_numbers: int = unvaried(
        1 << 28, unit="1", range=_BYTES,
        raises="CARMEN logs with more readings are read; each takes 8 bytes")
    bag_part_bytes: int = unvaried(
        1 << 30, unit="bytes", range=_BYTES,
        raises="larger chunks of a bag are unpacked; recorders write some megabytes")
    bag_metadata_bytes: int = unvaried(
        1 << 20, unit="bytes", range=_BYTES,
        raises="larger metadata.yaml are read; a bag with hundreds of topics has 0.1 MB")
    yaml_bytes: int = unvaried(
        65_536, unit="bytes", range=_BYTES,
        raises="larger YAML files are parsed; PyYAML takes up to 2 s for 64 kB")
    plan_bytes: int = unvaried(
        256 << 20, unit="bytes", range=_BYTES, raises="larger GeoJSON plans are read")
    image_pixels: int = unvaried(
        400_000_000, unit="1", range=_BYTES,
        raises="larger map images are read; each pixel takes 12 bytes at the peak")
    octomap_bytes: int = unvaried(
        1 << 30, unit="bytes", range=_BYTES, raises="larger OctoMaps are read")
    mesh_bytes: int = unvaried(
        1 << 32, unit="bytes", range=_BYTES, raises="larger meshes are read")
    cloud_bytes: int = unvaried(
        1 << 32, unit="bytes", range=_BYTES, raises="larger point clouds are read")
    min_resolution_m: float = unvaried(
        0.001, unit="m", range=(1e-6, 1.0), raises="maps with small cells are refused")
    max_resolution_m: float = unvaried(
        10.0, unit="m", range=(0.01, 1000.0), raises="maps with larger cells are read")


@dataclass(frozen=True, slots=True)
class LogChecks(Settings):
    """Set the checks of recorded drives, and the interpretation of CARMEN logs.

    Attributes:
        max_speed_m_s: Speed of odometry above which it counts as a jump.
        max_hop_m: Distance between two odometry poses that is accepted at any speed.
        max_mounting_change: Motion of a sensor on the robot up to which it counts as fixed.
        max_sensor_tilt_deg: Tilt of a 2D sensor up to which it counts as level.
        max_sweep_s: Duration of the sweep of a 3D lidar up to which the times of its points are
            used.
        same_pose: Variation of the mounting in a CARMEN log up to which it counts as fixed.
        pile_width: Share below the longest reading of a CARMEN log within which a reading counts as
            the maximum range.
        min_pile: Minimum number of readings at the maximum range of a CARMEN log.
        pile_ratio: Minimum ratio of readings at the maximum range to readings just below it.
        equal_pose: Difference up to which the two poses of a CARMEN line count as equal.
    """

    max_speed_m_s: float = unvaried(
        50.0, unit="m/s", range=(0.1, 1000.0),
        raises="faster odometry counts as a drive and not as a jump")
    max_hop_m: float = unvaried(
        1.0, unit="m", range=(0.0, 100.0),
        raises="larger corrections of odometry are accepted at any speed")
    max_mounting_change: float = unvaried(
        0.02, unit="m and rad", range=(0.0, 1.0),
        raises="a sensor that moves more on the robot counts as fixed")
    max_sensor_tilt_deg: float = unvaried(
        5.0, unit="°", range=(0.0, 45.0), raises="sensors that are tilted more count as level")
    max_sweep_s: float = unvaried(
        1.0, unit="s", range=(0.001, 100.0),
        raises="slower sweeps of a 3D lidar keep the times of their points")
    same_pose: float = unvaried(
        0.01, unit="m and rad", range=(0.0, 1.0),
        raises="poses of a CARMEN log that differ more count as the same")
    pile_width: float = unvaried(
        0.01, unit="1", range=(0.0, 0.5),
        raises="a larger share below the longest reading of a CARMEN log counts as its maximum")
    min_pile: int = unvaried(
        10, unit="1", range=(1, 1_000_000),
        raises="more readings at the maximum are needed to tell it")
    pile_ratio: float = unvaried(
        5.0, unit="1", range=(0.0, 1000.0),
        raises="readings at the maximum must be more frequent than those below it")
    equal_pose: float = unvaried(
        1e-4, unit="m and rad", range=(0.0, 1.0),
        raises="both poses of a CARMEN line count as that of the laser more often")


LIMITS = FileLimits()
"""The limits that readers use."""
CHECKS = LogChecks()
