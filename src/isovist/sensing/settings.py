"""Settings of scans: levelling by the ground, planes that tell the vertical, standing robots."""

from dataclasses import dataclass

from isovist.settings import Settings, unvaried

# fmt: off


@dataclass(frozen=True, slots=True)
class GroundSettings(Settings):
    """Settings for finding the ground in a 3D scan (`levelling`).

    Attributes:
        patch_m: Side of the patches that the view from above is divided into.
        max_height_m: Height above the sensor up to which returns are used.
        min_depth_m: Minimum depth of the ground below the sensor.
        max_distance_m: Horizontal distance up to which returns are used.
        max_residual_m: Maximum distance of a patch of the ground from the plane.
        max_slope_deg: Maximum slope of the ground.
        max_rise_m: Maximum difference in height within a patch of the ground.
        flat_share: Share of the returns of a patch that must lie within `max_rise_m`.
        planes: Number of random planes that are tried.
        min_patches: Minimum number of patches on the ground.
        max_share_below: Maximum share of returns below the ground.
        min_share: Minimum share of the patches on the ground.
        min_tilt_deg: Tilt below which a scan counts as level.
    """

    patch_m: float = unvaried(
        0.5, unit="m", range=(0.01, 10.0), raises="fewer, larger patches of ground")
    max_height_m: float = unvaried(
        0.5, unit="m", range=(0.0, 100.0),
        raises="returns higher above the sensor help to tell walls from ground")
    min_depth_m: float = unvaried(
        0.3, unit="m", range=(0.0, 100.0), raises="ground must lie farther below the sensor")
    max_distance_m: float = unvaried(
        25.0, unit="m", range=(0.1, 1000.0),
        raises="ground that is seen at a grazing angle counts too")
    max_residual_m: float = unvaried(
        0.1, unit="m", range=(0.0, 10.0), raises="rougher ground still makes a plane")
    max_slope_deg: float = unvaried(
        15.0, unit="°", range=(0.0, 89.0), raises="steeper ground is found, walls more often too")
    max_rise_m: float = unvaried(
        0.2, unit="m", range=(0.0, 10.0),
        raises="patches with more difference in height count as ground")
    flat_share: float = unvaried(
        0.7, unit="1", range=(0.0, 1.0),
        raises="more of the returns of a patch must lie within `max_rise_m`")
    planes: int = unvaried(
        300, unit="1", range=(1, 100_000), raises="more random planes are tried; slower")
    min_patches: int = unvaried(
        12, unit="1", range=(3, 100_000), raises="more scans count as scans without ground")
    max_share_below: float = unvaried(
        0.05, unit="1", range=(0.0, 1.0), raises="tables are taken for ground more often")
    min_share: float = unvaried(
        0.4, unit="1", range=(0.0, 1.0), raises="more of the patches must lie on the plane")
    min_tilt_deg: float = unvaried(
        0.8, unit="°", range=(0.0, 15.0),
        raises="more scans stay as they are; 0.8° moves ends at 30 m by 0.4 m")


@dataclass(frozen=True, slots=True)
class PlaneSettings(Settings):
    """Settings for finding planes that show the vertical of a 3D scan (`planes`).

    Attributes:
        vote_spacing_deg: Angle between two returns that vote for a plane.
        neighbour_spacing_deg: Angle between the returns of the patch around a voting return.
        neighbours: Number of returns in a patch.
        max_variance_ratio: Maximum ratio of the smallest to the middle variance of a flat patch,
            and minimum ratio of the middle to the largest.
        min_cosine: Cosine of the angle of incidence below which votes weigh no more.
        same_plane_deg: Maximum angle between the normals of one plane.
        max_planes: Maximum number of planes.
        min_vote_share: Minimum share of the votes for a plane.
        max_walls: Number of the largest planes whose pairs may be walls.
        min_wall_sine: Minimum sine of the angle between two walls.
        same_direction_deg: Angle up to which two directions count as one.
    """

    vote_spacing_deg: float = unvaried(
        4.0, unit="°", range=(0.1, 45.0), raises="fewer returns vote")
    neighbour_spacing_deg: float = unvaried(
        1.5, unit="°", range=(0.1, 45.0), raises="patches are larger")
    neighbours: int = unvaried(
        30, unit="1", range=(3, 1000), raises="patches are larger")
    max_variance_ratio: float = unvaried(
        0.1, unit="1", range=(0.0, 1.0), raises="rougher and more elongated patches vote")
    min_cosine: float = unvaried(
        0.2, unit="1", range=(0.001, 1.0),
        raises="surfaces that are seen at a grazing angle weigh less")
    same_plane_deg: float = unvaried(
        6.0, unit="°", range=(0.1, 45.0), raises="more normals vote for one plane")
    max_planes: int = unvaried(
        6, unit="1", range=(1, 100), raises="more directions may be up; slower")
    min_vote_share: float = unvaried(
        0.02, unit="1", range=(0.0, 1.0), raises="small planes do not count")
    max_walls: int = unvaried(
        4, unit="1", range=(2, 100), raises="more pairs of planes may be walls; slower")
    min_wall_sine: float = unvaried(
        0.8, unit="1", range=(0.0, 1.0),
        raises="two walls must be closer to a right angle; 0.8 is 53°")
    same_direction_deg: float = unvaried(
        10.0, unit="°", range=(0.1, 45.0), raises="fewer, more different directions may be up")


@dataclass(frozen=True, slots=True)
class StationarySettings(Settings):
    """Settings for detecting a robot at rest and merging its scans (`stationary`).

    Attributes:
        max_variation_m: Maximum variation of the ranges of a robot at rest.
        min_return_share: Minimum share of the scans with a return in a direction.
        min_agreement: Minimum share of the directions whose range has not changed.
        max_scans: Maximum number of scans that are merged.
    """

    max_variation_m: float = unvaried(
        0.2, unit="m", range=(0.0, 10.0),
        raises="scans of a robot that moves are merged more often")
    min_return_share: float = unvaried(
        0.5, unit="1", range=(0.0, 1.0), raises="a direction needs a return in more of the scans")
    min_agreement: float = unvaried(
        0.8, unit="1", range=(0.0, 1.0),
        raises="more directions must be as before; people who walk by must cover fewer")
    max_scans: int = unvaried(
        20, unit="1", range=(1, 10_000),
        raises="less noise; beyond 20 the cells of the map are the limit")


@dataclass(frozen=True, slots=True)
class DepthSettings(Settings):
    """Median depths at which an image has the right unit (`depth`).

    Attributes:
        min_median_m: Minimum median depth.
        max_median_m: Maximum median depth.
    """

    min_median_m: float = unvaried(
        0.05, unit="m", range=(0.0, 1000.0), raises="images of near things are refused")
    max_median_m: float = unvaried(
        200.0, unit="m", range=(0.0, 1e6), raises="images in mm are taken for metres")


@dataclass(frozen=True, slots=True)
class SimulationSettings(Settings):
    """Settings of simulated scans (`models.simulate`).

    Attributes:
        tries_per_scan: Maximum number of random poses for each scan.
    """

    tries_per_scan: int = unvaried(
        100, unit="1", range=(1, 1_000_000),
        raises="more poses are tried where the sensor seldom reaches a wall")
