"""Statements about degenerate maps, and what "generic" can mean (§6.3).

The corners v of its walls determine a map.  Where no corner passes behind another, ranges are
rational in v, the weights are analytic, and so is

    D(v) = det W(v) = det ∫ JᵀJ dt.                                                          (1)

A function that is analytic on a connected open set vanishes on all of it or on a set that is
nowhere dense and of measure zero.  Consider a cell of maps whose corners become visible in one
order.  If one map of the cell has D > 0, which can be tried, the remark is a theorem on the cell.

Beyond that it is wrong. In a family of maps with a common symmetry every map is degenerate. With a
maximum range so is every map whose walls are farther away.
"""

import numpy as np

from isovist import DirectionalBasis, Range, SegmentMap
from isovist.arrays import FloatArray
from isovist.paper import gramians
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.statements.statement import Finding, Statement, Trial

_REACH = 5.0
"""Longest range, in m."""
_ROUNDING = 1e-12
"""λ_min(W) that is none."""
_MOVES = (0.01, 0.1)
"""How far corners are moved, in m."""


def min_eigenvalue(corners: FloatArray) -> float:
    """Return λ_min(W) of 2 m through a room of corners, (k, 2), counter-clockwise."""
    t = np.linspace(0.0, 1.0, 9)
    path = np.stack([2.0 * t - 1.0, 0.2 * np.sin(3.0 * t)], axis=1)
    world = SegmentMap.from_polygons([corners])
    _, J = Descriptor(DirectionalBasis.circle(8, 0.5), Range(_REACH)).at(world, path, jacobian=True)
    return float(np.linalg.eigvalsh(gramians(J, np.full(len(t), 0.125))[-1])[0])


def rectangle(length: float, width: float) -> FloatArray:
    """Return the corners of a room about the origin in m, two more on each long wall, (8, 2)."""
    x, y = 0.5 * length, 0.5 * width
    low = np.stack([np.array([-x, -2.0, 2.0, x]), np.full(4, -y)], axis=1)
    return np.concatenate([low, -low])


def _families(trial: Trial) -> Finding:
    """Share of degenerate maps among corridors whose ends cannot be seen."""
    widths = trial.rng.uniform(1.0, 3.0, trial.cases)
    eigenvalues = [min_eigenvalue(rectangle(60.0, float(width))) for width in widths]
    share = float(np.mean(np.array(eigenvalues) < _ROUNDING))
    text = f"corridors 1 to 3 m wide: {share:.0%} are degenerate, λ_min(W) ≤ {max(eigenvalues):.0e}"
    return Finding(trial.cases, share, 0.0, text)


def _out_of_reach(trial: Trial) -> Finding:
    """Share of degenerate maps near a hall whose walls are all out of reach."""
    hall, eigenvalues = rectangle(16.0, 16.0), []
    for _ in range(trial.cases):
        eigenvalues.append(min_eigenvalue(hall + trial.rng.uniform(-0.5, 0.5, hall.shape)))
    share = float(np.mean(np.array(eigenvalues) < _ROUNDING))
    text = f"walls beyond {_REACH:g} m, corners moved by up to 0.5 m: {share:.0%} are degenerate"
    return Finding(trial.cases, share, 0.0, text)


def _nowhere_dense(trial: Trial) -> Finding:
    """Check that λ_min = c s², c > 0, as corners of a degenerate corridor move by s."""
    worst, start = 0.0, rectangle(60.0, 2.0)
    for _ in range(trial.cases):
        along = trial.rng.uniform(-0.5, 0.5, start.shape)
        near, far = (min_eigenvalue(start + step * along) / step**2 for step in _MOVES)
        worst = max(worst, abs(near / far - 1.0) if min(near, far) > 0.0 else np.inf)
    return Finding(trial.cases, worst, 0.5)


_G = "second reading"
STATEMENTS = (
    Statement(_G, "§6.3 Remark: degenerate maps have measure zero in any family",
              "share that is degenerate", _families, "as printed", False, (2,)),
    Statement(_G, "§6.3 Remark: degenerate maps have empty interior, for ranges that are cut off",
              "share that is degenerate", _out_of_reach, "as printed", False, (2,)),
    Statement(_G, "§6.3 Remark: degenerate maps are nowhere dense among all corners",
              "change of λ_min(W)/s², corners moved by s", _nowhere_dense, "corrected", True, (2,)),
)  # fmt: skip
