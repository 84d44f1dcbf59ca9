"""Exact rays through a grid of cells.

Everything is in cell units: cell (row, col) is the closed square [col, col + 1] × [row, row + 1].
A *skip* grid, uint8 of shape (height + 2, width + 2), holds the map with a border of one cell:

    0 wall,   1 unknown,   2 edge (the border),   2 + d free,                             (1)

where d ≥ 1 is the Chebyshev distance in cells to the nearest cell that is not free, at most 253.
From a free cell at distance d a ray can jump to the rim of the block of 2d − 1 cells around it.

One rule for ties: cells that are not free are closed sets, so a ray ends where it first touches
one, even at a corner or along a face; of several touched at once the smallest code of (1) ends it.
Which face comes first is decided exactly (2), so the rule holds for the floats as given:

    |fx − x| |dy| < |fy − y| |dx|   ⟺   the face x = fx comes before the face y = fy.     (2)
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Skip = NDArray[np.uint8]
Ray = tuple[float, int, int, int]

FREE = 3
EDGE = 2
MAXIMUM = 3
# Relative margin beyond which rounding cannot have changed an order of faces.
SURE = 1e-11


@njit(cache=True, nogil=True)
def _two_product(a: float, b: float) -> tuple[float, float]:
    """Product and its rounding error, exactly (Dekker)."""
    p = a * b
    t = 134217729.0 * a
    a1 = t - (t - a)
    a0 = a - a1
    t = 134217729.0 * b
    b1 = t - (t - b)
    b0 = b - b1
    return p, ((a1 * b1 - p) + a1 * b0 + a0 * b1) + a0 * b0


@njit(cache=True, nogil=True)
def _two_difference(a: float, b: float) -> tuple[float, float]:
    """Difference and its rounding error, exactly (Knuth)."""
    s = a - b
    t = s - a
    return s, (a - (s - t)) - (b + t)


@njit(cache=True, nogil=True)
def _exact_sign(fx: float, x: float, ady: float, fy: float, y: float, adx: float) -> int:
    """Sign of |fx − x| ady − |fy − y| adx in exact arithmetic: the sum of eight floats."""
    a1, a0 = _two_difference(fx, x)
    b1, b0 = _two_difference(fy, y)
    if a1 < 0.0:
        a1, a0 = -a1, -a0
    if b1 < 0.0:
        b1, b0 = -b1, -b0
    terms = (
        *_two_product(a1, ady),
        *_two_product(a0, ady),
        *_two_product(-b1, adx),
        *_two_product(-b0, adx),
    )
    parts = np.zeros(8)
    for count, term in enumerate(terms):
        carry = term
        for k in range(count):
            total, error = _two_difference(carry, -parts[k])
            parts[k] = error
            carry = total
        parts[count] = carry
    for k in range(7, -1, -1):
        if parts[k] != 0.0:
            return 1 if parts[k] > 0.0 else -1
    return 0


@njit(cache=True, nogil=True)
def _order(fx: float, x: float, ady: float, fy: float, y: float, adx: float) -> int:
    """−1 when the face fx comes first, 1 when fy does, 0 at a corner: equation (2)."""
    ax = abs(fx - x) * ady
    ay = abs(fy - y) * adx
    if abs(ax - ay) > SURE * (ax + ay):
        return -1 if ax < ay else 1
    return _exact_sign(fx, x, ady, fy, y, adx)


@njit(cache=True, nogil=True)
def _last_inside(
    guess: float,
    start: int,
    stop: int,
    step: int,
    f: float,
    u: float,
    ahead: int,
    v: float,
    adu: float,
    adv: float,
) -> int:
    """Index of the last cell before the face u = f, from `start` to `stop` along the axis v.

    `guess` is v where the ray meets the face.  It is trusted unless it falls on a grid line.
    """
    k = int(np.ceil(guess)) - 1 if step > 0 else int(np.floor(guess))
    k = min(max(k, min(start, stop)), max(start, stop))
    if abs(guess - np.rint(guess)) < 1e-9 * (1.0 + abs(guess)):
        while _order(f, u, adv, k + ahead, v, adu) > 0:
            k += step
        while k != start and _order(f, u, adv, k - step + ahead, v, adu) <= 0:
            k -= step
    return k


@njit(cache=True, nogil=True)
def _cell(code: int, row: int, col: int, width: int) -> int:
    """Flat index of a cell, −1 when it lies beyond the edge."""
    return -1 if code == EDGE else row * width + col


@njit(cache=True, nogil=True)
def _graze(skip: Skip, x: float, y: float, dx: float, dy: float, maximum: float) -> Ray:
    """A ray along a grid line: it touches the cells on both sides, so both are looked up."""
    width = skip.shape[1] - 2
    along_x = dy == 0.0
    step = 1 if (dx if along_x else dy) > 0.0 else -1
    start = x if along_x else y
    at = int(np.floor(start))
    if step < 0 and start == at:
        at -= 1
    side = int(y) if along_x else int(x)
    while True:
        face = at + (1 if step > 0 else 0)
        length = abs(face - start) / abs(dx if along_x else dy)
        if length > maximum:
            return maximum, MAXIMUM, -1, -1
        at += step
        row, col = (side, at) if along_x else (at, side)
        back, left = (row - 1, col) if along_x else (row, col - 1)
        code, other = skip[row + 1, col + 1], skip[back + 1, left + 1]
        if other < code:
            code, row, col = other, back, left
        if code < FREE:
            return length, int(code), _cell(code, row, col, width), 0 if along_x else 1


@njit(cache=True, nogil=True)
def cast_one(skip: Skip, x: float, y: float, dx: float, dy: float, maximum: float) -> Ray:
    """Follow one ray from (x, y) along (dx, dy), all in cells.

    Returns (range, ending, cell, axis): the range in units of |(dx, dy)|, an `Ending` code, the
    flat index of the cell that ended the ray (−1 for the edge and the maximum) and the axis that
    its face is normal to (−1 for none).  An origin that touches a cell that is not free, or lies
    outside the map, has range 0.  (dx, dy) must not be zero.
    """
    height, width = skip.shape[0] - 2, skip.shape[1] - 2
    if not (0.0 <= x <= width and 0.0 <= y <= height):
        return 0.0, EDGE, -1, -1
    ix, iy = int(np.floor(x)), int(np.floor(y))
    on_x, on_y = x == ix, y == iy
    code = skip[iy + 1, ix + 1]
    row, col = iy, ix
    if on_x or on_y:
        for back in range(2 if on_y else 1):
            for left in range(2 if on_x else 1):
                other = skip[iy + 1 - back, ix + 1 - left]
                if other < code:
                    code, row, col = other, iy - back, ix - left
    if code < FREE:
        return 0.0, int(code), _cell(code, row, col, width), -1
    if (on_x and dx == 0.0) or (on_y and dy == 0.0):
        return _graze(skip, x, y, dx, dy, maximum)

    adx, ady = abs(dx), abs(dy)
    sx = 1 if dx > 0.0 else -1
    sy = 1 if dy > 0.0 else -1
    ahead_x = 1 if sx > 0 else 0
    ahead_y = 1 if sy > 0 else 0
    if on_x and sx < 0:
        ix -= 1
    if on_y and sy < 0:
        iy -= 1
    ax = abs(ix + ahead_x - x) * ady
    ay = abs(iy + ahead_y - y) * adx
    limit = maximum * adx * ady * (1.0 + SURE)
    code = skip[iy + 1, ix + 1]
    while True:
        jump = int(code) - FREE
        if jump > 1:
            # To the last cell of the ray inside the block; the step below then leaves it.
            jx, jy = ix + sx * jump, iy + sy * jump
            fx, fy = jx + ahead_x, jy + ahead_y
            first = _order(fx, x, ady, fy, y, adx)
            if first < 0:
                guess = y + (fx - x) * (dy / dx)
                jy = _last_inside(guess, iy, jy, sy, fx, x, ahead_y, y, adx, ady)
            elif first > 0:
                guess = x + (fy - y) * (dx / dy)
                jx = _last_inside(guess, ix, jx, sx, fy, y, ahead_x, x, ady, adx)
            ix, iy = jx, jy
            ax = abs(ix + ahead_x - x) * ady
            ay = abs(iy + ahead_y - y) * adx
        # ax and ay are summed up from step to step, so a near tie is decided anew and exactly.
        margin = SURE * (ax + ay)
        if ax < ay - margin:
            axis, corner = 0, False
        elif ay < ax - margin:
            axis, corner = 1, False
        else:
            first = _order(ix + ahead_x, x, ady, iy + ahead_y, y, adx)
            corner = first == 0
            axis = (0 if adx >= ady else 1) if corner else (0 if first < 0 else 1)
        crossed = ax if axis == 0 else ay
        fx, fy = ix + ahead_x, iy + ahead_y
        if corner:
            code, row, col = skip[iy + 1, ix + sx + 1], iy, ix + sx
            other = skip[iy + sy + 1, ix + 1]
            if other < code:
                code, row, col = other, iy + sy, ix
            other = skip[iy + sy + 1, ix + sx + 1]
            if other < code:
                code, row, col = other, iy + sy, ix + sx
            ix += sx
            iy += sy
            ax += ady
            ay += adx
        else:
            if axis == 0:
                ix += sx
                ax += ady
            else:
                iy += sy
                ay += adx
            code, row, col = skip[iy + 1, ix + 1], iy, ix
        if code < FREE:
            length = abs(fx - x) / adx if axis == 0 else abs(fy - y) / ady
            if length > maximum:
                return maximum, MAXIMUM, -1, -1
            return length, int(code), _cell(code, row, col, width), axis
        if corner:
            code = skip[iy + 1, ix + 1]
        if crossed > limit:
            return maximum, MAXIMUM, -1, -1


@njit(cache=True, nogil=True, parallel=True)
def cast_rays(
    skip: Skip,
    origins: NDArray[np.float64],
    directions: NDArray[np.float64],
    maximum: float,
    ranges: NDArray[np.float64],
    endings: NDArray[np.uint8],
    cells: NDArray[np.int64],
    axes: NDArray[np.int64],
) -> None:
    """Rays from `origins` (m, 2) along `directions` (m, 2), (x, y) in cells, of any length.

    Fills `ranges` (float64, in cells), `endings`, `cells` and `axes`, all (m,); see `cast_one`.
    """
    for k in prange(len(origins)):
        dx, dy = directions[k, 0], directions[k, 1]
        length = np.hypot(dx, dy)
        reach, endings[k], cells[k], axes[k] = cast_one(
            skip, origins[k, 0], origins[k, 1], dx, dy, maximum / length
        )
        ranges[k] = maximum if endings[k] == MAXIMUM else reach * length
