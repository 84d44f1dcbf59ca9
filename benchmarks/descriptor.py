"""How fast is the exact descriptor?

    python -m benchmarks.descriptor

Rows: F and F + J per second in the paper's room and on an office floor of about 2000 walls, as
ratios to (a) the S-term sum through the same compiled ray caster, at the same error, and (b) a
plain NumPy version of that sum, all walls against all rays.  Everything is measured in one run.
"""

import time
from collections.abc import Callable

import numpy as np

from isovist.arrays import FloatArray
from isovist.basis import DirectionalBasis
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import CircleSum, Exact
from isovist.paper.example import paper_basis, paper_room
from isovist.poses import unit_vectors
from isovist.simulation.worlds import office_floor

TARGETS = (1e-3, 1e-5)  # errors of the largest channel at which the ways are compared


def seconds_per_point(work: Callable[[], object], points: int, least: float = 0.5) -> float:
    """Best of three, each at least `least` s long."""
    work()
    best = np.inf
    for _ in range(3):
        runs, start = 0, time.perf_counter()
        while time.perf_counter() - start < least:
            work()
            runs += 1
        best = min(best, (time.perf_counter() - start) / (runs * points))
    return best


def numpy_sum(
    world: SegmentMap, points: FloatArray, basis: DirectionalBasis, terms: int
) -> FloatArray:
    """The S-term sum in plain NumPy, all walls against all rays."""
    directions = unit_vectors(2.0 * np.pi * np.arange(terms) / terms)
    weights = 2.0 * np.pi / terms * basis.weights(directions)
    out = np.empty((len(points), len(basis)))
    for i, p in enumerate(points):
        nearest = np.full(terms, np.inf)
        for walls in np.array_split(world.walls, max(1, len(world.walls) * terms // 2_000_000)):
            a, b = walls[:, :2] - p, walls[:, 2:] - p
            ca = directions[:, :1] * a[:, 1] - directions[:, 1:] * a[:, 0]
            cb = directions[:, :1] * b[:, 1] - directions[:, 1:] * b[:, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / (cb - ca)
            hit = ((ca > 0.0) != (cb > 0.0)) & (t > 0.0)
            np.minimum(nearest, np.where(hit, t, np.inf).min(axis=1), out=nearest)
        out[i] = nearest @ weights
    return out


def fewest_terms(
    world: SegmentMap, points: FloatArray, basis: DirectionalBasis, error: float
) -> int:
    """Smallest power of two S whose sum errs by at most `error` at the median point."""
    exact, _ = Descriptor(basis, quadrature=Exact(1e-14)).at(world, points)
    terms = 64
    while True:
        F, _ = Descriptor(basis, quadrature=CircleSum(terms)).at(world, points)
        if np.median(np.abs(F - exact).max(axis=1)) <= error or terms >= 2**22:
            return terms
        terms *= 2


def rows(name: str, world: SegmentMap, points: FloatArray, error: float) -> None:
    """Print the rows of one map at one error."""
    basis = paper_basis()
    ours = Descriptor(basis, quadrature=Exact(error / 10.0))
    best, _ = Descriptor(basis, quadrature=Exact(1e-14)).at(world, points)
    reached = np.abs(ours.at(world, points)[0] - best).max()
    fast = 1.0 / seconds_per_point(lambda: ours.at(world, points), len(points))
    both = 1.0 / seconds_per_point(lambda: ours.at(world, points, jacobian=True), len(points))
    print(f"| {name} | exact | {reached:.0e} (worst) | {fast:.0f} | 1 | {both:.0f} |")
    few = points[:8]
    terms = fewest_terms(world, few, basis, error)
    plain = Descriptor(basis, quadrature=CircleSum(terms))
    slow = 1.0 / seconds_per_point(lambda: plain.at(world, few), len(few))
    print(
        f"| | S-term sum, S = {terms} | {error:.0e} (median) | {slow:.2g} | {fast / slow:.0f} | |"
    )
    if terms * len(world.walls) <= 10**9:
        plainest = 1.0 / seconds_per_point(
            lambda: numpy_sum(world, points[:1], basis, terms), 1, least=0.2
        )
        print(f"| | the same in NumPy | | {plainest:.2g} | {fast / plainest:.0f} | |")


def main() -> None:
    rng = np.random.default_rng(0)
    print("| map | way | error | F/s | exact is faster by | (F, J)/s |")
    print("|---|---|---|---|---|---|")
    floor = office_floor(3, length=50.0, rows=6).reality
    for name, world in (("paper's room", paper_room()), (f"{len(floor.walls)} walls", floor)):
        points = rng.uniform(*world.bounds, (6000, 2))
        points = points[world.contains(points) & (world.clearance(points) > 0.05)][:2000]
        for error in TARGETS:
            rows(name, world, points, error)


if __name__ == "__main__":
    main()
