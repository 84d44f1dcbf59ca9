"""Compare descriptors with unknown channels.

With v_i = 1 for channels that both descriptors know and |v| of n of them,

    euclid       d² = (n/|v|) Σ v_i (F_i − F′_i)²,                                          (1)
    truncated    d  = (n/|v|) Σ v_i min(|F_i − F′_i|, τ),                                   (2)
    gram         d² = (n/|v|) gᵀ (G_vv)⁺ g,      g = v (F − F′),                            (3)

with G the Gram matrix of the basis.  If all channels are known these are ‖F − F′‖₂, its truncated
L¹ twin and the metric of the paper.  A node with less than three quarters of the observed channels
is not compared, since a few channels agree with anything. τ is half the standard deviation of a
channel over the grid.  Larger differences are outliers and count as τ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from isovist import InputError
from isovist.arrays import BoolArray, FloatArray
from isovist.paper.settings import LocalizerSettings
from isovist.settings import default_of

Norm = Literal["euclid", "gram", "truncated"]
NORMS: tuple[Norm, ...] = get_args(Norm)
"""Names of the distances (1), (2) and (3)."""
_MIN_EIGENVALUE = 1e-10  # smallest eigenvalue of G_vv that is inverted, relative to the largest


@dataclass(frozen=True, slots=True, eq=False)
class PartialFeatures:
    """Descriptors with a mask of the known channels.

    Attributes:
        F: Descriptors, shape (m, n).
        mask: True for known channels, shape (m, n).
    """

    F: FloatArray
    mask: BoolArray

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the known channels; `inf` if no channel is known."""
        values = self.F[self.mask]
        return float(values.std()) if len(values) else np.inf

    @property
    def truncation(self) -> float:
        """Return τ of (2) for the descriptors of a grid."""
        return default_of(LocalizerSettings).truncation * self.deviation


def check_norm(norm: str) -> None:
    """Refuse a norm that is not in `NORMS`."""
    if norm not in NORMS:
        raise InputError.about(
            "norm", f"must be {', '.join(NORMS[:-1])} or {NORMS[-1]}, got {norm}."
        )


def distances(
    nodes: PartialFeatures,
    observed: PartialFeatures,
    norm: Norm,
    *,
    gram: FloatArray | None = None,
    tau: float = np.inf,
) -> FloatArray:
    """Return the distances from K nodes to H observations, shape (K, H).

    Pairs with too few common channels have the distance `inf`.

    Args:
        nodes: Descriptors of the grid.
        observed: Descriptors of the observations.
        norm: Name of the norm: (1), (2) or (3).
        gram: G, shape (n, n), for "gram".
        tau: τ, for "truncated".
    """
    s, v = nodes.mask.astype(np.float64), observed.mask.astype(np.float64)
    A, B = np.where(nodes.mask, nodes.F, 0.0), np.where(observed.mask, observed.F, 0.0)
    common = s @ v.T
    if norm == "euclid":
        total = (A * A) @ v.T - 2.0 * A @ B.T + s @ (B * B).T
    elif norm == "truncated":
        total = _truncated(_gaps(A, s, B, observed.mask), tau)
    else:
        assert gram is not None
        total = _whitened(_gaps(A, s, B, observed.mask), gram)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.maximum(total, 0.0) * A.shape[1] / common
    out = scaled if norm == "truncated" else np.sqrt(scaled)
    min_common = default_of(LocalizerSettings).min_common_share * np.maximum(v.sum(axis=1), 1.0)
    return np.where(common >= min_common, out, np.inf)


def _gaps(
    A: FloatArray, s: FloatArray, B: FloatArray, mask: BoolArray
) -> Iterator[tuple[BoolArray, FloatArray]]:
    """Yield v of each observation with F − F′ of all nodes, shape (|v|, K), 0 where unknown."""
    A, s = np.ascontiguousarray(A.T), np.ascontiguousarray(s.T)
    for b, v in zip(B, mask, strict=True):
        yield v, A[v] - b[v, None] * s[v]


def _truncated(gaps: Iterator[tuple[BoolArray, FloatArray]], tau: float) -> FloatArray:
    """Return the sum of (2), shape (K, H)."""
    return np.stack([np.minimum(np.abs(gap), tau).sum(axis=0) for _, gap in gaps], axis=1)


def _whitened(gaps: Iterator[tuple[BoolArray, FloatArray]], G: FloatArray) -> FloatArray:
    """Return the square of (3) without its factor, shape (K, H)."""
    rows = (whitening(G[np.ix_(v, v)]).T @ gap for v, gap in gaps)
    return np.stack([np.einsum("rk,rk->k", z, z) for z in rows], axis=1)


def whitening(G: FloatArray) -> FloatArray:
    """Return T with T Tᵀ = G⁺ on the axes that are larger than rounding, shape (n, r)."""
    if len(G) == 0:
        return np.empty((0, 0))
    values, axes = np.linalg.eigh(G)
    is_kept = values > _MIN_EIGENVALUE * values[-1]
    return np.asarray(axes[:, is_kept] / np.sqrt(values[is_kept]))
