"""Describe scans by the channels of an atlas, which the search compares with the nodes.

In 2D a beam covers the angle halfway to its neighbours.  If the directions of a basis have equal
steps, a heading is a shift of channels and a phase.  Otherwise every heading is a phase, and every
channel a ring of one channel.

In 3D the scan becomes a table G of the mean log(1 + r) in bins of a quarter of a channel, and M
of the bins that hold returns.  With V_r the weights of the channel of ring r at azimuth 0, its
channels at every azimuth s come from one correlation around the circle,

    F_r(s) = Σ G M V_r(· − s) / Σ M V_r(· − s),                                            (1)

and the mass below the line says which channels the sensor saw.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray, readonly
from isovist.atlas.matching.channels import PHASES, RAYS, Window
from isovist.atlas.matching.reflectance import ReflectanceRange
from isovist.atlas.settings import AtlasSettings
from isovist.basis import Bump, CosinePower, DirectionalBasis, Softmax
from isovist.errors import InputError
from isovist.poses import unit_vectors
from isovist.sensing import CloudScan, Scan

SCANS = 16
"""Size of the caches of scans and sensors: a scan is described again for every map."""
MAX_CACHED_BEAMS = 4096
"""Beams of a sensor above which weights are not cached, since they take 1 kB each."""
RAYS_PER_WIDTH = 16
"""Rays per channel by which channels of unequal width are measured."""
NEGLIGIBLE = 1e-17
"""Share of the largest weight of a beam below which others are less than rounding."""
PROFILES = {kind.__name__: kind for kind in (Softmax, Bump, CosinePower)}


@lru_cache(maxsize=8)
def search_basis(channels: int) -> DirectionalBasis:
    """Return the default directions of a 2D search.

    ε = h²/2 is sharper than the default of a basis, so that only neighbours overlap.
    """
    return DirectionalBasis.circle(channels, 0.5 * (np.pi / channels) ** 2)


def check_basis(basis: DirectionalBasis, dimension: int) -> None:
    """Check that a basis can describe a map of a dimension; raise an error otherwise."""
    if not isinstance(basis, DirectionalBasis):
        raise InputError.about("basis", f"must be a DirectionalBasis, got {type(basis).__name__}.")
    if basis.dimension != dimension:
        raise InputError(
            f"A {basis.dimension}D basis cannot describe a {dimension}D map.",
            code="wrong_dimension",
            field="basis",
        )


def is_even(basis: DirectionalBasis | None) -> bool:
    """Return whether the directions have equal steps, so that a rotation is a cyclic shift.

    The default directions (`None`) have equal steps.
    """
    return basis is None or basis.is_uniform_circle


def rings_of(channels: NDArray[Any], basis: DirectionalBasis | None) -> NDArray[Any]:
    """Arrange channels, shape (…, n), as rings of a search: one of n, or n of one."""
    return channels[..., None, :] if is_even(basis) else channels[..., None]


def basis_json(basis: DirectionalBasis) -> list[Any]:
    """Return the profile of a basis, by name and parameter, and its directions if uneven."""
    if type(basis.profile) not in PROFILES.values():
        raise InputError(
            "An atlas keeps a softmax, a bump or a cosine power, no other profile.", field="basis"
        )
    profile = [type(basis.profile).__name__, basis.profile.parameter]
    return profile if is_even(basis) else [*profile, basis.directions.tolist()]


def basis_from_json(values: list[Any], channels: int, dimension: int = 2) -> DirectionalBasis:
    """Build a basis from the result of `basis_json`."""
    name, parameter, *directions = values
    profile = PROFILES[name](float(parameter))
    if not directions:
        return DirectionalBasis.circle(channels, profile=profile)
    basis = DirectionalBasis.from_directions(directions[0], profile=profile)
    if basis.directions.shape != (channels, dimension):
        raise InputError(
            f"the basis has {len(basis)} directions instead of {channels}",
            code="conflict",
            field="basis",
        )
    # They were normalised once, before the nodes were described.
    return replace(basis, directions=readonly(np.array(directions[0])))


@lru_cache(maxsize=8)
def search_rings(rings: int, channels: int) -> DirectionalBasis:
    """Return the default directions of a 3D search, as sharp as those of a 2D search."""
    return DirectionalBasis.rings(rings, channels, 0.5 * (np.pi / channels) ** 2)


def described_rings(settings: AtlasSettings) -> slice:
    """Return the slice of the rings that lie within the described elevation."""
    margin = round(0.5 * settings.rings * (1.0 - np.sin(settings.elevation)))
    return slice(margin, settings.rings - margin)


@lru_cache(maxsize=SCANS)
def window_of_scan(
    scan: Scan,
    settings: AtlasSettings,
    share: float,
    basis: DirectionalBasis | None = None,
    reflectances: ReflectanceRange | None = None,
) -> Window:
    """Return the channels of a 2D scan, for the part of the circle that it sees.

    If `reflectances` are given, the intensities are a second ring of channels.
    """
    from isovist.compute import channels_of

    channels, even = settings.channels, is_even(basis)
    basis = search_basis(channels) if basis is None else basis
    weigh = _beam_weights if len(scan.bearings) <= MAX_CACHED_BEAMS else _beam_weights.__wrapped__
    firsts, weights = weigh(scan.bearings.tobytes(), basis)
    intensities = None if reflectances is None else scan.intensities
    phases, rows = len(weights), 1 if intensities is None else 2
    signals = np.empty((rows, len(scan.bearings)))
    np.log1p(np.minimum(scan.ranges, settings.reach), out=signals[0])
    if reflectances is not None and intensities is not None:
        signals[1, scan.valid] = reflectances.brightness(intensities[scan.valid])
    size = phases * rows * channels
    values, is_seen = np.empty(size, np.float32), np.empty(size, np.bool_)
    arc, min_mass = np.empty(2, np.int64), _min_mass(basis, share)
    channels_of(signals, scan.valid, firsts, weights, min_mass, even, values, is_seen, arc)
    first, m = arc.tolist()
    shape = (phases, rows, m) if even else (phases, rows * channels, 1)
    size = phases * rows * m
    return Window(
        readonly(values[:size].reshape(shape)), readonly(is_seen[:size].reshape(shape)), first
    )


def units_of(bearings: FloatArray) -> FloatArray:
    """Return the unit vectors (cos θ, sin θ) of the beams of a sensor, shape (m, 2).

    Scans of one sensor share them.
    """
    if len(bearings) > MAX_CACHED_BEAMS:
        return unit_vectors(bearings)
    return _units(bearings.tobytes())


@lru_cache(maxsize=SCANS)
def _units(bearings: bytes) -> FloatArray:
    return readonly(unit_vectors(np.frombuffer(bearings)))


@lru_cache(maxsize=SCANS)
def _beam_weights(bearings: bytes, basis: DirectionalBasis) -> tuple[IntArray, FloatArray]:
    """Return the weights of every beam of a sensor at each phase; its scans share them.

    They are those of the basis times the angle that the beam stands for, in widths of a channel.
    Negligible weights are left out.

    Returns:
        The first channel that counts, shape (P, m), and the weights from there, shape (P, m, W).
    """
    phases = PHASES if is_even(basis) else PHASES * len(basis)
    width, each = 2.0 * np.pi / len(basis), np.frombuffer(bearings)
    weights = basis.weights(unit_vectors(each + np.arange(phases)[:, None] * width / PHASES))
    weights *= (_shares(each, width) / width)[:, None]
    peak = weights.argmax(axis=-1)
    is_felt = weights > NEGLIGIBLE * weights.max(axis=-1, keepdims=True)
    n = len(basis)
    distance = np.abs((np.arange(n) - peak[..., None] + n // 2) % n - n // 2)
    reach = int(distance.max(where=is_felt, initial=0))
    if not is_even(basis) or 2 * reach + 1 >= n:
        return readonly(np.zeros_like(peak)), readonly(weights)
    firsts = (peak - reach) % n
    around = (firsts[..., None] + np.arange(2 * reach + 1)) % n
    return readonly(firsts), readonly(np.take_along_axis(weights, around, axis=-1))


@lru_cache(maxsize=SCANS)
def _min_mass(basis: DirectionalBasis, share: float) -> FloatArray:
    """Return the mass of a share of each channel, in widths of an equal one, shape (n,)."""
    if is_even(basis):
        return readonly(np.full(len(basis), share))
    rays = RAYS_PER_WIDTH * len(basis)
    W = basis.weights(unit_vectors(2.0 * np.pi * np.arange(rays) / rays))
    return readonly(share * (W.sum(axis=0) / RAYS_PER_WIDTH))


@lru_cache(maxsize=SCANS)
def window_of_cloud(
    scan: CloudScan, settings: AtlasSettings, share: float, basis: DirectionalBasis | None = None
) -> Window:
    """Return the channels of a 3D scan, equation (1), for the rings that it sees.

    A channel counts when it has at least `share` of the mass of a well covered channel.  That mass
    is the ninth decile over the channels, since sensors differ in density.
    """
    around = settings.channels
    rows, columns = 8 * settings.rings, RAYS * around
    p = scan.level_points
    flat = np.hypot(p[:, 0], p[:, 1])
    column = np.floor(np.arctan2(p[:, 1], p[:, 0]) / (2.0 * np.pi) * columns).astype(np.int64)
    row = np.floor((np.arctan2(p[:, 2], flat) / np.pi + 0.5) * rows).astype(np.int64)
    bins = np.minimum(row, rows - 1) * columns + column % columns
    signal = np.log1p(np.minimum(np.hypot(flat, p[:, 2]), settings.reach))
    counts = np.bincount(bins, minlength=rows * columns)
    sums = np.bincount(bins, signal, minlength=rows * columns)
    M = (counts > 0).astype(np.float64).reshape(rows, columns)
    G = (sums / np.maximum(counts, 1)).reshape(rows, columns)
    weights, total_weight = _channel_weights(settings, basis)
    mass, total = (_around(table, weights) for table in (M, G * M))
    part = mass / total_weight[:, None]
    covered = part[part > settings.cloud_channels.min_cover]
    quantile = settings.cloud_channels.typical_quantile
    bar = share * float(np.quantile(covered, quantile)) if covered.size else np.inf
    is_known = part >= bar
    values = np.where(is_known, total / np.where(is_known, mass, 1.0), 0.0)
    # Column s of the tables is the channel at azimuth s; phase p looks p/PHASES of a channel back.
    phases, m = (PHASES, around) if basis is None else (PHASES * around, 1)
    back = np.arange(phases)[:, None] * (columns // around // PHASES)
    at = (np.arange(m) * (columns // around) - back) % columns
    is_seen = np.moveaxis(is_known[:, at], 1, 0)
    rings = np.flatnonzero(is_seen.any(axis=(0, 2)))
    low, high = (int(rings[0]), int(rings[-1]) + 1) if rings.size else (0, 0)
    return Window(
        readonly(
            np.ascontiguousarray(np.moveaxis(values[:, at], 1, 0)[:, low:high], dtype=np.float32)
        ),
        readonly(np.ascontiguousarray(is_seen[:, low:high])),
        ring=low,
    )


@lru_cache(maxsize=4)
def _channel_weights(
    settings: AtlasSettings, basis: DirectionalBasis | None
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return Fourier rows of V_r, shape (rings, rows, columns // 2 + 1), and Σ V_r, (rings,).

    A basis given by the user has no rings that turn: V_r is the weight of its r-th direction.
    """
    rings, around = settings.rings, settings.channels
    rows, part = 8 * rings, RAYS if basis is None else RAYS * around
    elevation = ((np.arange(rows) + 0.5) / rows - 0.5)[:, None] * np.pi
    azimuth = 2.0 * np.pi * (np.arange(part) + 0.5) / (RAYS * around)
    flat = np.cos(elevation)
    up = np.broadcast_to(np.sin(elevation), (rows, part))
    centres = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), up], axis=-1)
    if basis is not None:
        V = np.moveaxis(basis.weights(centres), -1, 0) * flat
        return np.fft.rfft(V, axis=2), V.sum(axis=(1, 2))
    # q channels farther round, the channel at azimuth 0 is what the one q channels back is here.
    back = -np.arange(around) % around
    W = search_rings(rings, around).weights(centres).reshape(rows, part, rings, around)
    W = W[:, :, described_rings(settings)][..., back]
    V = W.transpose(2, 0, 3, 1).reshape(-1, rows, part * around) * flat
    return np.fft.rfft(V, axis=2), V.sum(axis=(1, 2))


def _around(table: FloatArray, weights: NDArray[np.complex128]) -> FloatArray:
    """Return Σ table V_r(· − s) at every column s, shape (rings, columns)."""
    product = (np.fft.rfft(table, axis=1) * np.conj(weights)).sum(axis=1)
    return np.maximum(np.fft.irfft(product, n=table.shape[1], axis=1), 0.0)


def _shares(bearings: FloatArray, limit: float) -> FloatArray:
    """Return the angle that each beam covers, in rad, up to a limit."""
    if bearings.size == 1:
        return np.array([limit])
    gaps = np.diff(bearings)
    share = np.empty_like(bearings)
    share[0], share[-1] = gaps[0], gaps[-1]
    share[1:-1] = 0.5 * (gaps[:-1] + gaps[1:])
    return np.minimum(share, limit)
