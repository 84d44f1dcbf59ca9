"""Compute the quantities of the paper at one point of its example room."""

from functools import lru_cache
from typing import Any

import numpy as np

import isovist as iv
from isovist.apps.studio.view_models import rounded
from isovist.apps.web import Fields
from isovist.arrays import FloatArray
from isovist.paper import TRUE_PLACE, Exact, SegmentView, find_jumps, paper_room, profile_of
from isovist.poses import unit_vectors
from isovist.report import outline_of

DIRECTIONS = 360
MIN_SHADOW_M = 1e-6
PROFILES = ("softmax", "bump", "cosine")


@lru_cache(maxsize=1)
def room() -> iv.SegmentMap:
    """Return the room of the paper's example."""
    return paper_room()


@lru_cache(maxsize=32)
def _operators(
    channels: int, temperature: float, profile: str
) -> tuple[iv.DirectionalBasis, iv.Descriptor, iv.Gram]:
    basis = iv.DirectionalBasis.circle(channels, profile=profile_of(profile, temperature))
    return basis, iv.Descriptor(basis, quadrature=Exact(1e-10)), iv.Gram.from_basis(basis)


def theory_at(fields: Fields) -> dict[str, Any]:
    """Compute signal, weights, F, J, shadows and the Gram norm at a point of the room."""
    world = room()
    profile = fields.text("profile", "softmax")
    if profile not in PROFILES:
        raise iv.InputError.about("profile", f"must be {', '.join(PROFILES)}, got {profile}.")
    channels = fields.count("channels", 8, low=3, high=64)
    temperature = fields.number("temperature", 0.5, low=0.02, high=2.0)
    basis, descriptor, gram = _operators(channels, temperature, profile)
    point = _free_point(fields, "x", "y") if fields.has("x") else np.array(TRUE_PLACE)
    other = _free_point(fields, "other_x", "other_y") if fields.has("other_x") else None
    F, J = descriptor.at(world, point, jacobian=True)
    _, J_without_shadow = descriptor.at(world, point, jacobian=True, shadow=False)
    assert J is not None and J_without_shadow is not None  # noqa: PT018
    theta = unit_vectors(2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS)
    return {
        "point": point.tolist(),
        "walls": world.walls.tolist(),
        "outline": rounded(outline_of(world, point)),
        "range": rounded(world.cast(point, theta).ranges, 4),
        "remembered": rounded(gram.projection(F)(theta), 4),
        "weights": rounded(basis.weights(theta).T, 4),
        "directions": rounded(basis.directions, 5),
        "F": F.tolist(),
        "J": J.tolist(),
        "J_without_shadow": J_without_shadow.tolist(),
        "singular_values": np.linalg.svd(J, compute_uv=False).tolist(),
        "shadows": rounded(shadows_of(world, point)),
        "gram": {"rank": gram.rank, "condition": gram.condition, "norm": float(gram.seminorm(F))},
        "other": None if other is None else _comparison(descriptor, gram, F, other),
    }


def _free_point(fields: Fields, x: str, y: str) -> FloatArray:
    """Return a point of a request, which must be in the free space of the room."""
    point = np.array(fields.position(x, y))
    if not room().contains(point):
        raise iv.InputError(
            f"A point must lie in the free space of the room, got ({point[0]:.2f}, "
            f"{point[1]:.2f}).",
            code="not_free",
        )
    return point


def _comparison(
    descriptor: iv.Descriptor, gram: iv.Gram, F: FloatArray, other: FloatArray
) -> dict[str, Any]:
    """Compare the descriptor F of a point with that of another point."""
    F_other, _ = descriptor.at(room(), other)
    return {
        "point": other.tolist(),
        "outline": rounded(outline_of(room(), other)),
        "F": F_other.tolist(),
        "distance": float(gram.distance(F, F_other)),
        "plain": float(np.linalg.norm(F - F_other)),
    }


def shadows_of(world: iv.SegmentMap, point: FloatArray) -> FloatArray:
    """Return the corners that hide walls and the wall points behind them, shape (k, 4), in m."""
    block = point[None, :]
    jumps = find_jumps(SegmentView.of(world, block))
    near = np.minimum(jumps.before.ranges, jumps.after.ranges)
    far = np.maximum(jumps.before.ranges, jumps.after.ranges)
    is_shadow = (far - near > MIN_SHADOW_M) & np.isfinite(far)
    near, far, along = (
        near[is_shadow, None],
        far[is_shadow, None],
        jumps.before.directions[is_shadow],
    )
    return np.concatenate([point + near * along, point + far * along], axis=1)
