"""Statements about static localization (§6.1).

The corrected bound is tried on small cubes M with a lattice of nodes in them. κ is 1.25 times the
largest ‖J(x) − J(p*)‖ over the nodes and an equal number of random places; L is computed in the
same way.  So the neighbourhood in which F inverts is M itself, and no alias can lie outside it.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import shapely
from scipy.spatial import cKDTree

from isovist import DirectionalBasis, Range, SegmentMap
from isovist.arrays import FloatArray
from isovist.paper import DescriptorGrid, MapField, injectivity
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.settings import BoundSettings
from isovist.paper.statements.statement import Finding, Statement, Trial, each, each_room, worst_of
from isovist.paper.statements.worlds.cases import (
    RoomField,
    directions,
    field_points,
    random_field,
    words,
)
from isovist.paper.statements.worlds.scenes import free_points, random_room
from isovist.poses import unit_vectors
from isovist.settings import default_of

MARGIN = default_of(BoundSettings).margin


@each_room(1.0, 10)
def _covering(trial: Trial, count: int) -> FloatArray:
    room = random_room(trial.rng)
    grid = DescriptorGrid.over(room, Descriptor(DirectionalBasis.circle(4, 0.5)), 0.4)
    p = free_points(room, trial.rng, count, 1e-6)
    return np.asarray(cKDTree(grid.nodes).query(p)[0]) / grid.covering_radius


class _Cube:
    """Nodes of a lattice in a small cube, with F and J there and at as many random places."""

    def __init__(
        self, trial: Trial, field: RoomField, half: float = 0.15, pitch: float = 0.05
    ) -> None:
        d = trial.dimension
        self.field, self.half = field, half
        self.centre = field_points(trial.rng, field, 1, 0.6)[0]
        ticks = np.arange(-half, half + 1e-9, pitch)
        lattice = np.stack(np.meshgrid(*[ticks] * d), axis=-1).reshape(-1, d)
        self.nodes = self.centre + lattice
        self.radius = 0.5 * pitch * np.sqrt(d)
        self.F, J = field.at(self.nodes)
        samples = self.centre + trial.rng.uniform(-half, half, (min(len(lattice), 100), d))
        self.J = np.concatenate([J, field.at(samples)[1]])
        self.L = MARGIN * float(np.linalg.norm(self.J, ord=2, axis=(1, 2)).max())

    def localize(
        self, trial: Trial, noise: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return p*, p̂, η, ‖F(p̂) − F(p*)‖, μ and κ for each of 25 true places."""
        p = self.centre + trial.rng.uniform(-self.half, self.half, (25, trial.dimension))
        F, J = self.field.at(p)
        eta = noise * trial.rng.uniform(0.0, 1.0, len(p))
        observed = F + eta[:, None] * directions(trial.rng, F.shape[1], len(p))
        best = np.linalg.norm(self.F - observed[:, None], axis=2).argmin(axis=1)
        off = np.linalg.norm(self.F[best] - F, axis=1)
        mu = injectivity(J)
        kappa = np.array([np.linalg.norm(self.J - j, ord=2, axis=(1, 2)).max() for j in J])
        return p, self.nodes[best], eta, off, mu, MARGIN * kappa


def _cubes(trial: Trial) -> Iterator[_Cube]:
    """Yield cubes in random rooms, for 25 cases each."""
    for _ in range(-(-trial.cases // 25)):
        yield _Cube(trial, random_field(trial.rng, trial.dimension))


def _first_line(trial: Trial) -> Finding:
    """Return ‖p̂ − p*‖/h: the proof begins by taking it to be at most 1."""
    ratios: list[float] = []
    notes: list[str] = []
    for cube in _cubes(trial):
        p, nodes, *_ = cube.localize(trial, 0.0)
        error = np.linalg.norm(nodes - p, axis=1)
        ratios += list(error / cube.radius)
        notes += [
            f"p* = {words(q)}, p̂ = {words(f)}: {e:.4f} m apart, h = {cube.radius:.4f} m, η = 0"
            for q, f, e in zip(p, nodes, error, strict=True)
        ]
    return worst_of(np.array(ratios), 1.0 + 1e-9, notes.__getitem__)


@each(1.0, _cubes)
def _descriptor_gap(trial: Trial, cube: _Cube) -> FloatArray:
    _, _, eta, off, _, _ = cube.localize(trial, 0.1)
    return off / (cube.L * cube.radius + 2.0 * eta)


def _bound(trial: Trial) -> Finding:
    ratios: list[float] = []
    for cube in _cubes(replace(trial, cases=1000 * trial.cases)):
        p, nodes, eta, _, mu, kappa = cube.localize(trial, 0.1)
        is_bounded = kappa < mu
        error = np.linalg.norm(nodes - p, axis=1)[is_bounded]
        bound = (cube.L * cube.radius + 2.0 * eta) / np.where(is_bounded, mu - kappa, 1.0)
        ratios += list(error / bound[is_bounded])
        if len(ratios) >= trial.cases:
            break
    return worst_of(np.array(ratios), 1.0)


def _printed_constant(trial: Trial) -> Finding:
    """Return the error over (L h + η)/μ where M ends at p* beside a hole of the grid.

    M = {p* + x u₁ + y u₂, x ≥ 0} with u₁ the strong and u₂ the weak direction of J(p*); a scale
    of 1e-3 makes o(h + η) negligible.  The noise is √½ η along the image of u₂ and −√½ η along
    that of u₁.  Nodes nearer to the observation than T are left out, where T is such that they
    still cover M within h; the node at the tip of the hole on the weak axis then wins.
    """
    ratios, notes = [], []
    for _ in range(max(2, trial.cases // 50)):
        room = random_room(trial.rng, clutter=False)
        field = MapField(Descriptor(DirectionalBasis.circle(8, 0.5)), room)
        p = free_points(room, trial.rng, 1, 0.8)
        F, J = field.at(p)
        U, s, Vt = np.linalg.svd(J[0], full_matrices=False)
        eta = 1e-3
        h = 0.5 * eta / s[0]
        part = eta * np.sqrt(0.5)
        observed = F[0] + part * U[:, 1] - part * U[:, 0]
        T = s[0] * h + part
        tip = (part + np.sqrt(T**2 - part**2)) / s[1]
        pitch = h / 8.0
        x, y = np.arange(0.0, 3.0 * h, pitch), np.arange(-0.5 * tip, 1.3 * tip, pitch)
        M = p[0] + np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2) @ Vt
        values = field.descriptor.at(room, M)[0]
        grid = M[np.linalg.norm(values - observed, axis=1) >= T]
        winner = p[0] + 0.9999 * tip * Vt[1]
        nodes = np.concatenate([grid, winner[None]])
        cover = float(np.max(cKDTree(nodes).query(M)[0])) + pitch * np.sqrt(0.5)
        best = np.linalg.norm(field.descriptor.at(room, nodes)[0] - observed, axis=1).argmin()
        error = float(np.linalg.norm(nodes[best] - p[0]))
        L = float(np.linalg.norm(field.at(M[:: len(M) // 50])[1], ord=2, axis=(1, 2)).max())
        bound = (L * cover + eta) / s[1]
        ratios.append(error / bound)
        notes.append(
            f"a room of {room.bounds[1, 0]:.2f} × {room.bounds[1, 1]:.2f} m, p* = {words(p[0])}, "
            f"h = {1e3 * cover:.3f} mm, η = {eta:g}: error {1e3 * error:.3f} mm, "
            f"(Lh + η)/μ = {1e3 * bound:.3f} mm"
        )
    return worst_of(np.array(ratios), 1.0, notes.__getitem__)


def _alias(trial: Trial) -> Finding:
    """Return the error over (L h + η)/μ, η = 0, where the map holds the same room twice."""
    room = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 4.0], [0.0, 4.0]])
    pillar = np.array([[4.5, 1.5], [5.0, 1.5], [5.0, 2.5], [4.5, 2.5]])
    shift = np.array([10.1, 0.1])
    world = SegmentMap.from_polygons([room, room + shift], [pillar, pillar + shift])
    descriptor = Descriptor(DirectionalBasis.circle(8, 0.5))
    grid = DescriptorGrid.over(world, descriptor, 0.25)
    low, high = np.array([0.4, 0.4]), np.array([4.1, 3.6])
    p = trial.rng.uniform(low, high, (trial.cases, 2))
    field = MapField(descriptor, world)
    F, J = field.at(p)
    best = np.linalg.norm(grid.F - F[:, None], axis=2).argmin(axis=1)
    error = np.linalg.norm(grid.nodes[best] - p, axis=1)
    s = np.linalg.svd(J, compute_uv=False)
    bound = s[:, 0].max() * grid.covering_radius / s[:, 1]
    return worst_of(
        error / bound, 1.0,
        lambda k: f"two equal rooms: p* = {words(p[k])}, p̂ = {words(grid.nodes[best[k]])}, error "
        f"{error[k]:.2f} m, (Lh + η)/μ = {bound[k]:.2f} m with η = 0",
    )  # fmt: skip


def corridor() -> MapField:
    """Make two long parallel walls 2 m apart, seen to 8 m."""
    walls = [[[-300.0, 0.0], [300.0, 0.0]], [[-300.0, 2.0], [300.0, 2.0]]]
    world = SegmentMap.from_segments(walls)
    return MapField(Descriptor(DirectionalBasis.circle(12, 0.3), signal=Range(maximum=8.0)), world)


def _corridor(trial: Trial) -> Finding:
    field = corridor()
    p = trial.rng.uniform([-200.0, 0.3], [200.0, 1.7], (trial.cases, 2))
    _, J = field.at(p)
    return worst_of(injectivity(J), 1e-9)


def _circular(trial: Trial) -> Finding:
    """Return μ in a round room of 256 sides, which is claimed to vanish."""
    ring = 3.0 * unit_vectors(2.0 * np.pi * np.arange(256) / 256)
    world = SegmentMap.from_segments(
        np.stack([ring, np.roll(ring, -1, axis=0)], axis=1), free=shapely.Polygon(ring)
    )
    field = MapField(Descriptor(DirectionalBasis.circle(8, 0.5)), world)
    count = min(trial.cases, 100)
    p = trial.rng.uniform(-1.5, 1.5, (count, 2))
    p[0] = 0.0
    mu = injectivity(field.at(p)[1])
    return worst_of(
        mu, 1e-9, lambda _: f"at the centre of a round room of radius 3 m μ = {mu[0]:.3f}"
    )


_G = "localization"
STATEMENTS = (
    Statement(_G, "§6.1 Definition: descriptor grid is an h-covering",
              "distance to the nearest node / h", _covering, "", True, (2,)),
    Statement(_G, "§6.1 Proposition: static error, first line of the proof",
              "‖p̂ − p*‖ / h", _first_line, "as printed", False),
    Statement(_G, "§6.1 Proposition: static error, descriptor gap",
              "‖F(p̂) − F(p*)‖ / (Lh + 2η)", _descriptor_gap, "corrected"),
    Statement(_G, "§6.1 Proposition: static error, constant",
              "‖p̂ − p*‖ / ((Lh + η)/μ)", _printed_constant, "as printed", False, (2,)),
    Statement(_G, "§6.1 Proposition: static error, aliases",
              "‖p̂ − p*‖ / ((Lh + η)/μ)", _alias, "as printed", False, (2,)),
    Statement(_G, "§6.1 Proposition: static error bound",
              "‖p̂ − p*‖ / ((Lh + 2η)/(μ − κ))", _bound, "corrected"),
    Statement(_G, "§6.1 Remark: μ = 0 in a corridor", "μ", _corridor, "", True, (2,)),
    Statement(_G, "§6.1 Remark: μ = 0 in a circular room", "μ", _circular,
              "as printed", False, (2,)),
)  # fmt: skip
