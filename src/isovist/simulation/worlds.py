"""Generate office floors, similar floors of a building, and a hall that is symmetric.

An office has corridors, rooms with doors and columns, and furniture that its plan lacks. All
lengths are in m.
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.maps import Cell, OccupancyMap, SegmentMap

DOOR = 0.9  # m
CORRIDOR = 2.0  # m
MAX_WALL_GAP = 1e-3
"""Walls nearer to each other than this, in m, are the same."""


@dataclass(frozen=True, slots=True, eq=False)
class OfficeFloor:
    """An office floor: its plan, and the real floor with furniture.

    Attributes:
        plan: The walls.
        reality: The walls and the furniture.
    """

    plan: SegmentMap
    reality: SegmentMap


def office_floor(seed: int = 0, *, length: float = 40.0, rows: int = 4) -> OfficeFloor:
    """Generate an office floor; equal seeds give equal floors.

    Args:
        seed: Seed of the random generator.
        length: Length of the floor along x, in m.
        rows: Number of rows of rooms along y, with a corridor between each two rows.
    """
    return draw_floor(seed, length, rows).floor()


def draw_floor(seed: int, length: float, rows: int) -> "Drawing":
    """Draw the rooms, walls and columns that `office_floor` makes a floor of."""
    if seed < 0:
        raise InputError.about("seed", f"must not be negative, got {seed}.")
    if length < 15.0 or rows < 2:
        raise InputError(
            f"An office floor needs length ≥ 15 m and rows ≥ 2, got {length:g} m and {rows}."
        )
    rng = np.random.default_rng(seed)
    drawing, corridors = Drawing(rng), []
    passage = float(rng.uniform(0.2, 0.7)) * length  # crosses all rows, joins all corridors
    y = 0.0
    for row in range(rows):
        depth = float(rng.uniform(4.0, 7.0))
        above = row % 2 == 0  # which side the corridor of this row is on
        for left, right in ((0.0, passage), (passage + CORRIDOR, length)):
            drawing.add_rooms(left, right, y, y + depth, above)
        y += depth
        if above and row + 1 < rows:
            corridors.append(y)
            y += CORRIDOR
    for low in corridors:
        drawing.add_columns(length, low)
    drawing.outline = [(0.0, 0.0), (length, 0.0), (length, y), (0.0, y)]
    return drawing


@dataclass(frozen=True, slots=True)
class Room:
    """A room of a floor, with the range of its walls and columns in the drawing.

    Attributes:
        sides: Lowest and highest x, lowest and highest y, in m.
        above: Whether its door is in the upper wall.
        walls: Slice of its walls in the drawing, without the wall on the left.
        columns: Slice of its columns in the drawing.
    """

    sides: tuple[float, float, float, float]
    above: bool
    walls: slice
    columns: slice


@dataclass(slots=True, eq=False)
class Drawing:
    """Drawing of a floor: thin walls, columns, furniture, and (x, y) of doors, in m."""

    rng: np.random.Generator
    walls: list[tuple[float, float, float, float]] = field(default_factory=list)
    columns: list[FloatArray] = field(default_factory=list)
    boxes: list[FloatArray] = field(default_factory=list)
    doors: list[tuple[float, float]] = field(default_factory=list)
    rooms: list[Room] = field(default_factory=list)
    outline: list[tuple[float, float]] = field(default_factory=list)

    def floor(self) -> OfficeFloor:
        """Return the drawn floor, as its plan shows it and as it is."""
        lines = np.array(self.walls).reshape(-1, 2, 2)
        plan = SegmentMap.from_polygons([self.outline], self.columns, lines)
        reality = SegmentMap.from_polygons([self.outline], self.columns + self.boxes, lines)
        return OfficeFloor(plan, reality)

    def add_rooms(self, left: float, right: float, low: float, high: float, above: bool) -> None:
        """Add rooms side by side from x = left to x = right, each with a door to the corridor."""
        self.walls.append((left, low, left, high))
        x = left
        while x < right:
            stop = x + float(self.rng.uniform(2.8, 6.5))
            if right - stop < 2.8:
                stop = right
            self.add_room(x, stop, low, high, above)
            self._furnish(x, stop, low, high)
            x = stop

    def add_room(self, x: float, stop: float, low: float, high: float, above: bool) -> None:
        """Add one room, without its wall on the left and without furniture."""
        front, back = (high, low) if above else (low, high)
        walls, columns = len(self.walls), len(self.columns)
        door = float(self.rng.uniform(x + 0.2, stop - DOOR - 0.2))
        self.doors.append((door, front))
        self.walls += [(x, front, door, front), (door + DOOR, front, stop, front)]
        self.walls += [(x, back, stop, back), (stop, low, stop, high)]
        self._build_in(x, stop, low, high, back)
        own = slice(walls, len(self.walls)), slice(columns, len(self.columns))
        self.rooms.append(Room((x, stop, low, high), above, *own))

    def _build_in(self, left: float, right: float, low: float, high: float, back: float) -> None:
        """Add columns at the walls, and perhaps a partition, so that rooms differ."""
        for _ in range(int(self.rng.integers(2, 5))):
            width, depth = self.rng.uniform(0.3, 0.9), self.rng.uniform(0.2, 0.5)
            if self.rng.random() < 0.5:  # at the left or right wall
                y = float(self.rng.uniform(low + 0.1, high - width - 0.1))
                at, to = (left, left + depth) if self.rng.random() < 0.5 else (right, right - depth)
                corners = [(at, y), (to, y), (to, y + width), (at, y + width)]
            else:
                x = float(self.rng.uniform(left + 0.1, right - width - 0.1))
                to = back + depth if back == low else back - depth
                corners = [(x, back), (x, to), (x + width, to), (x + width, back)]
            self.columns.append(np.array(corners))
        if right - left > 4.5 and self.rng.random() < 0.6:
            x = float(self.rng.uniform(left + 1.5, right - 1.5))
            reach = float(self.rng.uniform(0.25, 0.5)) * (high - low)
            self.walls.append((x, back, x, back + reach if back == low else back - reach))

    def add_columns(self, length: float, low: float) -> None:
        """Add columns at the walls of a corridor, a few metres apart, never before a door."""
        x = float(self.rng.uniform(0.5, 4.0))
        while x < length - 1.0:
            width, depth = float(self.rng.uniform(0.2, 0.6)), float(self.rng.uniform(0.12, 0.4))
            is_low = self.rng.random() < 0.5
            at = low if is_low else low + CORRIDOR
            to = at + depth if is_low else at - depth
            corners = [(x, at), (x, to), (x + width, to), (x + width, at)]
            doors = [door for door, wall in self.doors if wall == at]
            if not any(x < door + DOOR + 0.3 and x + width > door - 0.3 for door in doors):
                self.columns.append(np.array(corners))
            x += float(self.rng.uniform(1.0, 4.0))

    def _furnish(self, left: float, right: float, low: float, high: float) -> None:
        """Add up to four tables and shelves, turned at random, clear of the walls."""
        for _ in range(int(self.rng.integers(0, 5))):
            half = self.rng.uniform((0.2, 0.15), (0.7, 0.4))
            reach = float(np.hypot(*half)) + 0.1
            if right - left < 2.0 * reach or high - low < 2.0 * reach:
                continue
            centre = self.rng.uniform((left + reach, low + reach), (right - reach, high - reach))
            self.boxes.append(rotated_box(centre, half, self.rng.uniform(0.0, np.pi)))


def rotated_box(centre: FloatArray, half: FloatArray, angle: float) -> FloatArray:
    """Return the corners of a box of half lengths `half`, turned about its centre by `angle`."""
    c, s = np.cos(angle), np.sin(angle)
    corners = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]) * half
    return centre + corners @ np.array([[c, s], [-s, c]])


def similar_floors(
    seed: int = 0, count: int = 5, *, rebuilt: float = 0.5, length: float = 40.0, rows: int = 4
) -> list[OfficeFloor]:
    """Generate floors of one building that share most walls, with some rooms of each rebuilt.

    A rebuilt room has another door, other columns at its walls and perhaps a partition.

    Args:
        seed: Seed of the random generator.
        count: Number of floors.
        rebuilt: Share of the rooms of a floor that are rebuilt.
        length: Length of the floors along x, in m.
        rows: Number of rows of rooms, as in `office_floor`.
    """
    return [
        _rebuild(draw_floor(seed, length, rows), np.random.default_rng([seed, k]), rebuilt)
        for k in range(count)
    ]


def _rebuild(drawing: Drawing, rng: np.random.Generator, share: float) -> OfficeFloor:
    count = len(drawing.rooms)
    numbers = rng.permutation(count)[: round(share * count)]
    rooms = drawing.rooms
    walls = [list(drawing.walls[room.walls]) for room in rooms]
    columns = [list(drawing.columns[room.columns]) for room in rooms]
    room_walls = {k for room in drawing.rooms for k in range(room.walls.start, room.walls.stop)}
    room_columns = {
        k for room in drawing.rooms for k in range(room.columns.start, room.columns.stop)
    }
    for k in map(int, numbers):
        room, new = drawing.rooms[k], Drawing(rng)
        new.add_room(*room.sides, room.above)
        walls[k], columns[k] = new.walls, new.columns
    drawing.walls = [wall for k, wall in enumerate(drawing.walls) if k not in room_walls] + [
        wall for part in walls for wall in part
    ]
    drawing.columns = [c for k, c in enumerate(drawing.columns) if k not in room_columns] + [
        column for part in columns for column in part
    ]
    return drawing.floor()


def shared_wall_share(floor: OfficeFloor, other: OfficeFloor) -> float:
    """Return the share of the walls of a plan, by length, that are also in another plan."""
    import shapely

    walls, other_walls = (
        shapely.union_all(shapely.linestrings(plan.walls.reshape(-1, 2, 2)))
        for plan in (floor.plan, other.plan)
    )
    return float(walls.intersection(other_walls.buffer(MAX_WALL_GAP)).length / walls.length)


def twofold_hall(
    length: float = 18.0,
    width: float = 11.0,
    *,
    resolution: float = 0.05,
    seed: int = 0,
    odd: bool = True,
) -> OccupancyMap:
    """Generate a hall that looks the same after a rotation by 180°, with pillars and blocks.

    All cells are equal after the rotation, except those of the `odd` crate.

    Args:
        length: Length along x, in m.
        width: Width along y, in m.
        resolution: Side of a cell, in m.
        seed: Seed of the pillars and blocks.
        odd: Whether a crate stands near one end, which breaks the symmetry.
    """
    if min(length, width) < 4.0:
        raise InputError(f"A hall needs at least 4 m × 4 m, got {length:g} m × {width:g} m.")
    rng = np.random.default_rng(seed)
    rim, wall = (round(v / resolution) for v in (0.3, 0.15))
    rows, cols = (2 * round(0.5 * v / resolution) for v in (width, length))
    cells = np.full((rows, cols), Cell.FREE, dtype=np.uint8)

    def block(x: float, y: float, wide: float, high: float) -> None:
        left, low = (max(0, round(v / resolution)) for v in (x - 0.5 * wide, y - 0.5 * high))
        right, top = (round(v / resolution) for v in (x + 0.5 * wide, y + 0.5 * high))
        cells[low:top, left:right] = Cell.OCCUPIED

    for x in np.arange(2.0, 0.5 * length, 3.5):
        depth, wide = rng.uniform((0.2, 0.5), (0.6, 1.6))
        block(x + rng.uniform(0.0, 1.5), 0.5 * depth, wide, depth)
        block(x + rng.uniform(0.0, 1.5), width - 0.5 * depth, wide, depth)
        for y in np.arange(2.5, width - 2.0, 4.0):
            block(x + rng.uniform(0.0, 1.5), y + rng.uniform(0.0, 1.5), 0.4, 0.4)
    cells = np.maximum(cells, cells[::-1, ::-1])
    if odd:
        block(length - 1.0, 0.4 * width, 0.8, 0.8)
    cells = np.pad(cells, wall, constant_values=Cell.OCCUPIED)
    return OccupancyMap(np.pad(cells, rim, constant_values=Cell.UNKNOWN), resolution)
