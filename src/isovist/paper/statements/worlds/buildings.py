"""Statements tried on 3D buildings: an extruded plan as a mesh, and the same in cells.

Features are sums over one rule for signals and weights alike, so what holds for integrals holds for
them to rounding, whatever the map.
"""

import numpy as np

from isovist import Cell, DirectionalBasis, MeshMap, VoxelMap
from isovist.arrays import FloatArray
from isovist.paper import KEEP, EqualArea, displacement, sharp_constant
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.gram.gram import Gram
from isovist.paper.statements.statement import (
    Finding,
    Statement,
    Trial,
    each_room,
    shares,
    worst_of,
)
from isovist.paper.statements.worlds.cases import nudged, random_basis
from isovist.paper.statements.worlds.scenes import free_points, random_room

_TERMS = 2000
_CELL = 0.1  # m
_HEIGHT = 2.5  # m


def random_building(
    rng: np.random.Generator, count: int, cells: bool
) -> tuple[MeshMap | VoxelMap, FloatArray]:
    """Return a random room with walls, floor and ceiling, and places in it, shape (count, 3)."""
    plan = random_room(rng)
    flat = free_points(plan, rng, count, clearance=0.3)
    points = np.concatenate([flat, rng.uniform(0.4, _HEIGHT - 0.4, (count, 1))], axis=1)
    mesh = MeshMap.extrude(plan, 0.0, _HEIGHT)
    if not cells:
        return mesh, points
    shape = [int(k) for k in np.ceil(mesh.bounds[1] / _CELL)][::-1]
    z, y, x = np.meshgrid(*((np.arange(k) + 0.5) * _CELL for k in shape), indexing="ij")
    free = mesh.contains(np.stack([x, y, z], axis=-1))
    # A thin wall occupies the cells within half a cell of it.
    near = plan.clearance(np.stack([x[0], y[0]], axis=-1)) < 0.5 * _CELL
    wall = Cell.OCCUPIED
    return VoxelMap.from_array(np.where(free & ~near, Cell.FREE, wall), _CELL), points


def _stable(trial: Trial) -> Finding:
    ratios = []
    for k, count in enumerate(shares(trial.cases, 8)):
        world, p = random_building(trial.rng, count, cells=k % 2 == 1)
        basis = random_basis(trial.rng, 3, low=0.1)
        other = nudged(trial.rng, basis, 0.05)
        F, H = (Descriptor(r, quadrature=EqualArea(_TERMS)).at(world, p)[0] for r in (basis, other))
        bound = sharp_constant(basis) * displacement(basis, other) * F.sum(axis=1)
        ratios.append(np.abs(F - H).sum(axis=1) / bound)
    return worst_of(np.concatenate(ratios), 1.0 + 1e-9)


def _projected(trial: Trial) -> Finding:
    """Compare |f| from F with the norm of the projection of the ranges onto the span."""
    rule = EqualArea(_TERMS).rule()
    root = np.sqrt(rule.coefficients)
    off = []
    for k, count in enumerate(shares(trial.cases, 8)):
        world, p = random_building(trial.rng, count, cells=k % 2 == 1)
        basis = DirectionalBasis.fibonacci(
            int(trial.rng.integers(8, 65)), float(trial.rng.uniform(0.1, 0.6))
        )
        f = world.cast(p[:, None], rule.directions).ranges
        F, _ = Descriptor(basis, quadrature=EqualArea(_TERMS)).at(world, p)
        U, s, _ = np.linalg.svd(root[:, None] * basis.weights(rule.directions), full_matrices=False)
        direct = np.linalg.norm((f * root) @ U[:, s > KEEP * s[0]], axis=1)
        seminorm = Gram.from_rule(basis, rule).seminorm(F)
        off.append(np.abs(seminorm - direct) / np.linalg.norm(f * root, axis=1))
    return worst_of(np.concatenate(off), 1e-6)


@each_room(0.15, 4)
def _agreement(trial: Trial, count: int) -> FloatArray:
    """Return how much a building of cells differs from the same one of triangles."""
    seed = int(trial.rng.integers(1 << 30))
    describe = Descriptor(
        DirectionalBasis.fibonacci(int(trial.rng.integers(8, 25))), quadrature=EqualArea(_TERMS)
    )
    (mesh, p), (cells, _) = (
        random_building(np.random.default_rng(seed), count, cells=k) for k in (False, True)
    )
    F, H = describe.at(mesh, p)[0], describe.at(cells, p)[0]
    return np.abs(F - H).sum(axis=1) / F.sum(axis=1)


STATEMENTS = (
    Statement("signal space", "§5.3 Proposition: |f| is the norm of a projection, in buildings",
              "||f| − ‖P f‖| / ‖f‖ on meshes and cells", _projected, dimensions=(3,)),
    Statement("stability", "§5.5 Proposition: the same in buildings",
              "‖F − F′‖₁ / (δ ‖f‖₁/ε) on meshes and cells", _stable, "corrected", dimensions=(3,)),
    Statement("map space", "§5.6 Features of one building as a mesh and in cells of 0.1 m",
              "‖F − F′‖₁ / ‖F‖₁", _agreement, dimensions=(3,)),
)  # fmt: skip
