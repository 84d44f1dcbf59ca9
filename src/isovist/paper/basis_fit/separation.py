"""A basis for one building: far places as unlike as can be.

Over pairs (p, q) of places farther apart than a distance, with D_pq = ‖F_p − F_q‖²,

    S = −(1/β) log (1/N) Σ_pq exp(−β D_pq/D̄) · D̄                                           (1)

is a smooth least D, with D̄ the mean of D for the basis at the start; by (6) of `optimise`

    dS = Σ_pq s_pq dD_pq,      dD_pq = 2 (F_p − F_q)ᵀ (dF_p − dF_q),                         (2)

with s the shares of the exponentials.  S does not know of noise: the channels stay n, and weights
that share the circle out unevenly spend them where the building has something to tell.
"""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.settings import AtlasSettings
from isovist.basis import Bump, CosinePower, DirectionalBasis, Softmax
from isovist.errors import FileError, InputError
from isovist.maps.base import Map
from isovist.paper.basis_fit.gradients import Objective, Slope, fit_basis, pull_back
from isovist.paper.descriptor.descriptor import around
from isovist.paper.descriptor.moments import Moments
from isovist.paper.descriptor.quadrature import CircleSum, EqualArea
from isovist.sensing.signals import Range
from isovist.storage.files import PathLike, read_json, replace_file

SHARPNESS = 20.0
"""β: a pair at the mean distance counts e⁻²⁰ of one at none."""
STEP, ROOM = 0.02, 0.06
"""Of the differences that the slopes of a place are made of, and what it has to all sides, in m."""
MAX_BYTES = 64 << 20
PROFILES = {kind.__name__: kind for kind in (Softmax, Bump, CosinePower)}


def far_separation(
    moments: Moments, places: FloatArray, far: float, start: DirectionalBasis
) -> Objective:
    """The objective (1).

    Args:
        moments: Of the places.
        places: Shape (P, d), in m.
        far: Pairs farther apart than this count, in m.
        start: Whose mean distance is D̄.
    """
    gaps = np.linalg.norm(places[:, None] - places, axis=2)
    one, two = np.nonzero(np.triu(gaps > far))
    if len(one) == 0:
        raise InputError(
            f"No two places are farther apart than {far:g} m; take a smaller `far`.", code="empty"
        )
    F, _ = moments.describe(start)
    mean = float(((F[one] - F[two]) ** 2).sum(axis=1).mean())

    def objective(basis: DirectionalBasis) -> Slope:
        F, _ = moments.describe(basis)
        gap = F[one] - F[two]
        D = (gap**2).sum(axis=1) / mean
        share = np.exp(-SHARPNESS * (D - D.min()))
        value = D.min() - np.log(share.mean()) / SHARPNESS
        pull = (2.0 * share / share.sum())[:, None] * gap
        u = np.zeros_like(F)
        np.add.at(u, one, pull)
        np.add.at(u, two, -pull)
        by = pull_back(basis, moments.directions, moments.values[:, 0], moments.owners, u)
        return Slope(float(value) * mean, *by)

    return objective


def map_mark(world: Map) -> str:
    """Checksum by which a basis knows the map that it was fitted to, in hexadecimal."""
    for name in ("cells", "walls", "vertices"):
        part = getattr(world, name, None)
        if part is not None:
            return f"{zlib.crc32(np.ascontiguousarray(part).tobytes()):08x}"
    raise InputError(f"A {type(world).__name__} has nothing to tell it by.")


def write_basis(basis: DirectionalBasis, path: PathLike, world: Map | None = None) -> None:
    """Write a basis as JSON, with the mark of the map that it was fitted to."""
    if type(basis.profile) not in PROFILES.values():
        raise InputError("A file keeps a softmax, a bump or a cosine power, no other profile.")
    content = {
        "directions": basis.directions.tolist(),
        "profile": type(basis.profile).__name__,
        "parameter": basis.profile.parameter,
        "map": None if world is None else map_mark(world),
    }
    replace_file(path, (json.dumps(content) + "\n").encode())


def read_basis(path: PathLike, world: Map | None = None) -> DirectionalBasis:
    """Read a basis; one that was fitted to another map than this is refused."""
    path = Path(path)
    told: Any = read_json(path, "a basis", MAX_BYTES)
    try:
        profile = PROFILES[told["profile"]](float(told["parameter"]))
        basis = DirectionalBasis.from_directions(told["directions"], profile=profile)
        mark = told["map"]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path.name} is not a basis: it needs `directions`, `profile`, `parameter` and `map`.",
            code="unknown_format",
        ) from error
    if world is not None and basis.dimension != world.dimension:
        raise FileError(
            f"{path.name}: a {basis.dimension}D basis cannot describe a {world.dimension}D map.",
            code="wrong_dimension",
        )
    if world is not None and mark is not None and mark != map_mark(world):
        raise FileError(
            f"{path.name} is of another map. Fit one to this map: `isovist paper fit-basis`.",
            code="outdated_file",
        )
    return basis


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """A basis fitted to a map, and what it is worth at places that it was not fitted to.

    Attributes:
        basis: The fitted one.
        fitted: Least distance ‖F_p − F_q‖ of far places that it was fitted to, of the uniform basis
            and of the fitted one.
        held_out: The same at other places.
        lowest: Distance below which one in a hundred far pairs of held-out places lies, of both.
    """

    basis: DirectionalBasis
    fitted: tuple[float, float]
    held_out: tuple[float, float]
    lowest: tuple[float, float]


def fit_to_map(
    world: Map,
    channels: int = 32,
    *,
    far: float = 1.0,
    count: int = 80,
    steps: int = 60,
    seed: int = 0,
) -> Learnt:
    """Fit a basis to a map, from the uniform one on, by the objective (1).

    Args:
        world: The map.
        channels: Directions of the basis.
        far: Places farther apart than this should be unlike, in m.
        count: Places to fit to, and as many others to measure at.
        steps: Of the optimiser, at most.
        seed: Of the choice of places.
    """
    start = (DirectionalBasis.circle if world.dimension == 2 else DirectionalBasis.fibonacci)(
        channels
    )
    rng = np.random.default_rng(seed)
    places = _places(world, 2 * count, rng)
    signal = Range(AtlasSettings().reach)
    rule = (CircleSum(512) if world.dimension == 2 else EqualArea(3000)).rule()
    parts = [
        (some, Moments.from_rule(world, some, rule, signal, step=STEP))
        for some in (places[:count], places[count:])
    ]
    objective = far_separation(parts[0][1], parts[0][0], far, start)
    width = start.profile.parameter
    best = fit_basis(
        start, objective, parameter_range=(0.25 * width, 4.0 * width), steps=steps
    ).basis
    gaps = [[_far_gaps(m.describe(basis)[0], p, far) for basis in (start, best)] for p, m in parts]
    (fit0, fit1), (out0, out1) = gaps
    return Learnt(
        best,
        (float(fit0.min()), float(fit1.min())),
        (float(out0.min()), float(out1.min())),
        (float(np.quantile(out0, 0.01)), float(np.quantile(out1, 0.01))),
    )


def _far_gaps(F: FloatArray, places: FloatArray, far: float) -> FloatArray:
    """‖F_p − F_q‖ of far pairs."""
    one, two = np.nonzero(np.triu(np.linalg.norm(places[:, None] - places, axis=2) > far))
    return np.asarray(np.linalg.norm(F[one] - F[two], axis=1))


def _places(world: Map, count: int, rng: np.random.Generator) -> FloatArray:
    """Random free places with room for differences, shape (count, d)."""
    low, high = world.bounds
    found: list[FloatArray] = []
    for _ in range(200 * count):
        p = rng.uniform(low, high)
        # Something thin may stand where the differences are taken, and nothing farther off.
        near = np.concatenate([around(p, STEP), around(p, ROOM)])
        if np.asarray(world.contains(near)).all():
            found.append(p)
        if len(found) == count:
            return np.array(found)
    raise InputError(
        f"The map has hardly a free place: {len(found)} of {count} were found.", code="empty"
    )
