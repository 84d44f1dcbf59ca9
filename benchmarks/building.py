"""A made-up floor of offices along corridors, so that benchmarks need nothing outside the tree."""

import numpy as np
from numpy.typing import NDArray

FREE, OCCUPIED, UNKNOWN = 0, 1, 2


def building(height: int = 1000, width: int = 1000, seed: int = 1) -> NDArray[np.uint8]:
    """Cells of a floor at 5 cm: rooms of 4 to 9 m with doors, pillars and furniture.

    Rooms hang on corridors 2 m wide; beyond the outer wall the cells are unknown.
    """
    rng = np.random.default_rng(seed)
    cells = np.full((height, width), UNKNOWN, dtype=np.uint8)
    border = 20
    cells[border:-border, border:-border] = OCCUPIED
    wall, corridor, door = 3, 40, 18
    top = border + wall
    while top + 100 < height - border:
        depth = int(rng.integers(80, 160))
        bottom = min(top + depth, height - border - wall - corridor - wall)
        if bottom - top < 40:
            break
        lane = slice(bottom + wall, bottom + wall + corridor)
        cells[lane, border + wall : width - border - wall] = FREE
        left = border + wall
        while left + 40 < width - border - wall:
            right = min(left + int(rng.integers(80, 180)), width - border - wall)
            cells[top:bottom, left:right] = FREE
            _furnish(cells, rng, top, bottom, left, right)
            at = int(rng.integers(left + 2, max(left + 3, right - door - 2)))
            cells[bottom : bottom + wall, at : at + door] = FREE
            if top > border + wall:
                at = int(rng.integers(left + 2, max(left + 3, right - door - 2)))
                cells[top - wall : top, at : at + door] = FREE
            left = right + wall
        top = lane.stop + wall
    return cells


def _furnish(
    cells: NDArray[np.uint8], rng: np.random.Generator, top: int, bottom: int, left: int, right: int
) -> None:
    """Tables (boxes), round pillars and one slanted board in a room."""
    for _ in range(int(rng.integers(1, 4))):
        row, col = int(rng.integers(top, bottom)), int(rng.integers(left, right))
        high, wide = rng.integers(8, 30, 2)
        cells[row : min(row + high, bottom), col : min(col + wide, right)] = OCCUPIED
    row, col = rng.integers(top, bottom), rng.integers(left, right)
    rows, cols = np.ogrid[top:bottom, left:right]
    room = cells[top:bottom, left:right]
    room[(rows - row) ** 2 + (cols - col) ** 2 <= 36] = OCCUPIED
    angle = rng.uniform(0, np.pi)
    steps = np.arange(0.0, 40.0, 0.4)
    board_rows = (row + steps * np.sin(angle)).astype(int)
    board_cols = (col + steps * np.cos(angle)).astype(int)
    inside = (board_rows >= top) & (board_rows < bottom)
    inside &= (board_cols >= left) & (board_cols < right)
    cells[board_rows[inside], board_cols[inside]] = OCCUPIED
