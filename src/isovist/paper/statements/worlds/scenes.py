"""Rooms to try statements on: random ones in the plane, and two in space with known answers.

`BoxScene` is a box with balls in it, a `Map` with closed-form ranges.  `RoundScene` is a round
room with one ball in it; there F and J, shadow included, are integrals of analytic functions.

Seen from p, a ball of radius R whose centre is D away covers the cap of half-angle β with
sin β = R/D.  Inside, with ψ the angle from its centre and D sin ψ = R sin s,

    r = D cos ψ − R cos s,     0 ≤ s ≤ π/2,                                   (1)

analytic in s.  The rim of the cap is the silhouette: there the ray touches the ball at the
distance ℓ = D cos β, at a point with outward normal m ⟂ θ.  When p moves by v the rim moves
outwards by −(m·v)/ℓ, so the shadow term of J is

    ∂F_i/∂p ∋ ∮ (r_far − ℓ) w_i (m/ℓ) dl.                                     (2)
"""

from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, SegmentMap
from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.maps import Ending
from isovist.maps.base import Hits
from isovist.paper import Moments


@dataclass(frozen=True, slots=True, eq=False)
class BoxScene:
    """The box [0, size] with balls in it.

    Attributes:
        size: Edges in m, shape (3,).
        balls: Centres and radii, shape (k, 4), in m.
    """

    size: FloatArray
    balls: FloatArray

    @classmethod
    def from_size(cls, size: ArrayLike, balls: ArrayLike = ()) -> "BoxScene":
        """From edges and balls (x, y, z, radius), in m."""
        edges = as_floats("size", size, (3,))
        if (edges <= 0.0).any():
            raise InputError(f"A box needs positive edges, got {edges.tolist()} m.")
        return cls(readonly(edges), readonly(as_floats("balls", balls).reshape(-1, 4)))

    @property
    def dimension(self) -> int:
        return 3

    @property
    def bounds(self) -> FloatArray:
        return np.stack([np.zeros(3), self.size])

    def contains(self, points: ArrayLike) -> BoolArray:
        p = as_floats("points", points)
        inside = ((p > 0.0) & (p < self.size)).all(axis=-1)
        gap = np.linalg.norm(p[..., None, :] - self.balls[:, :3], axis=-1) - self.balls[:, 3]
        return inside & (gap > 0.0).all(axis=-1)

    def cast(self, origins: ArrayLike, directions: ArrayLike) -> Hits:
        """Walls 0–5 are the sides of the box, wall 6 + k is ball k."""
        o, d = np.broadcast_arrays(
            as_floats("origins", origins), as_floats("directions", directions)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            to_side = np.where(d > 0.0, (self.size - o) / d, np.where(d < 0.0, -o / d, np.inf))
        axis = to_side.argmin(axis=-1)
        ranges = np.take_along_axis(to_side, axis[..., None], axis=-1)[..., 0]
        positive = np.take_along_axis(d, axis[..., None], axis=-1)[..., 0] > 0.0
        walls = 2 * axis + positive
        normals = np.where(
            np.arange(3) == axis[..., None], np.where(positive, -1.0, 1.0)[..., None], 0.0
        )
        for k, (*centre, radius) in enumerate(self.balls):
            gap = np.asarray(centre) - o
            along = (gap * d).sum(axis=-1)
            depth = radius**2 - (gap * gap).sum(axis=-1) + along**2
            t = along - np.sqrt(np.maximum(depth, 0.0))
            nearer = (depth > 0.0) & (t > 0.0) & (t < ranges)
            ranges = np.where(nearer, t, ranges)
            walls = np.where(nearer, 6 + k, walls)
            outward = (t[..., None] * d - gap) / radius
            normals = np.where(nearer[..., None], outward, normals)
        endings = np.full(ranges.shape, Ending.WALL, dtype=np.uint8)
        return Hits(ranges, walls.astype(np.int64), normals, endings)


@dataclass(frozen=True, slots=True, eq=False)
class RoundScene:
    """A round room of some radius around the origin, with one ball in it; all in m.

    Attributes:
        radius: Of the room.
        centre: Of the ball, shape (3,).
        ball: Radius of the ball.
    """

    radius: float
    centre: FloatArray
    ball: float

    def contains(self, points: FloatArray) -> BoolArray:
        inside = np.linalg.norm(points, axis=-1) < self.radius
        return inside & (np.linalg.norm(points - self.centre, axis=-1) > self.ball)

    def far(self, p: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Range to the room's wall and its gradient in p, for p and θ of shape (..., 3)."""
        along = (p * theta).sum(axis=-1)
        root = np.sqrt(self.radius**2 - (p * p).sum(axis=-1) + along**2)
        r = root - along
        normal = p + r[..., None] * theta
        return r, -normal / (normal * theta).sum(axis=-1, keepdims=True)

    def ranges(self, points: FloatArray, theta: FloatArray) -> FloatArray:
        """Ranges from points (P, 3) along directions (m, 3), shape (P, m)."""
        r, _ = self.far(points[:, None, :], theta[None, :, :])
        gap = self.centre - points
        along = gap @ theta.T
        depth = self.ball**2 - (gap * gap).sum(axis=1)[:, None] + along**2
        near = along - np.sqrt(np.maximum(depth, 0.0))
        return np.where((depth > 0.0) & (near > 0.0), near, r)

    def moments(self, points: FloatArray, *, nodes: int = 20, shadow: bool = True) -> Moments:
        """Nodes for F and J, with 2·nodes azimuths, `nodes` in the cap and 2·nodes outside it."""
        gap = self.centre - points
        D = np.linalg.norm(gap, axis=1)
        axis = gap / D[:, None]
        beta = np.arcsin(self.ball / D)
        frame = _frames(axis)
        azimuth = 2.0 * np.pi * np.arange(2 * nodes) / (2 * nodes)
        ring = np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
        turn = 2.0 * np.pi / (2 * nodes)
        blocks = [self._cap(points, D, axis, frame, ring, turn, nodes)]
        blocks.append(self._outside(points, beta, axis, frame, ring, turn, 2 * nodes))
        if shadow:
            blocks.append(self._rim(points, D, beta, axis, frame, ring, turn))
        theta = np.concatenate([b[0] for b in blocks], axis=1)
        values = np.concatenate([b[1] for b in blocks], axis=1)
        count = theta.shape[1]
        energies = sum(b[2] for b in blocks)
        return Moments(
            count * np.arange(len(points) + 1, dtype=np.int64),
            np.ascontiguousarray(theta.reshape(-1, 3)),
            np.ascontiguousarray(values.reshape(-1, 4)),
            np.asarray(energies),
        )

    def _cap(
        self, p: FloatArray, D: FloatArray, axis: FloatArray, frame: FloatArray,
        ring: FloatArray, turn: float, nodes: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
        x, w = np.polynomial.legendre.leggauss(nodes)
        s, c = 0.25 * np.pi * (1.0 + x), 0.25 * np.pi * w
        sine = self.ball * np.sin(s) / D[:, None]
        cosine = np.sqrt(1.0 - sine**2)
        r = D[:, None] * cosine - self.ball * np.cos(s)
        # dσ = sin ψ dψ dφ and dψ = R cos s/(D cos ψ) ds; ∇r carries 1/cos s, so keep them apart.
        slim = turn * c * sine * self.ball / (D[:, None] * cosine)
        theta = _on_rings(axis, frame, ring, cosine, sine)
        normal = (r[:, :, None, None] * theta - (self.centre - p)[:, None, None, :]) / self.ball
        f = (slim * np.cos(s) * r)[:, :, None, None] * np.ones(theta.shape[:3])[..., None]
        values = np.concatenate([f, slim[:, :, None, None] * normal], axis=-1)
        energy = (slim * np.cos(s) * r**2).sum(axis=1) * len(ring)
        return theta.reshape(len(p), -1, 3), values.reshape(len(p), -1, 4), energy

    def _outside(
        self, p: FloatArray, beta: FloatArray, axis: FloatArray, frame: FloatArray,
        ring: FloatArray, turn: float, nodes: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
        x, w = np.polynomial.legendre.leggauss(nodes)
        half = 0.5 * (np.pi - beta)[:, None]
        angle = beta[:, None] + half * (1.0 + x)
        theta = _on_rings(axis, frame, ring, np.cos(angle), np.sin(angle))
        r, gradient = self.far(p[:, None, None, :], theta)
        c = np.broadcast_to((turn * half * w * np.sin(angle))[:, :, None], r.shape)
        values = np.concatenate([(c * r)[..., None], c[..., None] * gradient], axis=-1)
        energy = (c * r**2).sum(axis=(1, 2))
        return theta.reshape(len(p), -1, 3), values.reshape(len(p), -1, 4), energy

    def _rim(
        self, p: FloatArray, D: FloatArray, beta: FloatArray, axis: FloatArray,
        frame: FloatArray, ring: FloatArray, turn: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
        """Equation (2)."""
        theta = _on_rings(axis, frame, ring, np.cos(beta)[:, None], np.sin(beta)[:, None])[:, 0]
        reach = (D * np.cos(beta))[:, None]
        m = (reach[..., None] * theta - (self.centre - p)[:, None, :]) / self.ball
        far, _ = self.far(p[:, None, :], theta)
        rate = (far - reach) / reach * np.sin(beta)[:, None] * turn
        values = np.concatenate([np.zeros((*m.shape[:2], 1)), rate[..., None] * m], axis=-1)
        return theta, values, np.zeros(len(p))


@dataclass(frozen=True, slots=True, eq=False)
class RoundField:
    """F and J of a basis in a `RoundScene`."""

    scene: RoundScene
    basis: DirectionalBasis
    nodes: int = 20
    shadow: bool = True

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        F, J = [], []
        for first in range(0, len(points), 256):
            block = self.scene.moments(
                points[first : first + 256], nodes=self.nodes, shadow=self.shadow
            )
            described = block.describe(self.basis)
            F.append(described[0])
            J.append(described[1])
        return np.concatenate(F), np.concatenate(J)

    def is_free(self, points: FloatArray) -> BoolArray:
        return self.scene.contains(points)


def random_room(rng: np.random.Generator, *, clutter: bool = True) -> SegmentMap:
    """A room of 4–8 m by 3–6 m, with a thin wall and up to two pillars where there is clutter."""
    width, height = rng.uniform(4.0, 8.0), rng.uniform(3.0, 6.0)
    if not clutter:
        return SegmentMap.room(width, height)
    pillars = []
    for column in range(int(rng.integers(1, 3))):
        x = width * (0.2 + 0.45 * column) + rng.uniform(0.0, 0.1 * width)
        y = rng.uniform(0.2, 0.5) * height
        pillars.append((x, y, x + rng.uniform(0.2, 0.7), y + rng.uniform(0.2, 0.9)))
    x = width * rng.uniform(0.47, 0.53)
    wall = [[[x, 0.2 * height], [x + rng.uniform(-0.3, 0.3), rng.uniform(0.5, 0.8) * height]]]
    return SegmentMap.room(width, height, walls=wall, pillars=pillars)


def random_round(rng: np.random.Generator) -> RoundScene:
    """A round room of 3–5 m radius with a ball of 0.3–0.8 m."""
    radius, ball = rng.uniform(3.0, 5.0), rng.uniform(0.3, 0.8)
    direction = rng.normal(size=3)
    centre = rng.uniform(0.0, 0.4) * radius * direction / np.linalg.norm(direction)
    return RoundScene(float(radius), centre, float(ball))


def free_points(
    world: SegmentMap, rng: np.random.Generator, count: int, clearance: float = 0.1
) -> FloatArray:
    """Random places at least `clearance` m from every wall, shape (count, 2)."""
    low, high = world.bounds
    kept = np.empty((0, 2))
    while len(kept) < count:
        tried = rng.uniform(low, high, (4 * count, 2))
        good = np.asarray(world.contains(tried)) & (world.clearance(tried) > clearance)
        kept = np.concatenate([kept, tried[good]])
    return kept[:count]


def round_points(
    scene: RoundScene, rng: np.random.Generator, count: int, clearance: float = 0.25
) -> FloatArray:
    """The same in a round room, shape (count, 3)."""
    kept = np.empty((0, 3))
    while len(kept) < count:
        tried = rng.uniform(-scene.radius, scene.radius, (8 * count, 3))
        wide = np.linalg.norm(tried, axis=1) < scene.radius - clearance
        clear = np.linalg.norm(tried - scene.centre, axis=1) > scene.ball + clearance
        kept = np.concatenate([kept, tried[wide & clear]])
    return kept[:count]


def _frames(axis: FloatArray) -> FloatArray:
    """Two unit vectors across each axis, shape (P, 2, 3)."""
    helper = np.eye(3)[np.abs(axis).argmin(axis=1)]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(axis, first)], axis=1)


def _on_rings(
    axis: FloatArray, frame: FloatArray, ring: FloatArray, cosine: FloatArray, sine: FloatArray
) -> FloatArray:
    """Directions at angles (cosine, sine), shape (P, k), from each axis; shape (P, k, m, 3)."""
    across = np.einsum("mj,pjd->pmd", ring, frame)
    return cosine[:, :, None, None] * axis[:, None, None, :] + (
        sine[:, :, None, None] * across[:, None, :, :]
    )
