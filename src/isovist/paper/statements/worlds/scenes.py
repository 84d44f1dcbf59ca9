"""Make rooms to try statements on: random ones in 2D, and two in 3D with known answers.

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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, SegmentMap
from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.maps import Ending, Hits
from isovist.paper import Moments
from isovist.poses import unit_vectors


@dataclass(frozen=True, slots=True, eq=False)
class BoxScene:
    """A box from the origin to `size`, with balls in it.

    Attributes:
        size: Edges in m, shape (3,).
        balls: Centres and radii, shape (k, 4), in m.
    """

    size: FloatArray
    balls: FloatArray

    @classmethod
    def from_size(cls, size: ArrayLike, balls: ArrayLike = ()) -> "BoxScene":
        """Make a box from its edges and balls (x, y, z, radius), in m."""
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
        """Cast rays; walls 0–5 are the sides of the box, wall 6 + k is ball k."""
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
            is_hit = (depth > 0.0) & (t > 0.0) & (t < ranges)
            ranges = np.where(is_hit, t, ranges)
            walls = np.where(is_hit, 6 + k, walls)
            outward = (t[..., None] * d - gap) / radius
            normals = np.where(is_hit[..., None], outward, normals)
        endings = np.full(ranges.shape, Ending.WALL, dtype=np.uint8)
        return Hits(ranges, walls.astype(np.int64), normals, endings)


@dataclass(frozen=True, slots=True, eq=False)
class RoundScene:
    """A round room of some radius around the origin, with one ball in it; all in m.

    Attributes:
        radius: Radius of the room.
        centre: Centre of the ball, shape (3,).
        ball: Radius of the ball.
    """

    radius: float
    centre: FloatArray
    ball: float

    def contains(self, points: FloatArray) -> BoolArray:
        inside = np.linalg.norm(points, axis=-1) < self.radius
        return inside & (np.linalg.norm(points - self.centre, axis=-1) > self.ball)

    def far(self, p: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the range to the wall of the room and its gradient in p; p and θ (..., 3)."""
        along = (p * theta).sum(axis=-1)
        root = np.sqrt(self.radius**2 - (p * p).sum(axis=-1) + along**2)
        r = root - along
        normal = p + r[..., None] * theta
        return r, -normal / (normal * theta).sum(axis=-1, keepdims=True)

    def ranges(self, points: FloatArray, theta: FloatArray) -> FloatArray:
        """Return ranges from points (P, 3) along directions (m, 3), shape (P, m)."""
        r, _ = self.far(points[:, None, :], theta[None, :, :])
        gap = self.centre - points
        along = gap @ theta.T
        depth = self.ball**2 - (gap * gap).sum(axis=1)[:, None] + along**2
        near = along - np.sqrt(np.maximum(depth, 0.0))
        return np.where((depth > 0.0) & (near > 0.0), near, r)

    def moments(self, points: FloatArray, *, nodes: int = 20, shadow: bool = True) -> Moments:
        """Return nodes for F and J: 2·nodes azimuths, `nodes` in the cap, 2·nodes outside it."""
        rings = _Rings.of(self, points, 2 * nodes)
        blocks = [self._cap(rings, nodes), self._outside(rings, 2 * nodes)]
        if shadow:
            blocks.append(self._rim(rings))
        theta = np.concatenate([b[0] for b in blocks], axis=1)
        values = np.concatenate([b[1] for b in blocks], axis=1)
        return Moments(
            theta.shape[1] * np.arange(len(points) + 1, dtype=np.int64),
            np.ascontiguousarray(theta.reshape(-1, 3)),
            np.ascontiguousarray(values.reshape(-1, 4)),
            np.asarray(sum(b[2] for b in blocks)),
        )

    def _cap(self, rings: "_Rings", nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return directions, values and energies of the ball, equation (1)."""
        x, w = np.polynomial.legendre.leggauss(nodes)
        s, c = 0.25 * np.pi * (1.0 + x), 0.25 * np.pi * w
        D = rings.distance[:, None]
        sine = self.ball * np.sin(s) / D
        cosine = np.sqrt(1.0 - sine**2)
        r = D * cosine - self.ball * np.cos(s)
        # dσ = sin ψ dψ dφ and dψ = R cos s/(D cos ψ) ds; ∇r carries 1/cos s, so keep them apart.
        width = rings.turn * c * sine * self.ball / (D * cosine)
        theta = rings.directions(cosine, sine)
        normal = (r[:, :, None, None] * theta - rings.gap[:, None, None, :]) / self.ball
        f = (width * np.cos(s) * r)[:, :, None, None] * np.ones(theta.shape[:3])[..., None]
        values = np.concatenate([f, width[:, :, None, None] * normal], axis=-1)
        energy = (width * np.cos(s) * r**2).sum(axis=1) * len(rings.azimuths)
        return theta.reshape(len(r), -1, 3), values.reshape(len(r), -1, 4), energy

    def _outside(self, rings: "_Rings", nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return directions, values and energies of the wall beside the ball."""
        x, w = np.polynomial.legendre.leggauss(nodes)
        beta = rings.half_angle[:, None]
        half = 0.5 * (np.pi - beta)
        angle = beta + half * (1.0 + x)
        theta = rings.directions(np.cos(angle), np.sin(angle))
        r, gradient = self.far(rings.points[:, None, None, :], theta)
        c = np.broadcast_to((rings.turn * half * w * np.sin(angle))[:, :, None], r.shape)
        values = np.concatenate([(c * r)[..., None], c[..., None] * gradient], axis=-1)
        energy = (c * r**2).sum(axis=(1, 2))
        return theta.reshape(len(r), -1, 3), values.reshape(len(r), -1, 4), energy

    def _rim(self, rings: "_Rings") -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return directions, values and energies of the rim, equation (2)."""
        beta = rings.half_angle[:, None]
        theta = rings.directions(np.cos(beta), np.sin(beta))[:, 0]
        reach = rings.distance[:, None] * np.cos(beta)
        m = (reach[..., None] * theta - rings.gap[:, None, :]) / self.ball
        far, _ = self.far(rings.points[:, None, :], theta)
        rate = (far - reach) / reach * np.sin(beta) * rings.turn
        values = np.concatenate([np.zeros((*m.shape[:2], 1)), rate[..., None] * m], axis=-1)
        return theta, values, np.zeros(len(theta))


@dataclass(frozen=True, slots=True, eq=False)
class _Rings:
    """Rings of directions around the axis from points to the ball.

    Attributes:
        points: Points of view, shape (P, 3).
        gap: From each point to the centre of the ball, shape (P, 3).
        distance: D, shape (P,).
        half_angle: β, shape (P,).
        frame: Two unit vectors perpendicular to each axis, shape (P, 2, 3).
        azimuths: Unit vectors on a ring, shape (m, 2).
    """

    points: FloatArray
    gap: FloatArray
    distance: FloatArray
    half_angle: FloatArray
    frame: FloatArray
    azimuths: FloatArray

    @classmethod
    def of(cls, scene: RoundScene, points: FloatArray, count: int) -> "_Rings":
        """Make rings of some azimuths around the axes from points to the ball of a scene."""
        gap = scene.centre - points
        D = np.linalg.norm(gap, axis=1)
        azimuths = unit_vectors(2.0 * np.pi * np.arange(count) / count)
        frame = _perpendicular(gap / D[:, None])
        return cls(points, gap, D, np.arcsin(scene.ball / D), frame, azimuths)

    @property
    def turn(self) -> float:
        """Return the angle between neighbours on a ring, in rad."""
        return float(2.0 * np.pi / len(self.azimuths))

    def directions(self, cosine: FloatArray, sine: FloatArray) -> FloatArray:
        """Return directions at angles (P, k) from each axis, shape (P, k, m, 3)."""
        across = np.einsum("mj,pjd->pmd", self.azimuths, self.frame)
        axis = self.gap / self.distance[:, None]
        return cosine[:, :, None, None] * axis[:, None, None, :] + (
            sine[:, :, None, None] * across[:, None, :, :]
        )


@dataclass(frozen=True, slots=True, eq=False)
class RoundField:
    """F and J of a basis in a `RoundScene`, as a `Field`."""

    scene: RoundScene
    basis: DirectionalBasis
    nodes: int = 20
    shadow: bool = True

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        blocks = [
            self.scene.moments(block, nodes=self.nodes, shadow=self.shadow).describe(self.basis)
            for block in np.split(points, range(256, len(points), 256))
        ]
        F, J = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return F, J

    def is_free(self, points: FloatArray) -> BoolArray:
        return self.scene.contains(points)


def random_room(rng: np.random.Generator, *, clutter: bool = True) -> SegmentMap:
    """Make a room of 4–8 m by 3–6 m; clutter is a thin wall and up to two pillars."""
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
    """Make a round room of 3–5 m radius with a ball of 0.3–0.8 m."""
    radius, ball = rng.uniform(3.0, 5.0), rng.uniform(0.3, 0.8)
    direction = rng.normal(size=3)
    centre = rng.uniform(0.0, 0.4) * radius * direction / np.linalg.norm(direction)
    return RoundScene(float(radius), centre, float(ball))


def free_points(
    world: SegmentMap, rng: np.random.Generator, count: int, clearance: float = 0.1
) -> FloatArray:
    """Return random places at least `clearance` m from every wall, shape (count, 2)."""
    low, high = world.bounds

    def draw() -> FloatArray:
        p = rng.uniform(low, high, (4 * count, 2))
        return p[np.asarray(world.contains(p)) & (world.clearance(p) > clearance)]

    return _repeat(draw, count)


def round_points(
    scene: RoundScene, rng: np.random.Generator, count: int, clearance: float = 0.25
) -> FloatArray:
    """Return random places of a round room, at least `clearance` m from its walls, (count, 3)."""

    def draw() -> FloatArray:
        p = rng.uniform(-scene.radius, scene.radius, (8 * count, 3))
        inside = np.linalg.norm(p, axis=1) < scene.radius - clearance
        return p[inside & (np.linalg.norm(p - scene.centre, axis=1) > scene.ball + clearance)]

    return _repeat(draw, count)


def _repeat(draw: Callable[[], FloatArray], count: int) -> FloatArray:
    """Draw places until there are enough, shape (count, d)."""
    places = draw()
    while len(places) < count:
        places = np.concatenate([places, draw()])
    return places[:count]


def _perpendicular(axis: FloatArray) -> FloatArray:
    """Return two unit vectors perpendicular to each axis, shape (P, 2, 3)."""
    helper = np.eye(3)[np.abs(axis).argmin(axis=1)]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(axis, first)], axis=1)
