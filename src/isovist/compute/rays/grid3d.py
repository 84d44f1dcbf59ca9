"""Cast exact rays through a grid of cubic cells.

This is `compute.rays.grid2d` in 3D: cell units, a *skip* grid (`compute.grids.fields`) and its
codes, and an exact order of faces for the floats as given.  Coordinates are (x, y, z), the grid is
indexed [z, y, x].  Through free cells a ray jumps to the end of the free box that the code or block
states; where it ends does not depend on the jumps.  One rule for ties: cells that
are not free are closed sets, so a ray ends where it first touches one, even at an edge, at a corner
or along a face; of several touched at once the smallest code ends it.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.rays.fields import code_at, last_free, size_of
from isovist.compute.rays.grid2d import EDGE, FREE, MAXIMUM, TIE_MARGIN, _exact_sign

# A function with scratch arrays is inlined: to count a reference takes as long as a cell.
_inline_with_arrays = subroutine(forceinline=True)


@subroutine
def _order(fx, x, ady, fy, y, adx):
    """Compare two faces: −1 if x = fx comes first, 1 if y = fy does, 0 if both come at once."""
    ax, ay = abs(fx - x) * ady, abs(fy - y) * adx
    if abs(ax - ay) > TIE_MARGIN * (ax + ay):
        return -1 if ax < ay else 1
    return _exact_sign(fx, x, ady, fy, y, adx)


@subroutine
def _last_inside(guess, start, stop, step, f, u, face_offset, v, adu, adv):
    """Return the index of the last cell before the face u = f, along the axis v.

    `guess` is v where the ray meets the face.  It is trusted unless it falls on a grid line.
    """
    k = int(np.ceil(guess)) - 1 if step > 0 else int(np.floor(guess))
    k = min(max(k, min(start, stop)), max(start, stop))
    if abs(guess - np.rint(guess)) < 1e-9 * (1.0 + abs(guess)):
        while _order(f, u, adv, k + face_offset, v, adu) > 0:
            k += step
        while k != start and _order(f, u, adv, k - step + face_offset, v, adu) <= 0:
            k -= step
    return k


@_inline_with_arrays
def _lowest(skip, at, sides, steps, met_cell):
    """Find the smallest code among the cells that a point touches.

    Along axis k these are at[k] and at[k] + steps[k] if steps[k] is not 0, else also at[k] − 1 if
    sides[k] is 1. Fills met_cell (3,) with the cell, and returns its code.
    """
    low = 256
    for c in range(8):
        skipped = False
        for k in range(3):
            if (c >> k) & 1 and steps[k] == 0 and sides[k] == 0:
                skipped = True
        if skipped:
            continue
        x = at[0] + ((steps[0] if steps[0] != 0 else -1) if c & 1 else 0)
        y = at[1] + ((steps[1] if steps[1] != 0 else -1) if c & 2 else 0)
        z = at[2] + ((steps[2] if steps[2] != 0 else -1) if c & 4 else 0)
        code = code_at(skip, x, y, z)
        if code < low:
            low = code
            met_cell[0], met_cell[1], met_cell[2] = x, y, z
    return low


@_inline_with_arrays
def _index(skip, code, cell):
    """Return the flat index of a cell, −1 beyond the edge."""
    if code == EDGE:
        return -1
    return (cell[2] * size_of(skip, 1) + cell[1]) * size_of(skip, 0) + cell[0]


@_inline_with_arrays
def cast_ray(skip, o, d, maximum, at, step, sides, tied, met_cell):
    """Cast one ray from o (3,) along d (3,), both (x, y, z) in cells.

    An origin that touches a cell that is not free, or that lies outside the map, has range 0. at,
    step, sides, tied and met_cell (3,) int64 are scratch.

    Returns:
        (range, ending, cell, axis): the range in units of |d|, an `Ending` code, the flat index of
        the cell that ended the ray (−1 for the edge and the maximum) and the axis that its face is
        normal to (−1 for none).
    """
    for k in range(3):
        if not 0.0 <= o[k] <= size_of(skip, k):
            return 0.0, EDGE, -1, -1
        at[k] = int(np.floor(o[k]))
        sides[k] = 1 if o[k] == at[k] else 0
        step[k] = 1 if d[k] > 0.0 else (-1 if d[k] < 0.0 else 0)
        tied[k] = 0
    code = _lowest(skip, at, sides, tied, met_cell)
    if code < FREE:
        return 0.0, code, _index(skip, code, met_cell), -1
    grazes = False
    for k in range(3):
        if step[k] != 0 and sides[k] == 1:
            sides[k] = 0
            if step[k] < 0:
                at[k] -= 1
        grazes |= sides[k] == 1
    code = code_at(skip, at[0], at[1], at[2])
    ax, ay, az = abs(d[0]), abs(d[1]), abs(d[2])
    hx, hy, hz = int(step[0] > 0), int(step[1] > 0), int(step[2] > 0)
    ix = 1.0 / ax if ax > 0.0 else np.inf
    iy = 1.0 / ay if ay > 0.0 else np.inf
    iz = 1.0 / az if az > 0.0 else np.inf
    while True:
        if code > FREE + 1 and not grazes:
            # Jump to the last cell of the ray inside the box; the step below then leaves it.
            for k in range(3):
                tied[k] = last_free(skip, code, at, step, k)
            tx = abs(tied[0] + hx - o[0]) * ix if step[0] != 0 else np.inf
            ty = abs(tied[1] + hy - o[1]) * iy if step[1] != 0 else np.inf
            tz = abs(tied[2] + hz - o[2]) * iz if step[2] != 0 else np.inf
            u = 0 if tx <= ty and tx <= tz else (1 if ty <= tz else 2)
            t = min(tx, ty, tz)
            face = tied[u] + int(step[u] > 0)
            for k in range(3):
                if k != u and step[k] != 0:
                    at[k] = _last_inside(
                        o[k] + t * d[k], at[k], tied[k], step[k],
                        face, o[u], int(step[k] > 0), o[k], abs(d[u]), abs(d[k]),
                    )  # fmt: skip
            at[u] = tied[u]
        tx = abs(at[0] + hx - o[0]) * ix if step[0] != 0 else np.inf
        ty = abs(at[1] + hy - o[1]) * iy if step[1] != 0 else np.inf
        tz = abs(at[2] + hz - o[2]) * iz if step[2] != 0 else np.inf
        axis = 0 if tx <= ty and tx <= tz else (1 if ty <= tz else 2)
        t = min(tx, ty, tz)
        margin = t * (1.0 + TIE_MARGIN)
        ties = int(tx <= margin) + int(ty <= margin) + int(tz <= margin)
        if ties == 1 and not grazes:
            at[axis] += step[axis]
            code = code_at(skip, at[0], at[1], at[2])
            if code < FREE:
                if t > maximum:
                    return maximum, MAXIMUM, -1, -1
                return t, code, _index(skip, code, at), axis
        else:
            # A near tie is decided exactly: the first face, then all that coincide with it.
            is_near = (tx <= margin, ty <= margin, tz <= margin)
            for k in range(3):
                if is_near[k] and k != axis and _before(at, step, o, d, k, axis) < 0:
                    axis = k
            for k in range(3):
                is_tied = k == axis or (is_near[k] and _before(at, step, o, d, k, axis) == 0)
                tied[k] = step[k] if is_tied else 0
                if is_tied and abs(d[k]) > abs(d[axis]):
                    axis = k
            t = abs(at[axis] + int(step[axis] > 0) - o[axis]) / abs(d[axis])
            code = _lowest(skip, at, sides, tied, met_cell)
            if code < FREE:
                if t > maximum:
                    return maximum, MAXIMUM, -1, -1
                return t, code, _index(skip, code, met_cell), axis
            for k in range(3):
                at[k] += tied[k]
            code = code_at(skip, at[0], at[1], at[2])
        if t > maximum:
            return maximum, MAXIMUM, -1, -1


@_inline_with_arrays
def _before(at, step, o, d, j, k):
    """Compare the next faces along axes j and k: −1 if j is first, 0 for both at once, else 1."""
    return _order(
        at[j] + int(step[j] > 0), o[j], abs(d[k]), at[k] + int(step[k] > 0), o[k], abs(d[j])
    )


@subroutine
def _cast(first, last, skip, origins, directions, maximum, ranges, endings, cells, axes):
    """Cast rays through a grid of either layout; see `cast_rays_3d`."""
    at, step, sides = np.empty(3, np.int64), np.empty(3, np.int64), np.empty(3, np.int64)
    tied, met_cell = np.empty(3, np.int64), np.empty(3, np.int64)
    for k in range(first, last):
        o, d = origins[k], directions[k]
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        reach, endings[k], cells[k], axes[k] = cast_ray(
            skip, o, d, maximum / length, at, step, sides, tied, met_cell
        )
        ranges[k] = maximum if endings[k] == MAXIMUM else reach * length


@kernel(
    "u1[:,:,::1], f8[:,::1], f8[:,::1], f8 -> f8[::1], u1[::1], i8[::1], i8[::1]", over="origins"
)
def cast_rays_3d(first, last, skip, origins, directions, maximum, ranges, endings, cells, axes):
    """Cast rays of any direction length from many origins; see `cast_ray`.

    Args:
        skip: Skip grid of the map (`compute.grids.fields`).
        origins: (x, y, z) in cells, shape (m, 3).
        directions: (x, y, z), shape (m, 3).
        maximum: Longest range, in cells.
        ranges: Output, in cells, shape (m,).
        endings: Output, `Ending` codes, shape (m,).
        cells: Output, flat indices of cells, −1 for none, shape (m,).
        axes: Output, axes normal to the faces, −1 for none, shape (m,).
    """
    _cast(first, last, skip, origins, directions, maximum, ranges, endings, cells, axes)


@kernel(
    "Tuple((i4[:,:,::1], u1[:,:,:,::1], i8[::1])), f8[:,::1], f8[:,::1], f8 "
    "-> f8[::1], u1[::1], i8[::1], i8[::1]",
    over="origins",
)
def cast_rays_by_blocks(
    first, last, skip, origins, directions, maximum, ranges, endings, cells, axes
):
    """Cast rays through a grid that is stored by blocks; see `cast_rays_3d`."""
    _cast(first, last, skip, origins, directions, maximum, ranges, endings, cells, axes)
