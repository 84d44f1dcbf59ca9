"""A generated office floor: corridors, rooms with doors, and furniture that no plan shows."""

from dataclasses import dataclass

import numpy as np

from isovist.errors import InputError
from isovist.maps.segments import SegmentMap
from isovist.types import FloatArray

DOOR = 0.9  # m
CORRIDOR = 2.0  # m


@dataclass(frozen=True, slots=True, eq=False)
class OfficeFloor:
    """A floor as its plan shows it, and as it is.

    Attributes:
        plan: Walls only.
        reality: Walls and furniture.
    """

    plan: SegmentMap
    reality: SegmentMap


def office_floor(seed: int = 0, *, length: float = 40.0, rows: int = 4) -> OfficeFloor:
    """An office floor, the same for the same seed.

    Args:
        seed: Of the random generator.
        length: Of the floor along x, in m.
        rows: Rows of rooms, stacked along y; a corridor runs between every two.
    """
    if length < 15.0 or rows < 2:
        raise InputError(
            f"An office floor needs length ≥ 15 m and rows ≥ 2, got {length:g} m and {rows}."
        )
    rng = np.random.default_rng(seed)
    walls: list[tuple[float, float, float, float]] = []
    boxes: list[FloatArray] = []
    passage = float(rng.uniform(0.2, 0.7)) * length  # crosses all rows, joins all corridors
    y = 0.0
    for row in range(rows):
        depth = float(rng.uniform(4.0, 7.0))
        above = row % 2 == 0  # which side the corridor of this row is on
        for left, right in ((0.0, passage), (passage + CORRIDOR, length)):
            _add_rooms(rng, walls, boxes, left, right, y, y + depth, above)
        y += depth
        if above and row + 1 < rows:
            _add_column(rng, walls, length, y)
            y += CORRIDOR
    outline = [(0.0, 0.0), (length, 0.0), (length, y), (0.0, y)]
    lines = np.array(walls).reshape(-1, 2, 2)
    plan = SegmentMap.from_polygons([outline], walls=lines)
    reality = SegmentMap.from_polygons([outline], obstacles=boxes, walls=lines)
    return OfficeFloor(plan, reality)


def _add_rooms(
    rng: np.random.Generator,
    walls: list[tuple[float, float, float, float]],
    boxes: list[FloatArray],
    left: float,
    right: float,
    low: float,
    high: float,
    above: bool,
) -> None:
    """Rooms side by side from x = left to x = right, each with a door to the corridor."""
    front, back = (high, low) if above else (low, high)
    walls.append((left, low, left, high))
    x = left
    while x < right:
        stop = x + float(rng.uniform(2.8, 6.5))
        if right - stop < 2.8:
            stop = right
        door = float(rng.uniform(x + 0.2, stop - DOOR - 0.2))
        walls.append((x, front, door, front))
        walls.append((door + DOOR, front, stop, front))
        walls.append((x, back, stop, back))
        walls.append((stop, low, stop, high))
        boxes.extend(_furnish(rng, x, stop, low, high))
        x = stop


def _add_column(
    rng: np.random.Generator,
    walls: list[tuple[float, float, float, float]],
    length: float,
    low: float,
) -> None:
    """A column against a corridor wall: it breaks the regularity."""
    x = float(rng.uniform(0.2, 0.8)) * length
    walls.append((x, low, x, low + 0.3))
    walls.append((x, low + 0.3, x + 0.4, low + 0.3))
    walls.append((x + 0.4, low + 0.3, x + 0.4, low))


def _furnish(
    rng: np.random.Generator, left: float, right: float, low: float, high: float
) -> list[FloatArray]:
    """Up to four tables and shelves, turned at random, clear of the walls."""
    boxes = []
    for _ in range(int(rng.integers(0, 5))):
        half = rng.uniform((0.2, 0.15), (0.7, 0.4))
        reach = float(np.hypot(*half)) + 0.1
        if right - left < 2.0 * reach or high - low < 2.0 * reach:
            continue
        centre = rng.uniform((left + reach, low + reach), (right - reach, high - reach))
        turn = rng.uniform(0.0, np.pi)
        c, s = np.cos(turn), np.sin(turn)
        corners = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]) * half
        boxes.append(centre + corners @ np.array([[c, s], [-s, c]]))
    return boxes
