"""Prove that every beam of a box of poses meets a wall.

The rays that leave a box of places within b of a direction sweep a wedge.  It is walked line by
line along its main axis (columns of cells for rays that run along rows).  On each line a word of
bits marks the cells of the wedge that a ray can be in:

    reached' = fill((reached ∪ its neighbours ∪ where rays begin) ∩ free),                (1)

where `fill` spreads along free cells of the line. The marked cells include all that rays reach, so
when none is left every ray has met a wall. If the wedge is wider than a word, or a ray can enter
unknown space, nothing is claimed. Lines among free cells only are jumped over.
"""

import math

import numpy as np

from isovist.compute.branch_and_bound.upper_bounds import rating_bound
from isovist.compute.fitting.endpoints import distance_at
from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.likelihood.beam_model import SLACK, SLACK_SHARE, WALL
from isovist.compute.rays.grid2d import cast_ray

NO_BITS, FIRST_BIT = np.uint64(0), np.uint64(1)
MAX_WEDGE_BITS = 62
UNKNOWN_START = -(1 << 40)


@subroutine
def _shifted(word, by):
    """Move a word of bits towards the first bit by `by`, which may be negative."""
    if by >= 64 or by <= -64:
        return NO_BITS
    return word >> np.uint64(by) if by >= 0 else word << np.uint64(-by)


@subroutine
def _window(words, line, first):
    """Return 64 bits of a line, from bit `first` on."""
    i, s = first >> 6, first & 63
    bits = words[line, i] >> np.uint64(s)
    if s:
        bits |= words[line, i + 1] << np.uint64(64 - s)
    return bits


@subroutine
def _fill(reached, free):
    """Return the runs of `free` that hold a bit of `reached`, which is part of it."""
    up = (free & ~(free + reached)) | reached
    down, run = reached, free
    for k in range(6):
        step = np.uint64(1 << k)
        down |= run & (down >> step)
        run &= run >> step
    return up | down


@subroutine
def _meets(walls, unknown, skip, by_columns, is_flipped, bits, u, v, a, b, angle, reach):
    """Prove that all rays meet a wall within reach, along the axis u of lines.

    `clear[row, column]` is the border of one cell wide `skip` grid; lines are its columns when
    `by_columns`, and count from the far end when `is_flipped`.
    """
    lines = walls.shape[0]
    slowest = min(math.cos(angle - b), math.cos(angle + b))
    lower, middle, upper = math.tan(angle - b), math.tan(angle), math.tan(angle + b)
    line, last = math.floor(u - a), math.floor(u + a)
    # A ray that stops in a line has gone no farther than to the end of the line.
    end = min(math.floor(u - a + reach * slowest) - 1, lines - 1)
    begin, until = math.floor(v - a), math.floor(v + a)
    if line < 0:
        return False
    reached, first = NO_BITS, 0
    while line <= end:
        near, far = max(0.0, line - u - a), line + 1.0 - u + a
        low = math.floor(v - a + min(lower * near, lower * far))
        high = math.floor(v + a + max(upper * near, upper * far))
        if low < 0 or high >= bits or high - low >= MAX_WEDGE_BITS:
            return False
        if line > last:
            across = math.floor(v + middle * (line + 0.5 - u))
            along = lines - 1 - line if is_flipped else line
            free_distance = int(
                skip[across + 1, along + 1] if by_columns else skip[along + 1, across + 1]
            )
            # All cells within d − 1 of a cell are free; the wedge widens by less than it advances.
            jump = free_distance - 2 - (high - low + 1) // 2 - 4
            if jump > 0:
                line += max(1, jump >> 1)
                first = UNKNOWN_START
                continue
        free = ~_window(walls, line, low) & ((FIRST_BIT << np.uint64(high - low + 1)) - FIRST_BIT)
        if first == UNKNOWN_START:
            reached = free
        else:
            by = low - first
            spread = _shifted(reached, by) | _shifted(reached, by + 1) | _shifted(reached, by - 1)
            if line <= last:
                starts = ((FIRST_BIT << np.uint64(until - begin + 1)) - FIRST_BIT) << np.uint64(
                    begin - low
                )
                spread |= starts
            reached = _fill(spread & free, free)
        if reached & _window(unknown, line, low) != NO_BITS:
            return False
        if reached == NO_BITS and line >= last:
            return True
        first = low
        line += 1
    return False


@subroutine
def meets_wall(walls, unknown, skip, x, y, a, b, angle, reach):
    """Prove that every ray of a box meets a wall within reach, and nothing unknown before.

    Args:
        walls: Bits of the occupied cells: columns from the left and from the right, rows from
            below and from above, each of shape (lines, words).
        unknown: Bits of the unknown cells, laid out like `walls`; cells beyond the map are unknown.
        skip: The skip grid of the map (`compute.rays.grid2d`).
        x: Column of the middle of the box, in cells.
        y: Row of the middle of the box, in cells.
        a: Half width of the box in cells.
        b: Largest deviation of a ray from `angle`, in rad, at most 0.2.
        angle: Direction of the middle ray, in rad.
        reach: Range within which all rays must meet a wall, in cells.
    """
    height, width = skip.shape[0] - 2, skip.shape[1] - 2
    c, s = math.cos(angle), math.sin(angle)
    if abs(c) >= abs(s):
        back = c < 0.0
        along = width - x if back else x
        side = 1 if back else 0
        turn = math.atan2(s, abs(c))
        return _meets(
            walls[side], unknown[side], skip, True, back, height, along, y, a, b, turn, reach
        )
    back = s < 0.0
    along = height - y if back else y
    side = 3 if back else 2
    turn = math.atan2(c, abs(s))
    return _meets(walls[side], unknown[side], skip, False, back, width, along, x, a, b, turn, reach)


@kernel(
    "f4[:,::1], u1[:,::1], i8, f8[::1], UniTuple(u8[:,::1], 4), UniTuple(u8[:,::1], 4), u1[:,::1], "
    "f8, f8[::1], f8[:,::1], f8[:,::1], f8, f8, f8[::1], f8[::1], f8 -> f8[::1], i8[::1]",
    over="boxes",
)
def bound_small_boxes(
    first, last, field, codes, pad, frontiers, walls, unknown, skip, cell, model, ends, boxes, a,
    b, through_deficits, max_ratings, budget, deficits, wedge_counts,
):  # fmt: skip
    """Bound the deficits of small boxes, in nats, by ends of beams and by walls in between.

    Distances are interpolated here, which changes by at most √2 times the way.

    Args:
        field: D in cells, shape (height, width).
        codes: Codes of `compute.branch_and_bound.upper_bounds`, padded; the class of U is the code
            modulo the number of `frontiers`.
        pad: Cells around the map in `codes`.
        frontiers: Least U of each class in m.
        walls: Bits of the occupied cells; see `meets_wall`.
        unknown: Bits of the unknown cells; see `meets_wall`.
        skip: Skip grid of the map; see `meets_wall`.
        cell: Side of a cell in m.
        model: Row of the beam model (`compute.likelihood.beam_model`), shape (10,).
        ends: Ends of the beams in the frame of the sensor, in m, shape (m, 2); first those with the
            largest `through_deficits`.
        boxes: Middle (x, y, yaw) in cells and rad, shape (n, 3).
        a: Half width of the boxes in cells.
        b: Half width of the boxes in rad.
        through_deficits: Deficit of a beam that has gone through a wall, shape (m,).
        max_ratings: Largest rating of each beam, in nats, shape (m,).
        budget: Largest deficit of a pose that is good enough, in nats.
        deficits: Output, shape (n,); more than the budget for boxes that are dropped.
        wedge_counts: Output, number of wedges walked for each box, shape (n,).
    """
    height, width = codes.shape
    m = len(ends)
    for i in range(first, last):
        x, y, yaw = boxes[i, 0], boxes[i, 1], boxes[i, 2]
        c, s = math.cos(yaw), math.sin(yaw)
        beam_deficits = np.empty(m)
        total, possible_gain, count = 0.0, 0.0, 0
        for k in range(m):
            u, v = ends[k, 0], ends[k, 1]
            z = math.hypot(u, v)
            end_shift = math.sqrt(2.0) * a * cell + 2.0 * z * math.sin(0.5 * b)
            u, v = x + (c * u - s * v) / cell, y + (s * u + c * v) / cell
            to_wall = distance_at(field, u, v)[0] * cell - math.sqrt(2.0) * end_shift
            column = min(max(math.floor(u) + pad, 0), width - 1)
            row = min(max(math.floor(v) + pad, 0), height - 1)
            to_unknown = (
                frontiers[codes[row, column] % len(frontiers)] - end_shift - math.sqrt(0.5) * cell
            )
            beam_deficits[k] = max(
                0.0, max_ratings[k] - rating_bound(model, z, to_wall, to_unknown)
            )
            total += beam_deficits[k]
            possible_gain += max(0.0, through_deficits[k] - beam_deficits[k])
            if total > budget:
                break
        for k in range(m):
            if not total + possible_gain > budget >= total:
                break
            gain = through_deficits[k] - beam_deficits[k]
            if gain <= 0.0:
                continue
            possible_gain -= gain
            u, v = ends[k, 0], ends[k, 1]
            z = math.hypot(u, v)
            reach = (z - model[SLACK] - model[SLACK_SHARE] * z - 1e-6) / cell
            # If the middle ray meets no wall within reach, not all rays do.
            if cast_ray(skip, x, y, c * u - s * v, s * u + c * v, reach / z)[1] == WALL:
                count += 1
                if meets_wall(walls, unknown, skip, x, y, a, b, yaw + math.atan2(v, u), reach):
                    total += gain
        deficits[i] = total
        wedge_counts[i] = count
