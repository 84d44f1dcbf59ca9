"""Every pose of a map whose worth by the judge's formula reaches a floor: none can be missed.

With w_i = 1 / (blocks of the column of beam i × beams of its block), what a scan of m beams and C
columns is worth from a pose, `decide` (1), is a weighted sum over its beams,

    L = Σ_i w_i ℓ_i + κ C (e − u),        Σ_i w_i = C,                                      (1)

and the mean rating is the same with w_i = 1/m and κ = 0.  A beam is explained only where it ends
within 3σ of a wall, so that (1) has a ceiling over a box of poses as the mean rating does
(`branch_and_bound`, by where beams end): deficits of beams count w_i times, and a beam that
ends farther off than 3σ from all of the box lacks κ C / m besides.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.matching.beams import Beams
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.localization.verification.branch_and_bound import distance_margins, split_boxes
from isovist.localization.verification.pose_boxes import SearchLevel
from isovist.localization.verification.upper_bounds import (
    FRONTIER_CLASSES,
    WALL_CLASSES,
    UpperBoundMap,
)

UNITS = 4096.0
"""Deficits are counted in parts of a nat, rounded down: 180 beams lose 0.05 nats by that."""
SIZES = ProofSettings(min_box_m=0.05, max_boxes=2_000_000)
"""Boxes end at a cell of 5 cm and 0.75°; where 250 000 are left before the last round, at twice
that, still within the first step of the second fit; and where so many are left before that, the
search is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """Equation (1) for some beams.

    Attributes:
        weights: w_i, at most 1, shape (m,).
        explained: κ C, in nats.
    """

    weights: FloatArray
    explained: float

    @classmethod
    def of_judge(cls, beams: Beams, settings: LocalizationSettings) -> "Worth":
        """L of `decide` (1)."""
        block, column = beams.block_of, beams.column_of
        blocks = np.diff(beams.columns, append=beams.blocks)
        weights = 1.0 / (np.bincount(block)[block] * blocks[column])
        return cls(weights, settings.scoring.explained_weight * len(beams.columns))

    @classmethod
    def of_ratings(cls, beams: Beams) -> "Worth":
        """The sum of the ratings: m times their mean."""
        return cls(np.ones(len(beams)), 0.0)

    def tables(
        self, z: FloatArray, model: FloatArray, half: tuple[float, float], unit: float
    ) -> tuple[NDArray[np.uint16], float]:
        """Deficits of beams by code, shape (m, 256), and the most that all of them can be worth.

        Args:
            z: Lengths of the beams in m, shape (m,).
            model: What a beam is worth.
            half: Half the width of the boxes in m and rad.
            unit: Side of a cell in m.
        """
        from isovist.compute.branch_and_bound.upper_bounds import tabulate

        taken = distance_margins(z, *half, unit)
        plain, tops = np.zeros((len(z), 256), dtype=np.uint16), np.empty(len(z))
        tabulate(model, z, WALL_CLASSES, FRONTIER_CLASSES, taken, 1.0 / UNITS, plain, tops)
        lost = self.weights[:, None] * plain
        misses = np.repeat(WALL_CLASSES, len(FRONTIER_CLASSES)) - taken[:, :1]
        astray = misses > 3.0 * model[0] + 1e-6
        lost[:, : misses.shape[1]] += self.explained / len(z) * UNITS * astray
        most = float(self.weights @ tops) + self.explained
        return np.minimum(lost, 65535.0).astype(np.uint16), most


def boxes(
    atlas: PlaneAtlas,
    beams: Beams,
    worth: Worth,
    floor: float,
    settings: LocalizationSettings,
    sizes: ProofSettings = SIZES,
) -> FloatArray | None:
    """Boxes of the last sizes that may hold a pose worth the floor; no other pose of free space is.

    Args:
        atlas: The map, described.
        beams: Of the scan.
        worth: What a pose is worth.
        floor: Least worth that counts, in nats.
        settings: Give the model of a beam.
        sizes: Of the boxes.

    Returns:
        Middle (x, y, yaw) and half the width of each, in cells and rad, and the most that it may be
        worth in nats, highest first, shape (n, 6); `None` when there are too many.
    """
    bound_map, unit = UpperBoundMap.of(atlas), atlas.world.resolution
    model, z = atlas.model(settings.model), np.hypot(*beams.ends.T)
    size, turns = sizes.first(unit)
    cells, heads, order, share = (
        bound_map.free_squares(size).astype(np.int64),
        np.arange(turns),
        None,
        1,
    )
    while True:
        width, turn = size / share, math.pi / turns
        tables, most = worth.tables(z, model, (0.5 * width * unit, turn), unit)
        budget = (most - floor) * UNITS
        if budget < 0.0:
            return np.empty((0, 6))
        level = SearchLevel(bound_map, beams.ends / unit, width, 2.0 * turn, tables, budget)
        if order is None:
            order = level.beam_order(cells, heads)
            bounded = level.bound_all(cells, heads, order)
        else:
            bounded = level.bound_boxes(cells, heads, order)
        if len(bounded.cells) == 0:
            return np.empty((0, 6))
        many = 8 * len(bounded.cells) > sizes.max_boxes
        if width * unit <= (2.0 if many else 1.0) * sizes.min_box_m:
            break
        if many:
            return None
        size, share, turns = (size // 2, 1, 2 * turns) if size > 1 else (1, 2 * share, 2 * turns)
        cells, heads = split_boxes(
            bounded.cells, bounded.headings, halves_headings=True, parts=share
        )
        if share == 1:
            is_free = bound_map.has_free_cell(cells, size)
            cells, heads = cells[is_free], heads[is_free]
    n = len(bounded.cells)
    rows = np.column_stack(
        [(bounded.cells + 0.5) * width, (bounded.headings + 0.5) * 2.0 * turn,
         np.full(n, 0.5 * width), np.full(n, turn), most - bounded.deficits / UNITS]
    )  # fmt: skip
    return np.asarray(rows[np.argsort(-rows[:, 5], kind="stable")])
