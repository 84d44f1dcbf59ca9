"""Settings of maps: the floor, the floors of a building, point clouds and mapping from scans."""

from dataclasses import dataclass

from isovist.settings import Settings, setting, unvaried

# fmt: off


@dataclass(frozen=True, slots=True)
class FloorSettings(Settings):
    """Settings for finding the floor of a 3D map and closing its holes (`floor`).

    Attributes:
        tile_m: Side of the tiles, each with one height of the floor.
        min_votes: Minimum number of columns with occupied cells in a tile.
        quantile: Quantile of the lowest surfaces of the columns that is the height of a tile.
        max_step_m: Maximum difference in height of neighbouring tiles of one surface.
        min_surface_share: Minimum size of a surface of the floor, relative to the largest surface.
        max_hole_m: Distance from visible floor up to which holes are closed.
    """

    tile_m: float = unvaried(
        1.0, unit="m", range=(0.05, 100.0), raises="fewer, larger tiles vote; slopes get coarser")
    min_votes: int = unvaried(
        4, unit="1", range=(1, 10_000), raises="tiles need more columns with occupied cells")
    quantile: float = unvaried(
        0.25, unit="1", range=(0.0, 1.0), raises="the floor of a tile lies higher: on furniture")
    max_step_m: float = unvaried(
        0.25, unit="m", range=(0.0, 10.0), raises="tiles with a larger step are one surface")
    min_surface_share: float = unvaried(
        1.0 / 7.0, unit="1", range=(0.0, 1.0),
        raises="surfaces must be larger, compared with the largest, to be floor")
    max_hole_m: float = unvaried(
        5.0, unit="m", range=(0.0, 1000.0),
        raises="the floor goes on farther from where it is seen")


@dataclass(frozen=True, slots=True)
class BuildingFloorSettings(Settings):
    """Settings for separating the floors of a building (`grid3d.building_floors`).

    Attributes:
        min_covered_share: Minimum share of the ground of the building that a slab covers.
        slab_height_m: Height of the window in which the cells of a slab are counted.
        min_room_m: Minimum height of free room above a slab.
        min_fill: Minimum number of cells in a level of a slab, relative to its fullest level.
    """

    min_covered_share: float = unvaried(
        0.5, unit="1", range=(0.0, 1.0),
        raises="a slab must cover more of the ground; stairwells and halls leave holes in it")
    slab_height_m: float = unvaried(
        0.3, unit="m", range=(0.01, 10.0), raises="slabs may be less level, and thicker")
    min_room_m: float = unvaried(
        1.8, unit="m", range=(0.1, 100.0),
        raises="low floors count as part of the next; doors are higher")
    min_fill: float = unvaried(
        1.0 / 3.0, unit="1", range=(0.0, 1.0),
        raises="fewer levels of a slab count, compared with its fullest level")


@dataclass(frozen=True, slots=True)
class CloudSettings(Settings):
    """Limits of point clouds as maps, and the size of their cells (`cloud`).

    Attributes:
        min_points: Minimum number of points.
        max_width_m: Maximum width of a cloud.
        fine_cell_m: Side of the cells of a dense cloud.
        usual_cell_m: Side of the cells of other clouds.
        coarse_cell_m: Maximum side of the cells of a wide cloud.
        max_cells: Number of cells above which a wide cloud gets larger cells.
        min_points_per_cell: Median number of points per fine cell at which a cloud is dense.
    """

    min_points: int = unvaried(
        100, unit="1", range=(1, 1e9), raises="larger clouds are refused as too small")
    max_width_m: float = unvaried(
        2000.0, unit="m", range=(1.0, 1e6), raises="clouds in millimetres are taken for metres")
    fine_cell_m: float = unvaried(
        0.1, unit="m", range=(0.001, 10.0), raises="dense clouds get larger cells")
    usual_cell_m: float = unvaried(
        0.2, unit="m", range=(0.001, 10.0), raises="most clouds get larger cells")
    coarse_cell_m: float = unvaried(
        0.8, unit="m", range=(0.001, 10.0), raises="wide clouds get larger cells")
    max_cells: int = unvaried(
        1 << 26, unit="1", range=(1, 1e12),
        raises="wide clouds get smaller cells; 2²⁶ cells are described within 4 GB")
    min_points_per_cell: int = unvaried(
        3, unit="1", range=(1, 1000), raises="fewer clouds get fine cells; walls have fewer holes")


@dataclass(frozen=True, slots=True)
class MappingSettings(Settings):
    """Settings for making a 2D map from scans at known poses (`grid2d.mapping`).

    Attributes:
        resolution_m: Side of a cell.
        occupied_share: Minimum share of hits, among hits and misses, of an occupied cell.
    """

    resolution_m: float = unvaried(
        0.05, unit="m", range=(0.001, 10.0), raises="cells are larger; less memory, less detail")
    occupied_share: float = setting(
        0.25, unit="1", range=(0.0, 1.0), raises="walls get thinner, and open up",
        evidence="at 0.05 m on six logs 95 to 100 % of held-out beams end at a wall")
