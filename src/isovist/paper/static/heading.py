"""Compute the descriptor in the frame of the robot, and how it varies with the pose.

The robot carries its basis along.  With the heading ψ the direction θ of the map is R(−ψ)θ of the
body, and what is observed is the descriptor of the basis turned by ψ,

    F̃_i(p, ψ) = ∫ f_p(θ) w_i(R(−ψ)θ) dθ.                                      (1)

Its derivative by p is J of the turned basis, shadows included, for the weights know nothing of p.
The signal knows nothing of ψ; so, with u⊥ for u turned by 90°,

    ∂F̃_i/∂ψ = −∫ f_p(θ) ∇w_i(u)·u⊥ dθ,     u = R(−ψ)θ.                        (2)

By parts, the derivative goes to the signal, which jumps at shadows.  To first order a ray of length
r that is turned by dψ ends where one that is moved aside by r dψ would, so ∂f/∂θ = r ∇f·θ⊥, and

    ∂F̃_i/∂ψ = ∫ r (∇f·θ⊥) w_i(u) dθ + Σ_a (f(a⁺) − f(a⁻)) w_i(u_a).           (3)

(3) needs the weights only where J needs them, and is used with exact quadrature; (2) elsewhere.
"""

from dataclasses import replace

import numpy as np

from isovist import DirectionalBasis, InputError, Pose, SegmentMap
from isovist.arrays import FloatArray, IntArray
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import (
    CircleSum,
    Exact,
    SegmentView,
    cast_signal,
    place_exact,
    sum_channels,
)
from isovist.paper.descriptor.shadows import find_jumps, jump_terms

_BLOCK = 256  # poses whose quadrature nodes are held at once


def rotate_basis(basis: DirectionalBasis, yaw: float) -> DirectionalBasis:
    """Return the basis of a robot that has turned by `yaw`, in rad."""
    rotation = Pose(yaw=yaw).rotation
    return DirectionalBasis.from_directions(basis.directions @ rotation.T, profile=basis.profile)


def observe(descriptor: Descriptor, world: Map, poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return F̃ of poses, and its derivative with respect to x, y and yaw, by (1) to (3).

    Args:
        descriptor: Basis on the circle, signal and quadrature.
        world: A 2D map.
        poses: (x, y, yaw), shape (P, 3), in m and rad.

    Returns:
        F̃, shape (P, n), and the derivative, shape (P, n, 3).
    """
    if descriptor.basis.dimension != 2 or world.dimension != 2:
        raise InputError(
            "An unknown heading needs a 2D map and a basis on the circle.", code="wrong_dimension"
        )
    quadrature = descriptor.quadrature
    F = np.empty((len(poses), len(descriptor.basis)))
    K = np.empty((*F.shape, 3))
    if isinstance(world, SegmentMap) and isinstance(quadrature, Exact | None):
        exact = quadrature or Exact()
        # Pieces that end where the basis says so must turn with it, pose by pose; others need not.
        if len(exact.lengths(descriptor.basis)[1]) == 0:
            for first in range(0, len(poses), _BLOCK):
                part = slice(first, first + _BLOCK)
                F[part], K[part] = _observe_walls(descriptor, world, poses[part], exact)
            return F, K
        for k, (x, y, yaw) in enumerate(poses):
            body = replace(descriptor, basis=rotate_basis(descriptor.basis, yaw))
            F[k : k + 1], K[k : k + 1] = _observe_walls(body, world, np.array([[x, y, 0.0]]), exact)
        return F, K
    for k, (x, y, yaw) in enumerate(poses):
        body = replace(descriptor, basis=rotate_basis(descriptor.basis, yaw))
        F[k], J = body.at(world, [x, y], jacobian=True)
        K[k] = np.column_stack([J, _heading_slope(body, world, np.array([x, y]))])
    return F, K


def _observe_walls(
    descriptor: Descriptor, world: SegmentMap, poses: FloatArray, quadrature: Exact
) -> tuple[FloatArray, FloatArray]:
    basis, signal = descriptor.basis, descriptor.signal
    points = np.ascontiguousarray(poses[:, :2])
    if not np.asarray(world.contains(points)).all():
        raise InputError("A place of the trajectory is not in free space.", code="not_free")
    view = SegmentView.of(world, points)
    nodes = place_exact(view, basis, quadrature, signal.kinks)
    u = _turn_back(nodes.rays.directions, poses[:, 2], nodes.offsets)
    slopes = signal.gradients(nodes.rays)
    reach = np.where(nodes.rays.walls >= 0, nodes.rays.ranges, 0.0)
    by_angle = reach * _across(nodes.rays.directions, slopes)
    values = np.column_stack([signal.values(nodes.rays), slopes, by_angle])
    sums = sum_channels(basis, nodes.offsets, u, nodes.coefficients[:, None] * values)
    jumps = find_jumps(view, signal.kinks)
    where = _turn_back(jumps.before.directions, poses[:, 2], jumps.offsets)
    rise = jumps.inside * (signal.values(jumps.after) - signal.values(jumps.before))
    terms = np.column_stack([jump_terms(signal, jumps), rise])
    return sums[:, :, 0], sums[:, :, 1:] + sum_channels(basis, jumps.offsets, where, terms)


def _heading_slope(body: Descriptor, world: Map, point: FloatArray) -> FloatArray:
    """Return (2) at one place, for a basis that is turned already, shape (n,)."""
    quadrature = body.quadrature or CircleSum()
    assert not isinstance(quadrature, Exact)  # `Descriptor.at` has refused it
    rule = quadrature.rule()
    values = cast_signal(world, point[None], rule.directions, body.signal)[0]
    tangents = np.stack([-rule.directions[:, 1], rule.directions[:, 0]], axis=1)
    turning = np.einsum("mnd,md->mn", body.basis.gradient(rule.directions), tangents)
    return np.asarray(-(rule.coefficients * values) @ turning)


def _across(theta: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return ∇f·θ⊥, shape (m,)."""
    return np.asarray(theta[:, 0] * slopes[:, 1] - theta[:, 1] * slopes[:, 0])


def _turn_back(directions: FloatArray, yaws: FloatArray, offsets: IntArray) -> FloatArray:
    """Turn directions of the map into the body: those of place k by −yaw_k, shape (m, 2)."""
    return Pose(yaw=np.repeat(-yaws, np.diff(offsets))).apply(directions)
