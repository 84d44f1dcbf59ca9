"""The room of the paper, for whoever teaches it: everything about one point, at once."""

from functools import lru_cache
from typing import Any

import numpy as np

from isovist.apps.studio.view_models import rounded
from isovist.apps.web.parameters import Ask
from isovist.arrays import FloatArray
from isovist.basis import DirectionalBasis
from isovist.errors import InputError
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import Exact, check_view
from isovist.paper.descriptor.shadows import find_jumps
from isovist.paper.example import TRUE_PLACE, paper_room, profile_of
from isovist.paper.gram.gram import Gram
from isovist.poses import unit_vectors
from isovist.report.figures.plans import outline_of

ANGLES = 360
"""Directions in which weights and what is remembered are told."""
LEAST = 1e-6
"""A corner hides nothing where what is seen beside it is not farther by more than this, in m."""
PROFILES = ("softmax", "bump", "cosine")


@lru_cache(maxsize=1)
def room() -> SegmentMap:
    """Return the room of the paper's example."""
    return paper_room()


@lru_cache(maxsize=32)
def _tools(
    channels: int, temperature: float, profile: str
) -> tuple[DirectionalBasis, Descriptor, Gram]:
    basis = DirectionalBasis.circle(channels, profile=profile_of(profile, temperature))
    return basis, Descriptor(basis, quadrature=Exact(1e-10)), Gram.from_basis(basis)


def theory_at(ask: Ask) -> dict[str, Any]:
    """Compute signal, weights, F, J, shadows and the Gram norm at a point of the room."""
    world = room()
    profile = ask.text("profile", "softmax")
    if profile not in PROFILES:
        raise InputError.about("profile", f"must be {', '.join(PROFILES)}, got {profile}.")
    channels = ask.count("channels", 8, low=3, high=64)
    temperature = ask.number("temperature", 0.5, low=0.02, high=2.0)
    basis, descriptor, gram = _tools(channels, temperature, profile)
    point = np.array(ask.place() if ask.has("x") else TRUE_PLACE)
    other = np.array(ask.place("other_x", "other_y")) if ask.has("other_x") else None
    for place in (point, other):
        if place is not None and not world.contains(place):
            raise InputError(
                "A point must lie in the free space of the room, "
                f"got ({place[0]:.2f}, {place[1]:.2f}).",
                code="not_free",
            )
    F, J = descriptor.at(world, point, jacobian=True)
    _, without = descriptor.at(world, point, jacobian=True, shadow=False)
    assert J is not None and without is not None  # noqa: PT018
    theta = unit_vectors(2.0 * np.pi * np.arange(ANGLES) / ANGLES)
    told: dict[str, Any] = {
        "point": point.tolist(),
        "walls": world.walls.tolist(),
        "outline": rounded(outline_of(world, point)),
        "range": rounded(world.cast(point, theta).ranges, 4),
        "remembered": rounded(gram.projection(F)(theta), 4),
        "weights": rounded(basis.weights(theta).T, 4),
        "directions": rounded(basis.directions, 5),
        "F": F.tolist(),
        "J": J.tolist(),
        "J_without_shadow": without.tolist(),
        "singular_values": np.linalg.svd(J, compute_uv=False).tolist(),
        "shadows": rounded(shadows_of(world, point)),
        "gram": {"rank": gram.rank, "condition": gram.condition, "norm": float(gram.seminorm(F))},
        "other": None,
    }
    if other is not None:
        F_other, _ = descriptor.at(world, other)
        told["other"] = {
            "point": other.tolist(),
            "outline": rounded(outline_of(world, other)),
            "F": F_other.tolist(),
            "distance": float(gram.distance(F, F_other)),
            "plain": float(np.linalg.norm(F - F_other)),
        }
    return told


def shadows_of(world: SegmentMap, point: FloatArray) -> FloatArray:
    """Return the corners that hide walls and the wall points behind them, shape (k, 4), in m."""
    block = point[None, :]
    jumps = find_jumps(world, block, world.see(block), check_view(None))
    near = np.minimum(jumps.before.ranges, jumps.after.ranges)
    far = np.maximum(jumps.before.ranges, jumps.after.ranges)
    hides = (far - near > LEAST) & np.isfinite(far)
    near, far, along = near[hides, None], far[hides, None], jumps.before.directions[hides]
    return np.concatenate([point + near * along, point + far * along], axis=1)
