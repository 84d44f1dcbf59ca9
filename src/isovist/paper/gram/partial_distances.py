"""How far descriptors are apart when both know only some channels.

With v_i = 1 for channels that both know and |v| of n of them,

    euclid       d² = (n/|v|) Σ v_i (F_i − F′_i)²,                                          (1)
    truncated    d  = (n/|v|) Σ v_i min(|F_i − F′_i|, τ),                                   (2)
    gram         d² = (n/|v|) gᵀ (G_vv)⁺ g,      g = v (F − F′),                            (3)

with G the Gram matrix of the basis; where all is known these are ‖F − F′‖₂, its truncated L¹ twin
and the metric of the paper.  A node that knows less than three quarters of what was observed is
not compared: few channels agree with anything.  τ is half the standard deviation of a channel over
the grid: what is farther off says no more than that it is off.
"""

from typing import Literal, get_args

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError

Norm = Literal["euclid", "gram", "truncated"]
NORMS: tuple[Norm, ...] = get_args(Norm)
COMMON = 0.75
"""Least share of the observed channels that a node must know."""
_KEPT = 1e-10  # smallest eigenvalue of G_vv that is inverted, relative to the largest


def check_norm(norm: str) -> None:
    """An error unless the norm is one of these."""
    if norm not in NORMS:
        raise InputError.about(
            "norm", f"must be {', '.join(NORMS[:-1])} or {NORMS[-1]}, got {norm}."
        )


def truncation(F: FloatArray, seen: BoolArray) -> float:
    """τ of (2) for descriptors of a grid, shape (K, n)."""
    known = F[seen]
    return float(0.5 * known.std()) if known.size else np.inf


def distances(
    nodes: FloatArray,
    seen: BoolArray,
    observed: FloatArray,
    known: BoolArray,
    norm: Norm,
    *,
    gram: FloatArray | None = None,
    tau: float = np.inf,
) -> FloatArray:
    """From K nodes to H observations, shape (K, H); `inf` with too little in common.

    Args:
        nodes: F of the grid, shape (K, n).
        seen: Channels that the nodes know, shape (K, n).
        observed: F of the observations, shape (H, n).
        known: Channels that they know, shape (H, n).
        norm: Which of (1) to (3).
        gram: G, shape (n, n), for "gram".
        tau: τ, for "truncated".
    """
    s, v = seen.astype(np.float64), known.astype(np.float64)
    A, B = np.where(seen, nodes, 0.0), np.where(known, observed, 0.0)
    common = s @ v.T
    if norm == "euclid":
        total = (A * A) @ v.T - 2.0 * A @ B.T + s @ (B * B).T
    elif norm == "truncated":
        total = _truncated(A, s, B, v, tau)
    else:
        assert gram is not None
        total = _gram(A, s, B, known, gram)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.maximum(total, 0.0) * nodes.shape[1] / common
    out = scaled if norm == "truncated" else np.sqrt(scaled)
    return np.where(common >= COMMON * np.maximum(v.sum(axis=1), 1.0), out, np.inf)


def _truncated(
    A: FloatArray, s: FloatArray, B: FloatArray, v: FloatArray, tau: float
) -> FloatArray:
    out = np.empty((len(B), len(A)))
    across, told = np.ascontiguousarray(A.T), np.ascontiguousarray(s.T)
    for row, b, known in zip(out, B, v > 0.0, strict=True):
        gap = across[known]
        gap -= b[known, None]
        np.abs(gap, out=gap)
        np.minimum(gap, tau, out=gap)
        gap *= told[known]
        gap.sum(axis=0, out=row)
    return out.T


def _gram(
    A: FloatArray, s: FloatArray, B: FloatArray, known: BoolArray, G: FloatArray
) -> FloatArray:
    out = np.empty((len(B), len(A)))
    across, told = np.ascontiguousarray(A.T), np.ascontiguousarray(s.T)
    for row, b, v in zip(out, B, known, strict=True):
        gap = whitening(G[np.ix_(v, v)]).T @ (across[v] - b[v, None] * told[v])
        np.einsum("rk,rk->k", gap, gap, out=row)
    return out.T


def whitening(G: FloatArray) -> FloatArray:
    """T with T Tᵀ = G⁺ on the axes that can be told from rounding, shape (n, r)."""
    if len(G) == 0:
        return np.empty((0, 0))
    values, axes = np.linalg.eigh(G)
    kept = values > _KEPT * values[-1]
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]))
