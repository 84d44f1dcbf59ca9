"""Draw grid maps, and what can be seen in them."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray
from isovist.maps import Cell, OccupancyMap
from isovist.poses import unit_vectors
from isovist.report.figures.figures import SECOND, show_between
from isovist.report.settings import FIGURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADES = {
    Cell.FREE: (1.0, 1.0, 1.0, 1.0),
    Cell.OCCUPIED: (0.13, 0.19, 0.24, 1.0),
    Cell.UNKNOWN: (0.88, 0.905, 0.92, 1.0),
}
TRANSPARENT = (1.0, 1.0, 1.0, 0.0)


def draw_cells(
    axes: "Axes", world: OccupancyMap, low: Any = None, high: Any = None, *, walls: bool = False
) -> Any:
    """Draw a grid map between two corners in m: free white, walls dark, unknown grey.

    Cells narrower than `min_wall_px` are merged before drawing, into a wall if any of them is one.
    The axes must already have their place in the figure.

    Args:
        axes: Axes to draw into.
        world: The map.
        low: Corner with the smallest coordinates that is shown; that of the free cells if `None`.
        high: Corner with the largest coordinates that is shown.
        walls: Whether to draw only the walls, on top of the existing picture.
    """
    if low is None or high is None:
        low, high = known_bounds(world)
    wide, tall = axes.bbox.size  # in pixels
    per_metre = min(wide / (high[0] - low[0]), tall / (high[1] - low[1]))
    cells_per_side = max(1, math.ceil(FIGURE.min_wall_px / (world.resolution * per_metre)))
    shades = SHADES | dict.fromkeys((Cell.FREE, Cell.UNKNOWN), TRANSPARENT) if walls else SHADES
    table = np.array([shades[cell] for cell in sorted(shades)])
    cells = coarse(world.cells, cells_per_side)
    image = draw_raster(axes, world, table[cells], cells_per_side * world.resolution)
    image.set_zorder(1.5 if walls else 0.5)
    axes.set_facecolor(SHADES[Cell.UNKNOWN])
    show_between(axes, low, high)
    return image


def coarse(cells: NDArray[np.uint8], cells_per_side: int) -> NDArray[np.uint8]:
    """Merge square blocks of cells: a wall if any cell is one, else free if any cell is free."""
    if cells_per_side == 1:
        return cells
    height, width = (-(-n // cells_per_side) * cells_per_side for n in cells.shape)
    padded = np.full((height, width), Cell.UNKNOWN, dtype=np.uint8)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    side = cells_per_side
    blocks = padded.reshape(height // side, side, width // side, side)
    wall, free = ((blocks == cell).any(axis=(1, 3)) for cell in (Cell.OCCUPIED, Cell.FREE))
    return np.where(wall, Cell.OCCUPIED, np.where(free, Cell.FREE, Cell.UNKNOWN)).astype(np.uint8)


def draw_raster(axes: "Axes", world: OccupancyMap, table: Any, side: float) -> Any:
    """Draw values or colours of squares with a side in m, aligned with the cells of a map.

    The image is returned, so that its colours can be set.
    """
    from matplotlib.transforms import Affine2D

    height, width = table.shape[:2]
    extent = (0.0, width * side, 0.0, height * side)
    image = axes.imshow(table, origin="lower", extent=extent, interpolation="nearest")
    place = Affine2D().rotate(world.origin.yaw).translate(world.origin.x, world.origin.y)
    image.set_transform(place + axes.transData)
    return image


def known_bounds(world: OccupancyMap) -> tuple[Any, Any]:
    """Return the smallest and largest coordinates of the free cells, with a margin, in m."""
    rows, cols = np.nonzero(world.cells == Cell.FREE)
    corners = world.centres(
        [rows.min(), rows.min(), rows.max(), rows.max()],
        [cols.min(), cols.max(), cols.min(), cols.max()],
    )
    return corners.min(axis=0) - 0.7, corners.max(axis=0) + 0.7


def known_size(world: OccupancyMap) -> Any:
    """Return width and height of the free area, with a margin, in m."""
    low, high = known_bounds(world)
    return high - low


def draw_cell_isovist(axes: "Axes", world: OccupancyMap, point: FloatArray, reach: float) -> Any:
    """Shade the region that is visible from a point within a reach (m)."""
    count = FIGURE.isovist_rays
    along = unit_vectors(2.0 * np.pi * np.arange(count) / count)
    ranges = world.cast(point, along, maximum=reach).ranges
    outline = point + ranges[:, None] * along
    return axes.fill(*outline.T, color=SECOND, alpha=0.13, linewidth=0.0, zorder=1.0)
