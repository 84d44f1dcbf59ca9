"""Fit a basis to one building, so that the descriptors of far places differ.

Over pairs (p, q) of places farther apart than a distance, with D_pq = ‖F_p − F_q‖²,

    S = −(1/β) log (1/N) Σ_pq exp(−β D_pq/D̄) · D̄                                           (1)

is a smooth minimum of D, with D̄ the mean of D for the basis at the start; by (6) of `gradients`

    dS = Σ_pq s_pq dD_pq,      dD_pq = 2 (F_p − F_q)ᵀ (dF_p − dF_q),                         (2)

with s the shares of the exponentials.  S does not include noise: the number of channels stays n,
and uneven weights spend them where the building has detail.
"""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isovist import AtlasSettings, DirectionalBasis, FileError, InputError, Range
from isovist.arrays import FloatArray
from isovist.basis import Bump, CosinePower, Softmax
from isovist.maps import Map
from isovist.paper.basis_fit.gradients import Objective, Slope, fit_basis
from isovist.paper.descriptor.descriptor import stencil
from isovist.paper.descriptor.moments import Moments
from isovist.paper.descriptor.pull_back import pull_back
from isovist.paper.descriptor.quadrature import CircleSum, EqualArea
from isovist.paper.settings import BasisFitSettings
from isovist.settings import default_of
from isovist.storage import PathLike, read_json, replace_file

MAX_BYTES = 64 << 20
PROFILES = {kind.__name__: kind for kind in (Softmax, Bump, CosinePower)}


def far_separation(
    moments: Moments, places: FloatArray, far: float, start: DirectionalBasis
) -> Objective:
    """Return the soft minimum (1) of squared descriptor distances over pairs of distant places.

    Args:
        moments: Moments of the places.
        places: Positions of the places, shape (P, d), in m.
        far: Minimum distance of the places of a pair, in m.
        start: Basis whose mean squared distance sets the scale of the softening, D̄ in (1).
    """
    gaps = np.linalg.norm(places[:, None] - places, axis=2)
    first, second = np.nonzero(np.triu(gaps > far))
    if len(first) == 0:
        raise InputError(
            f"No two places are farther apart than {far:g} m; take a smaller `far`.", code="empty"
        )
    sharpness = default_of(BasisFitSettings).sharpness
    F, _ = moments.describe(start)
    mean = float(((F[first] - F[second]) ** 2).sum(axis=1).mean())

    def objective(basis: DirectionalBasis) -> Slope:
        F, _ = moments.describe(basis)
        gap = F[first] - F[second]
        D = (gap**2).sum(axis=1) / mean
        share = np.exp(-sharpness * (D - D.min()))
        value = D.min() - np.log(share.mean()) / sharpness
        pull = (2.0 * share / share.sum())[:, None] * gap
        u = np.zeros_like(F)
        np.add.at(u, first, pull)
        np.add.at(u, second, -pull)
        by = pull_back(basis, moments.directions, moments.values[:, 0], moments.owners, u)
        return Slope(float(value) * mean, *by)

    return objective


def map_checksum(world: Map) -> str:
    """Return the checksum that ties a basis to the map that it was fitted to, in hexadecimal."""
    for name in ("cells", "walls", "vertices"):
        part = getattr(world, name, None)
        if part is not None:
            return f"{zlib.crc32(np.ascontiguousarray(part).tobytes()):08x}"
    raise InputError(f"A {type(world).__name__} has no cells, walls or vertices to identify it by.")


def write_basis(basis: DirectionalBasis, path: PathLike, world: Map | None = None) -> None:
    """Write a basis as JSON, with the checksum of the map that it was fitted to."""
    if type(basis.profile) not in PROFILES.values():
        raise InputError("A file can hold a softmax, a bump or a cosine power, no other profile.")
    content = {
        "directions": basis.directions.tolist(),
        "profile": type(basis.profile).__name__,
        "parameter": basis.profile.parameter,
        "map": None if world is None else map_checksum(world),
    }
    replace_file(path, (json.dumps(content) + "\n").encode())


def read_basis(path: PathLike, world: Map | None = None) -> DirectionalBasis:
    """Read a basis that was fitted to a map; raise an error for another map."""
    path = Path(path)
    content: Any = read_json(path, "a basis", MAX_BYTES)
    try:
        profile = PROFILES[content["profile"]](float(content["parameter"]))
        basis = DirectionalBasis.from_directions(content["directions"], profile=profile)
        checksum = content["map"]
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
    if world is not None and checksum is not None and checksum != map_checksum(world):
        raise FileError(
            f"{path.name} is of another map. Fit one to this map: `isovist paper fit-basis`.",
            code="outdated_file",
        )
    return basis


@dataclass(frozen=True, slots=True, eq=False)
class FittedBasis:
    """A basis fitted to a map, compared with the uniform basis.

    Attributes:
        basis: The fitted basis.
        fitted: Smallest distance ‖F_p − F_q‖ of the far places used for fitting, with the uniform
            basis and with the fitted one.
        held_out: Smallest distance of other far places, with both.
        lowest: Distance below which 1 % of the other far pairs lie, with both.
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
) -> FittedBasis:
    """Fit a basis to a map by the objective (1), starting from the uniform basis.

    Args:
        world: The map.
        channels: Number of directions.
        far: Distance in m beyond which the descriptors of two places should differ.
        count: Number of places for the fit, and of other places for its evaluation.
        steps: Maximum number of steps of the optimiser.
        seed: Seed of the random places.
    """
    start = (DirectionalBasis.circle if world.dimension == 2 else DirectionalBasis.fibonacci)(
        channels
    )
    rng = np.random.default_rng(seed)
    places = _places(world, 2 * count, rng)
    signal, step = Range(AtlasSettings().reach), default_of(BasisFitSettings).difference_m
    rule = (CircleSum(512) if world.dimension == 2 else EqualArea(3000)).rule()
    parts = [
        (half, Moments.from_rule(world, half, rule, signal, step=step))
        for half in (places[:count], places[count:])
    ]
    objective = far_separation(parts[0][1], parts[0][0], far, start)
    width = start.profile.parameter
    best = fit_basis(
        start, objective, parameter_range=(0.25 * width, 4.0 * width), steps=steps
    ).basis
    gaps = [[_far_gaps(m.describe(basis)[0], p, far) for basis in (start, best)] for p, m in parts]
    (fit0, fit1), (out0, out1) = gaps
    return FittedBasis(
        best,
        (float(fit0.min()), float(fit1.min())),
        (float(out0.min()), float(out1.min())),
        (float(np.quantile(out0, 0.01)), float(np.quantile(out1, 0.01))),
    )


def _far_gaps(F: FloatArray, places: FloatArray, far: float) -> FloatArray:
    """Return ‖F_p − F_q‖ of far pairs."""
    first, second = np.nonzero(np.triu(np.linalg.norm(places[:, None] - places, axis=2) > far))
    return np.asarray(np.linalg.norm(F[first] - F[second], axis=1))


def _places(world: Map, count: int, rng: np.random.Generator) -> FloatArray:
    """Return random free places with room for differences, shape (count, d)."""
    limits = default_of(BasisFitSettings)
    low, high = world.bounds
    places: list[FloatArray] = []
    for _ in range(200 * count):
        p = rng.uniform(low, high)
        # Something thin may stand where the differences are taken, with free space behind it.
        near = np.concatenate([stencil(p, limits.difference_m), stencil(p, limits.clearance_m)])
        if np.asarray(world.contains(near)).all():
            places.append(p)
        if len(places) == count:
            return np.array(places)
    raise InputError(
        f"The map has too little free space: {len(places)} of {count} places were found.",
        code="empty",
    )
