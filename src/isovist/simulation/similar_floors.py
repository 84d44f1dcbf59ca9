"""Storeys of one building: floors that share most of their walls."""

import numpy as np

from isovist.simulation.worlds import Drawing, OfficeFloor, draw_floor

SAME = 1e-3
"""Walls nearer than this, in m, are the same."""


def storeys(
    seed: int = 0, count: int = 5, *, rebuilt: float = 0.5, length: float = 40.0, rows: int = 4
) -> list[OfficeFloor]:
    """Generate floors of one building that share most walls; some rooms of each are rebuilt.

    A rebuilt room has another door, other columns at its walls and perhaps a partition.

    Args:
        seed: Seed of the random generator.
        count: Number of floors.
        rebuilt: Share of the rooms of a floor that are rebuilt.
        length: Length of the floors along x, in m.
        rows: Rows of rooms, as in `office_floor`.
    """
    return [
        _rebuilt(draw_floor(seed, length, rows), np.random.default_rng([seed, k]), rebuilt)
        for k in range(count)
    ]


def _rebuilt(drawing: Drawing, rng: np.random.Generator, share: float) -> OfficeFloor:
    count = len(drawing.rooms)
    chosen = rng.permutation(count)[: round(share * count)]
    walls = [list(drawing.walls[room.walls]) for room in drawing.rooms]
    columns = [list(drawing.columns[room.columns]) for room in drawing.rooms]
    of_rooms = {k for room in drawing.rooms for k in range(room.walls.start, room.walls.stop)}
    drawn = {k for room in drawing.rooms for k in range(room.columns.start, room.columns.stop)}
    for k in map(int, chosen):
        room, anew = drawing.rooms[k], Drawing(rng)
        anew.add_room(*room.sides, room.above)
        walls[k], columns[k] = anew.walls, anew.columns
    drawing.walls = [wall for k, wall in enumerate(drawing.walls) if k not in of_rooms] + [
        wall for part in walls for wall in part
    ]
    drawing.columns = [c for k, c in enumerate(drawing.columns) if k not in drawn] + [
        column for part in columns for column in part
    ]
    return drawing.floor()


def shared(one: OfficeFloor, other: OfficeFloor) -> float:
    """Return the share of the walls of one plan, by length, that the other has too."""
    import shapely

    mine, theirs = (
        shapely.union_all(shapely.linestrings(floor.plan.walls.reshape(-1, 2, 2)))
        for floor in (one, other)
    )
    return float(mine.intersection(theirs.buffer(SAME)).length / mine.length)
