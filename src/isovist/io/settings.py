"""Limits of the files that are read, and thresholds of the checks of recorded drives."""

from dataclasses import dataclass

from isovist.settings import Settings, setting

# fmt: off
_BYTES = (1.0, 2.0**50)


@dataclass(frozen=True, slots=True)
class FileLimits(Settings):
    """The largest files that are read: larger ones are refused before memory is taken."""

    scan_bytes: int = setting(
        64 << 20, unit="bytes", range=_BYTES,
        raises="larger files are read as one scan", evidence="not varied")
    scan_set_bytes: int = setting(
        2 << 30, unit="bytes", range=_BYTES,
        raises="larger .npz files are unpacked as a set of scans", evidence="not varied")
    intrinsics_bytes: int = setting(
        1 << 20, unit="bytes", range=_BYTES,
        raises="larger files are read as intrinsics of a depth image", evidence="not varied")
    depth_pixels: int = setting(
        64_000_000, unit="1", range=_BYTES,
        raises="larger depth images are read; each pixel takes some dozens of bytes",
        evidence="not varied")
    carmen_bytes: int = setting(
        2 << 30, unit="bytes", range=_BYTES,
        raises="longer CARMEN logs are unpacked", evidence="not varied")
    carmen_line_bytes: int = setting(
        1 << 20, unit="bytes", range=_BYTES,
        raises="longer lines of a CARMEN log are read", evidence="not varied")
    carmen_numbers: int = setting(
        1 << 28, unit="1", range=_BYTES,
        raises="CARMEN logs with more readings are read; each takes 8 bytes",
        evidence="not varied")
    bag_part_bytes: int = setting(
        1 << 30, unit="bytes", range=_BYTES,
        raises="larger chunks of a bag are unpacked; recorders write some megabytes",
        evidence="not varied")
    bag_metadata_bytes: int = setting(
        1 << 20, unit="bytes", range=_BYTES,
        raises="larger metadata.yaml are read; a bag with hundreds of topics has 0.1 MB",
        evidence="not varied")
    yaml_bytes: int = setting(
        65_536, unit="bytes", range=_BYTES,
        raises="larger YAML files are parsed; PyYAML takes up to 2 s for 64 kB",
        evidence="not varied")
    plan_bytes: int = setting(
        256 << 20, unit="bytes", range=_BYTES,
        raises="larger GeoJSON plans are read", evidence="not varied")
    image_pixels: int = setting(
        400_000_000, unit="1", range=_BYTES,
        raises="larger map images are read; each pixel takes 12 bytes at the peak",
        evidence="not varied")
    octomap_bytes: int = setting(
        1 << 30, unit="bytes", range=_BYTES,
        raises="larger OctoMaps are read", evidence="not varied")
    mesh_bytes: int = setting(
        1 << 32, unit="bytes", range=_BYTES,
        raises="larger meshes are read", evidence="not varied")
    cloud_bytes: int = setting(
        1 << 32, unit="bytes", range=_BYTES,
        raises="larger point clouds are read", evidence="not varied")
    min_resolution_m: float = setting(
        0.001, unit="m", range=(1e-6, 1.0),
        raises="maps with small cells are refused", evidence="not varied")
    max_resolution_m: float = setting(
        10.0, unit="m", range=(0.01, 1000.0),
        raises="maps with larger cells are read", evidence="not varied")


@dataclass(frozen=True, slots=True)
class LogChecks(Settings):
    """What a recorded drive must satisfy, and how a CARMEN log is interpreted."""

    max_speed_m_s: float = setting(
        50.0, unit="m/s", range=(0.1, 1000.0),
        raises="faster odometry counts as a drive and not as a jump", evidence="not varied")
    max_hop_m: float = setting(
        1.0, unit="m", range=(0.0, 100.0),
        raises="larger corrections of odometry are accepted at any speed", evidence="not varied")
    max_mounting_change: float = setting(
        0.02, unit="m and rad", range=(0.0, 1.0),
        raises="a sensor that moves more on the robot counts as fixed", evidence="not varied")
    max_sensor_tilt_deg: float = setting(
        5.0, unit="°", range=(0.0, 45.0),
        raises="sensors that are tilted more count as level", evidence="not varied")
    max_sweep_s: float = setting(
        1.0, unit="s", range=(0.001, 100.0),
        raises="slower sweeps of a 3D lidar keep the times of their points",
        evidence="not varied")
    same_pose: float = setting(
        0.01, unit="m and rad", range=(0.0, 1.0),
        raises="poses of a CARMEN log that differ more count as the same", evidence="not varied")
    pile_width: float = setting(
        0.01, unit="1", range=(0.0, 0.5),
        raises="a larger share below the longest reading of a CARMEN log counts as its maximum",
        evidence="not varied")
    min_pile: int = setting(
        10, unit="1", range=(1, 1_000_000),
        raises="more readings at the maximum are needed to tell it", evidence="not varied")
    pile_ratio: float = setting(
        5.0, unit="1", range=(0.0, 1000.0),
        raises="readings at the maximum must be more frequent than those below it",
        evidence="not varied")
    equal_pose: float = setting(
        1e-4, unit="m and rad", range=(0.0, 1.0),
        raises="both poses of a CARMEN line count as that of the laser more often",
        evidence="not varied")


LIMITS = FileLimits()
CHECKS = LogChecks()
