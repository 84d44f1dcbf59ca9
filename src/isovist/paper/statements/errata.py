"""Statements that a second reading found wrong as printed, each with a counter-example, and
two signals that the paper names and that its own example does not use.

Each is tried on one case that decides it, on 2D maps of line segments.
"""

import numpy as np

from isovist import DirectionalBasis, Intensity, SegmentMap, SurfaceGradient
from isovist.arrays import FloatArray
from isovist.paper import DescriptorGrid, gramians, paper_basis, paper_room
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.example import REGION, SPACING
from isovist.paper.statements.statement import Finding, Statement, Trial
from isovist.poses import unit_vectors
from isovist.sensing import Signal

_RAYS = 1 << 16


def hard_gap(n: int) -> float:
    """Return ‖f‖² − ‖P f‖² of the range at (1.5, 2) for n hard bins of equal width."""
    angles = 2.0 * np.pi * (np.arange(_RAYS) + 0.5) / _RAYS
    f = paper_room().cast([1.5, 2.0], unit_vectors(angles)).ranges
    step = 2.0 * np.pi / _RAYS
    sums = np.bincount((np.arange(_RAYS) * n) // _RAYS, f * step, minlength=n)
    return float((f * f).sum() * step - (sums**2).sum() * n / (2.0 * np.pi))


def _hard_parseval(_trial: Trial) -> Finding:
    gaps = [hard_gap(n) for n in (16, 256, 4096)]
    values = ", ".join(f"{gap:.4f}" for gap in gaps)
    # As printed the gap would not close.
    return Finding(3, 1.0 - gaps[-1] / gaps[0], 0.5, f"gaps {values} for n = 16, 256, 4096")


def longer_is_worse() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, λ_min(W) and the dynamic bound of a room and then a corridor, η = 1e-3."""
    outline = [(0, 0), (3, 0), (3, 1), (40, 1), (40, 2), (3, 2), (3, 3), (0, 3)]
    world = SegmentMap.from_polygons([outline])
    times = np.linspace(0.0, 30.0, 121)
    places = np.stack([1.5 + times, np.full_like(times, 1.5)], axis=1)
    _, J = Descriptor(DirectionalBasis.circle(8, 0.5)).at(world, places, jacobian=True)
    step = np.full(len(times), times[1] - times[0])
    W = gramians(J, step)
    L = np.maximum.accumulate(np.linalg.norm(J, ord=2, axis=(1, 2)))
    smallest = np.asarray(np.linalg.eigvalsh(W)[:, 0], np.float64)
    return times, smallest, np.asarray(2.0 * L / smallest * 1e-3 * np.cumsum(step), np.float64)


def _improves(_trial: Trial) -> Finding:
    _, smallest, bound = longer_is_worse()
    first = int(bound.argmin())
    text = (
        f"a room, then a corridor: λ_min {smallest[first]:.2f} to {smallest[-1]:.2f}, "
        f"the bound {bound[first]:.4f} to {bound[-1]:.4f} m"
    )
    return Finding(1, float(bound[-1] / bound[first]), 1.0, text)


def _equivalence(_trial: Trial) -> Finding:
    world, basis = SegmentMap.room(6.0, 4.0), DirectionalBasis.circle(2, 0.5)
    path = np.stack([np.linspace(1.0, 5.0, 9), np.full(9, 2.0)], axis=1)
    _, J = Descriptor(basis).at(world, path, jacobian=True)
    blind = float(np.abs(J[:, :, 1]).max())
    # As printed, u = y would have to be a translational symmetry of a rectangle.
    text = f"a rectangle, two directions, along the midline: |J u| ≤ {blind:.0e} for u across it"
    return Finding(len(path), float(blind < 1e-9), 0.0, text)


def _counting(_trial: Trial) -> Finding:
    _, J = Descriptor(paper_basis()).at(paper_room(), [1.5, 1.5], jacobian=True)
    n, d = J.shape
    equations = (J @ np.ones(d)).size
    return Finding(1, n * d / equations, 1.0, f"J u = 0 is {equations} equations, not {n * d}")


def _steering(_trial: Trial) -> Finding:
    _, J = Descriptor(paper_basis()).at(paper_room(), [1.5, 1.5], jacobian=True)
    u = np.linalg.eigh(J.T @ J)[1][:, 0]
    rates = [float((J @ u) @ (J @ u)) for _v in unit_vectors(np.arange(8.0))]
    equal_rates = sum(rate == rates[0] for rate in rates)
    text = f"{equal_rates} directions of motion, one rate {rates[0]:.3f}"
    return Finding(8, float(equal_rates), 1.0, text)


def _covering(_trial: Trial) -> Finding:
    world = paper_room()
    grid = DescriptorGrid.over(world, Descriptor(paper_basis()), SPACING, region=REGION)
    axes = np.meshgrid(np.arange(0.01, 6.0, 0.01), np.arange(0.01, 4.0, 0.01))
    places = np.stack(axes, axis=-1).reshape(-1, 2)
    places = places[world.contains(places)]
    from scipy.spatial import cKDTree

    radius = float(np.max(cKDTree(grid.nodes).query(places)[0]))
    text = f"{len(grid.nodes)} nodes, h = {SPACING:g}: a place is {radius:.2f} m from all of them"
    return Finding(1, radius, SPACING, text)


def _slopes(trial: Trial, signal: Signal) -> Finding:
    """Compare J of a signal on walls with differences of F, in the paper's room."""
    room = paper_room()
    rng = trial.rng
    world = SegmentMap.from_segments(
        room.walls, free=room.free, reflectance=rng.uniform(0.1, 0.9, len(room.walls)),
        attribute=rng.uniform(0.0, 2.0, (len(room.walls), 2)),
    )  # fmt: skip
    descriptor, worst, step = Descriptor(paper_basis(), signal), 0.0, 1e-5
    places = rng.uniform((0.2, 0.2), (5.8, 3.8), (4 * trial.cases, 2))
    places = places[(world.clearance(places) > 0.05) & world.contains(places)][: trial.cases]
    _, J = descriptor.at(world, places, jacobian=True)
    for k, e in enumerate(step * np.eye(2)):
        F = [descriptor.at(world, places + sign * e)[0] for sign in (1.0, -1.0)]
        gap = np.abs((F[0] - F[1]) / (2.0 * step) - J[..., k]).max(axis=1)
        # Across a line through two corners J jumps; a median tells the rest.
        worst = max(worst, float(np.median(gap)))
    return Finding(len(places), worst, 1e-6)


_G = "second reading"
STATEMENTS = (
    Statement(_G, "§5.3 Remark: Parseval fails for hard bins", "share of the gap that closes",
              _hard_parseval, "as printed", False, (2,)),
    Statement(_G, "§6.2 Remark: the dynamic bound improves with time",
              "bound at the end / its least", _improves, "as printed", False, (2,)),
    Statement(_G, "§6.3 Remark: J u = 0 along the way is translational symmetry",
              "1 if J u = 0 without one", _equivalence, "as printed", False, (2,)),
    Statement(_G, "§6.3 Remark: counting constraints", "nd / equations", _counting,
              "as printed", False, (2,)),
    Statement(_G, "§6.4 Active exploration: the rate tells directions apart",
              "directions with the same rate", _steering, "as printed", False, (2,)),
    Statement(_G, "§7 Example: 35 nodes cover M with h = 0.5", "covering radius, m", _covering,
              "as printed", False, (2,)),
    Statement(_G, "§3 Definition: intensity as a signal, its J", "|J − differences|, median",
              lambda t: _slopes(t, Intensity()), "", True, (2,)),
    Statement(_G, "§3 Definition: surface gradient as a signal, its J",
              "|J − differences|, median", lambda t: _slopes(t, SurfaceGradient()), "", True, (2,)),
)  # fmt: skip
