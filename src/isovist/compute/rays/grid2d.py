"""Cast exact rays through a 2D grid of cells.

Everything is in cell units: cell (row, col) is the closed square [col, col + 1] × [row, row + 1].
A *skip* grid, uint8 of shape (height + 2, width + 2), holds the map with a border of one cell:

    0 wall,   1 unknown,   2 edge (the border),   2 + d free,                             (1)

where d ≥ 1 is the Chebyshev distance in cells to the nearest cell that is not free, at most 253.
From a free cell at distance d a ray can jump to the rim of the block of 2d − 1 cells around it.

Which face comes first is decided exactly for the floats as given:

    |fx − x| |dy| < |fy − y| |dx|   ⟺   the face x = fx comes before the face y = fy.     (2)

One rule for ties, as for maps of segments: "along the direction a" means "at the angle a + 0".
A ray through a corner goes on as if it were turned to the left by an infinitely small angle, and
a ray along a grid line runs through the cells on its left.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

FREE = 3
EDGE = 2
MAXIMUM = 3
# Relative margin beyond which rounding cannot have changed an order of faces.
TIE_MARGIN = 1e-11
# Rounding cannot move a place this far from grid lines, in cells, to another cell.
GRID_LINE_MARGIN = 1e-7


@subroutine
def _two_product(a, b):
    """Return a product and its rounding error, exactly (Dekker)."""
    p = a * b
    t = 134217729.0 * a
    a1 = t - (t - a)
    a0 = a - a1
    t = 134217729.0 * b
    b1 = t - (t - b)
    b0 = b - b1
    return p, ((a1 * b1 - p) + a1 * b0 + a0 * b1) + a0 * b0


@subroutine
def _two_difference(a, b):
    """Return a difference and its rounding error, exactly (Knuth)."""
    s = a - b
    t = s - a
    return s, (a - (s - t)) - (b + t)


@subroutine
def _exact_sign(fx, x, ady, fy, y, adx):
    """Return the sign of |fx − x| ady − |fy − y| adx, exactly: the sum of eight floats."""
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


@subroutine
def _y_first(fx, x, ady, fy, y, adx, tie):
    """Decide whether the face y = fy comes before x = fx, by (2); `tie` if both come at once."""
    ax = abs(fx - x) * ady
    ay = abs(fy - y) * adx
    if abs(ax - ay) > TIE_MARGIN * (ax + ay):
        return ay < ax
    sign = _exact_sign(fx, x, ady, fy, y, adx)
    return tie if sign == 0 else sign > 0


@subroutine
def _last_inside(guess, start, stop, step, f, u, face_offset, v, adu, adv, tie):
    """Return the index of the last cell before the face u = f, along the axis v.

    `guess` is v where the ray meets the face.  It is trusted unless it falls on a grid line.
    """
    k = int(guess)
    if GRID_LINE_MARGIN < guess - k < 1.0 - GRID_LINE_MARGIN:
        return k
    k = min(max(k, min(start, stop)), max(start, stop))
    while _y_first(f, u, adv, k + face_offset, v, adu, tie):
        k += step
    while k != start and not _y_first(f, u, adv, k - step + face_offset, v, adu, tie):
        k -= step
    return k


@subroutine
def cast_ray(skip, x, y, dx, dy, maximum):
    """Cast one ray from (x, y) along (dx, dy), all in cells.

    (dx, dy) must not be zero. An origin outside free space has range 0.

    Returns:
        (range, ending, cell, axis): the range in units of |(dx, dy)|, an `Ending` code, the flat
        index of the cell that ended the ray (−1 for the edge and the maximum) and the axis that its
        face is normal to (−1 for none).
    """
    height, width = skip.shape[0] - 2, skip.shape[1] - 2
    if not (0.0 <= x <= width and 0.0 <= y <= height):
        return 0.0, EDGE, -1, -1
    # Signs of the direction after an infinitely small turn to the left.
    sx = 1 if dx > 0.0 or (dx == 0.0 and dy < 0.0) else -1
    sy = 1 if dy > 0.0 or (dy == 0.0 and dx > 0.0) else -1
    face_x, face_y = (sx + 1) // 2, (sy + 1) // 2
    tie = sx == sy
    ix, iy = int(x), int(y)
    ix -= 1 if x == ix and sx < 0 else 0
    iy -= 1 if y == iy and sy < 0 else 0
    code = skip[iy + 1, ix + 1]
    if code < FREE:
        return 0.0, int(code), -1 if code == EDGE else iy * width + ix, -1

    adx, ady = abs(dx), abs(dy)
    rise = dy / dx if adx > 0.0 else 0.0
    run = dx / dy if ady > 0.0 else 0.0
    ax = abs(ix + face_x - x) * ady
    ay = abs(iy + face_y - y) * adx
    limit = maximum * adx * ady * (1.0 + TIE_MARGIN)
    while True:
        jump = int(code) - FREE
        if jump > 1:
            # Jump to the last cell of the ray inside the block; the step below then leaves it.
            jx, jy = ix + sx * jump, iy + sy * jump
            fx, fy = jx + face_x, jy + face_y
            if _y_first(fx, x, ady, fy, y, adx, tie):
                guess = x + (fy - y) * run
                ix = _last_inside(guess, ix, jx, sx, fy, y, face_x, x, ady, adx, not tie)
                iy = jy
            else:
                guess = y + (fx - x) * rise
                iy = _last_inside(guess, iy, jy, sy, fx, x, face_y, y, adx, ady, tie)
                ix = jx
            ax = abs(ix + face_x - x) * ady
            ay = abs(iy + face_y - y) * adx
        # ax and ay are summed up from step to step, so a near tie is decided anew and exactly.
        if abs(ax - ay) > TIE_MARGIN * (ax + ay):
            along_y = ay < ax
        else:
            along_y = _y_first(ix + face_x, x, ady, iy + face_y, y, adx, tie)
        if along_y:
            crossed = ay
            iy += sy
            ay += adx
        else:
            crossed = ax
            ix += sx
            ax += ady
        code = skip[iy + 1, ix + 1]
        if code < FREE:
            gap = abs(iy + 1 - face_y - y) if along_y else abs(ix + 1 - face_x - x)
            length = gap / (ady if along_y else adx)
            if length > maximum:
                return maximum, MAXIMUM, -1, -1
            cell = -1 if code == EDGE else iy * width + ix
            return length, int(code), cell, 1 if along_y else 0
        if crossed > limit:
            return maximum, MAXIMUM, -1, -1


@kernel("u1[:,::1], f8[:,::1], f8[:,::1], f8 -> f8[::1], u1[::1], i8[::1], i8[::1]", over="origins")
def cast_rays_2d(first, last, skip, origins, directions, maximum, ranges, endings, cells, axes):
    """Cast rays of any direction length from many origins; see `cast_ray`.

    Args:
        skip: Skip grid of the map (1).
        origins: (x, y) in cells, shape (m, 2).
        directions: (x, y), shape (m, 2).
        maximum: Longest range, in cells.
        ranges: Output, in cells, shape (m,).
        endings: Output, `Ending` codes, shape (m,).
        cells: Output, flat indices of cells, −1 for none, shape (m,).
        axes: Output, axes normal to the faces, −1 for none, shape (m,).
    """
    for k in range(first, last):
        dx, dy = directions[k, 0], directions[k, 1]
        length = np.hypot(dx, dy)
        reach, endings[k], cells[k], axes[k] = cast_ray(
            skip, origins[k, 0], origins[k, 1], dx, dy, maximum / length
        )
        ranges[k] = maximum if endings[k] == MAXIMUM else reach * length
