"""The descriptor that a robot observes in its own frame, and how it varies with the pose.

The robot carries its rose along.  With the heading ψ the direction θ of the map is R(−ψ)θ of the
body, and what is observed is the descriptor of the rose turned by ψ,

    F̃_i(p, ψ) = ∫ f_p(θ) w_i(R(−ψ)θ) dθ.                                      (1)

Its derivative by p is J of the turned rose, shadows included, for the weights know nothing of p.
The signal knows nothing of ψ; so, with u⊥ for u turned by 90°,

    ∂F̃_i/∂ψ = −∫ f_p(θ) ∇w_i(u)·u⊥ dθ,     u = R(−ψ)θ,                        (2)

to which shadows add nothing.
"""

import numpy as np

from isovist.descriptor import Descriptor, shadow_terms, sum_channels
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.segments import SegmentMap
from isovist.poses import Pose
from isovist.quadrature import CircleSum, Exact, check_view, find_shadows, place_exact
from isovist.roses import Rose, unit_vectors
from isovist.sensing.signals import Seen
from isovist.types import FloatArray, IntArray

_BLOCK = 256  # poses whose quadrature nodes are held at once


def turned(rose: Rose, yaw: float) -> Rose:
    """The rose of a body that has turned by `yaw`, in rad."""
    rotation = Pose(yaw=yaw).rotation
    return Rose.from_directions(rose.directions @ rotation.T, profile=rose.profile)


def observe(descriptor: Descriptor, world: Map, poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F̃, shape (P, n), and its derivative by (x, y, yaw), shape (P, n, 3), equations (1) and (2).

    Args:
        descriptor: Rose on the circle, signal and quadrature.
        world: A map of the plane.
        poses: (x, y, yaw), shape (P, 3), in m and rad.
    """
    if descriptor.rose.dimension != 2 or world.dimension != 2:
        raise InputError("An unknown heading needs a map of the plane and a rose on the circle.")
    quadrature = Exact() if descriptor.quadrature is None else descriptor.quadrature
    F = np.empty((len(poses), len(descriptor.rose)))
    K = np.empty((*F.shape, 3))
    # Pieces that end where the rose says so would have to turn with it; others need not.
    if (
        isinstance(world, SegmentMap)
        and isinstance(quadrature, Exact)
        and len(quadrature.lengths(descriptor.rose)[1]) == 0
    ):
        for first in range(0, len(poses), _BLOCK):
            part = slice(first, first + _BLOCK)
            F[part], K[part] = _observe_walls(descriptor, world, poses[part], quadrature)
        return F, K
    for k, (x, y, yaw) in enumerate(poses):
        body = Descriptor(
            turned(descriptor.rose, yaw), descriptor.signal, descriptor.quadrature, descriptor.step
        )
        point = np.array([[x, y]])
        F_k, J_k = body.at(world, point, jacobian=True)
        assert J_k is not None  # asked for
        F[k], K[k, :, :2] = F_k[0], J_k[0]
        K[k, :, 2] = _heading_slope(body, world, point)
    return F, K


def _observe_walls(
    descriptor: Descriptor, world: SegmentMap, poses: FloatArray, quadrature: Exact
) -> tuple[FloatArray, FloatArray]:
    rose, signal = descriptor.rose, descriptor.signal
    points = np.ascontiguousarray(poses[:, :2])
    if not np.asarray(world.contains(points)).all():
        raise InputError("A place of the course is not in free space.")
    view, pieces = check_view(None), world.see(points)
    nodes = place_exact(world, points, pieces, rose, quadrature, signal.kinks, view)
    u = _turn_back(nodes.seen.directions, poses[:, 2], nodes.offsets)
    f = nodes.coefficients * signal.values(nodes.seen)
    slopes = nodes.coefficients[:, None] * signal.gradients(nodes.seen)
    sums = sum_channels(rose, nodes.offsets, u, np.column_stack([f, slopes]))
    K = np.empty((*sums.shape[:2], 3))
    shadows = find_shadows(world, points, pieces, view)
    corners = _turn_back(shadows.before.directions, poses[:, 2], shadows.offsets)
    moved = shadow_terms(signal, shadows)
    K[:, :, :2] = sums[:, :, 1:] + sum_channels(rose, shadows.offsets, corners, moved)
    K[:, :, 2] = -np.add.reduceat(f[:, None] * _turning(rose, u), nodes.offsets[:-1], axis=0)
    return sums[:, :, 0], K


def _heading_slope(body: Descriptor, world: Map, point: FloatArray) -> FloatArray:
    """Equation (2) at one place, for a rose that is turned already, shape (n,)."""
    if isinstance(world, SegmentMap) and isinstance(body.quadrature, Exact | None):
        quadrature = body.quadrature or Exact()
        nodes = place_exact(
            world, point, world.see(point), body.rose, quadrature, body.signal.kinks,
            check_view(None),
        )  # fmt: skip
        seen, c = nodes.seen, nodes.coefficients
    else:
        rule = (body.quadrature or CircleSum()).rule()  # type: ignore[union-attr]
        hits = world.cast(point, rule.directions)
        seen = Seen(world, rule.directions, hits.ranges, hits.walls, hits.normals)
        c = rule.coefficients
    return -(c * body.signal.values(seen)) @ _turning(body.rose, seen.directions)


def _turning(rose: Rose, u: FloatArray) -> FloatArray:
    """∇w_i(u)·u⊥ = w_i (g_i − Σ_j w_j g_j) with g_i = (log ψ)′(u·d_i) d_i·u⊥, shape (m, n)."""
    across = np.stack([-u[:, 1], u[:, 0]], axis=1)
    w = rose.weights(u)
    g = rose.profile.slope(np.clip(u @ rose.directions.T, -1.0, 1.0)) * (across @ rose.directions.T)
    return np.asarray(w * (g - (w * g).sum(axis=1, keepdims=True)))


def _turn_back(directions: FloatArray, yaws: FloatArray, offsets: IntArray) -> FloatArray:
    """Directions of the map in the body: those of place k turned by −yaw_k, shape (m, 2)."""
    back = np.repeat(unit_vectors(-yaws), np.diff(offsets), axis=0)
    c, s = back.T
    x, y = directions.T
    return np.stack([c * x - s * y, s * x + c * y], axis=1)
