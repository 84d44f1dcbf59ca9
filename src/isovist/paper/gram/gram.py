"""Compute the geometry that a basis gives to signals: Gram matrix, seminorm, projection, metric.

With the inner product ⟨f, g⟩ = ∫_Ω f g dσ over the observed directions Ω (all, by default),

    G_ij = ⟨w_i, w_j⟩,                                                        (1)
    |f|² = Fᵀ G⁻¹ F = ‖P f‖²,      F_i = ⟨f, w_i⟩,                            (2)
    P f  = Σ_i α_i w_i,            α = G⁻¹ F,                                 (3)
    ‖f‖² − |f|² = ‖f − P f‖² ≥ 0,                                             (4)
    d(p, q) = |f_p − f_q| ≤ ‖f_p − f_q‖,                                      (5)

where P is the orthogonal projection onto the span of the weights.

G is positive definite on paper and singular on a computer as soon as the weights overlap much:
its condition number passes 1e16 at n = 32, ε = 0.5.  So G is never inverted.  With quadrature
nodes θ_s, coefficients c_s and the matrix A_si = √c_s w_i(θ_s),

    A = U diag(s) Vᵀ,     G = V diag(s²) Vᵀ,     z = diag(1/s) Vᵀ F,          (6)
    |f| = ‖z‖,            α = V diag(1/s) z,                                  (7)

over the singular values s_k > τ s_1 only.  Working with A keeps twice the digits that an
eigendecomposition of G would.  How many are kept is the effective rank.  An error e in F becomes at
most e/s_r in |f|, so τ determines how exactly F must be known.  The part of the signal below τ is
only in the last digits of F.

For n equal steps on the circle G is circulant.  With Fourier coefficients c_l of w_0,

    λ_m = 2π n Σ_{l ≡ m mod n} |c_l|²,                                        (8)

a sum of positive terms from one FFT, and V is the real Fourier basis.

From (6) follow the bounds that hold between |f| and the plain norm of F on the kept space,

    s_r |f| ≤ ‖F‖₂ ≤ s_1 |f|.                                                 (9)

Merging channels, F ↦ B F with G ↦ B G Bᵀ, gives a smaller space, so its seminorm is a lower bound
of the finer one: nested spaces give nested bounds.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import circulant

from isovist import DirectionalBasis, InputError, Scan
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.basis import Softmax
from isovist.paper.descriptor.quadrature import CircleSum, Rule
from isovist.paper.gram.weight_rules import Sector, circle_rule, converged_sphere_rule, in_blocks
from isovist.paper.settings import GramSettings
from isovist.poses import unit_vectors
from isovist.renamed import accept_old_names
from isovist.settings import default_of

KEEP = default_of(GramSettings).min_singular_value
"""Default of the threshold τ of equation (6)."""
_MAX_FFT = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """P f as a function: the part of a signal that the descriptor holds, equation (3).

    Attributes:
        basis: The weights.
        coefficients: α, shape (..., n).
    """

    basis: DirectionalBasis
    coefficients: FloatArray

    def __call__(self, theta: ArrayLike) -> FloatArray:
        """Return values at unit vectors θ of shape (m, d); shape (..., m)."""
        return self.coefficients @ self.basis.weights(theta).T


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """The Gram matrix of a basis, factored so that it is usable even if it is nearly singular.

    Attributes:
        basis: Directions and weights.
        rule: Quadrature of the inner product.
        matrix: G, shape (n, n).  Read-only.
        axes: The r axes V that are used, shape (n, r).  Read-only.
        scales: Their singular values s in descending order, shape (r,).  Read-only.
        spectrum: All n eigenvalues of G in descending order, as computed.  Read-only.

    Examples:
        >>> import isovist as iv
        >>> gram = iv.Gram.from_basis(iv.DirectionalBasis.circle(16))
        >>> gram.matrix.shape
        (16, 16)
    """

    basis: DirectionalBasis
    rule: Rule
    matrix: FloatArray
    axes: FloatArray
    scales: FloatArray
    spectrum: FloatArray

    @classmethod
    @accept_old_names
    def from_basis(
        cls,
        basis: DirectionalBasis,
        *,
        tolerance: float = 1e-12,
        keep: float = KEEP,
        view: ArrayLike | Sector | None = None,
    ) -> "Gram":
        """Make the Gram matrix over all directions, or over the directions of a view.

        Args:
            basis: Directions and weights.
            tolerance: Error of the entries of G, relative to the largest entry.
            keep: Threshold τ of equation (6).
            view: Directions that count.  On the circle, intervals of angles in rad, shape (v, 2).
                In 3D, a `Sector`.
        """
        if basis.dimension == 3:
            if view is not None and not isinstance(view, Sector):
                raise InputError("In 3D `view` must be a Sector of azimuths and elevations.")
            return cls.from_rule(basis, converged_sphere_rule(basis, tolerance, view), keep=keep)
        if isinstance(view, Sector):
            raise InputError("On the circle `view` must be intervals of angles, shape (v, 2).")
        terms = _fft_terms(basis, tolerance) if view is None else None
        if terms is not None:
            return cls._circulant(basis, CircleSum(terms).rule(), keep)
        return cls.from_rule(basis, circle_rule(basis, tolerance=tolerance, view=view), keep=keep)

    @classmethod
    @accept_old_names
    def from_rule(cls, basis: DirectionalBasis, rule: Rule, *, keep: float = KEEP) -> "Gram":
        """Make the Gram matrix of the inner product Σ_s c_s f(θ_s) g(θ_s).

        Args:
            basis: Directions and weights.
            rule: Nodes θ_s and positive coefficients c_s.
            keep: Threshold τ of equation (6).
        """
        if (rule.coefficients <= 0.0).any():
            raise InputError("The coefficients of an inner product must be positive.")
        # The triangle of A grows block by block, so A itself is never held.
        R = np.zeros((0, len(basis)))
        for directions, coefficients in in_blocks(basis, rule):
            A = np.sqrt(coefficients)[:, None] * basis.weights(directions)
            R = _triangle(np.concatenate([R, A]))
        return cls._from_triangle(basis, rule, R, keep)

    @classmethod
    @accept_old_names
    def from_scan(cls, basis: DirectionalBasis, scan: Scan, *, keep: float = KEEP) -> "Gram":
        """Make the Gram matrix over the valid beams of a scan, each weighted by its angle.

        Args:
            basis: Directions and weights.
            scan: A 2D scan.
            keep: Threshold τ of equation (6).
        """
        valid = scan.valid
        rule = Rule(
            readonly(unit_vectors(scan.bearings[valid])), readonly(scan.beam_widths[valid].copy())
        )
        return cls.from_rule(basis, rule, keep=keep)

    @classmethod
    def _from_triangle(
        cls, basis: DirectionalBasis, rule: Rule, R: FloatArray, keep: float
    ) -> "Gram":
        _check_keep(keep)
        _, s, Vt = np.linalg.svd(R, full_matrices=True)
        s = np.concatenate([s, np.zeros(R.shape[1] - len(s))])
        r = int((s > keep * s[0]).sum())
        return cls(
            basis, rule, readonly(R.T @ R),
            readonly(np.ascontiguousarray(Vt[:r].T)), readonly(s[:r].copy()), readonly(s * s),
        )  # fmt: skip

    @classmethod
    def _circulant(cls, basis: DirectionalBasis, rule: Rule, keep: float) -> "Gram":
        _check_keep(keep)
        n, terms = len(basis), len(rule.coefficients)
        first = np.concatenate([basis.weights(d)[:, 0] for d, _ in in_blocks(basis, rule)])
        energy = np.abs(np.fft.fft(first) / terms) ** 2
        modes = 2.0 * np.pi * n * energy.reshape(terms // n, n).sum(axis=0)
        # Each mode m and n − m share an eigenvalue, with cosine and sine as axes.
        m, i = np.arange(n), np.arange(n)
        half = np.minimum(m, n - m)
        phase = 2.0 * np.pi * np.outer(i, half) / n
        V = np.where(m <= n - m, np.cos(phase), np.sin(phase))
        V /= np.linalg.norm(V, axis=0)
        values = modes[half]
        order = np.argsort(-values, kind="stable")
        s = np.sqrt(values[order])
        r = int((s > keep * s[0]).sum())
        G = circulant(np.fft.ifft(values[np.minimum(m, n - m)]).real)
        return cls(
            basis, rule, readonly(G), readonly(np.ascontiguousarray(V[:, order[:r]])),
            readonly(s[:r].copy()), readonly(s * s),
        )  # fmt: skip

    @property
    def rank(self) -> int:
        """Return the effective rank r, the number of independent values in F."""
        return len(self.scales)

    @property
    def condition(self) -> float:
        """Return λ_max/λ_min of G; values near 1e30 mean that it cannot be computed."""
        smallest = float(self.spectrum[-1])
        return float(self.spectrum[0]) / smallest if smallest > 0.0 else np.inf

    @property
    def noise_gain(self) -> float:
        """Return 1/s_r, the largest factor by which an error of F grows in |f|."""
        return float(1.0 / self.scales[-1])

    def features(self, values: ArrayLike) -> FloatArray:
        """Return F, shape (..., n), of a signal given at the nodes of the rule, shape (..., S)."""
        f = as_floats("values", values)
        F = np.zeros((*f.shape[:-1], len(self.basis)))
        first = 0
        for directions, coefficients in in_blocks(self.basis, self.rule):
            last = first + len(coefficients)
            F += (f[..., first:last] * coefficients) @ self.basis.weights(directions)
            first = last
        return F

    def whiten(self, F: ArrayLike) -> FloatArray:
        """Return z of equation (6), shape (..., r), with ‖z‖ = |f| and distances d."""
        return (self._checked(F) @ self.axes) / self.scales

    def seminorm(self, F: ArrayLike) -> FloatArray:
        """Return |f| of equation (2), shape (...)."""
        return np.linalg.norm(self.whiten(F), axis=-1)

    def coefficients(self, F: ArrayLike) -> FloatArray:
        """Return α of equation (3) on the axes V, shape (..., n)."""
        return (self.whiten(F) / self.scales) @ self.axes.T

    def projection(self, F: ArrayLike) -> Projection:
        """Return the projection P f of a signal, as a function of directions."""
        return Projection(self.basis, readonly(self.coefficients(F)))

    def gap(self, F: ArrayLike, squared_norm: ArrayLike) -> FloatArray:
        """Return ‖f‖² − |f|², equation (4): the energy of the signal that F does not contain.

        Args:
            F: Descriptors, shape (..., n).
            squared_norm: ‖f‖² of each signal, shape (...).
        """
        return np.asarray(squared_norm, dtype=np.float64) - self.seminorm(F) ** 2

    def distance(self, F: ArrayLike, other: ArrayLike) -> FloatArray:
        """Return d of equation (5) between two signals, shape (...).

        Args:
            F: Descriptors of the first signal, shape (..., n).
            other: Descriptors of the second signal, shape (..., n).
        """
        return self.seminorm(self._checked(F) - self._checked(other))

    def bounds(self, F: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound of |f| from ‖F‖₂, equation (9)."""
        length = np.linalg.norm(self._checked(F), axis=-1)
        return length / self.scales[0], length / self.scales[-1]

    def merge(self, groups: ArrayLike) -> tuple["Gram", FloatArray]:
        """Return the Gram matrix of merged channels, and the matrix B that merges F.

        The merged weights are not a basis.  The result is valid for seminorms, distances and bounds
        of B F; its `projection` is not defined.

        Args:
            groups: Index of the group of each direction, shape (n,), from 0 without gaps.
        """
        g = np.asarray(groups)
        n = len(self.axes)
        if g.shape != (n,) or not np.array_equal(np.unique(g), np.arange(g.max() + 1)):
            raise InputError.about(
                "groups", f"must hold {n} group indices from 0 on without a gap."
            )
        B = (g == np.arange(g.max() + 1)[:, None]).astype(np.float64)
        root = (self.axes * self.scales).T
        R = _triangle(root @ B.T)
        return Gram._from_triangle(self.basis, self.rule, R, KEEP), B

    def _checked(self, F: ArrayLike) -> FloatArray:
        f = as_floats("F", F)
        n = len(self.axes)
        if f.ndim == 0 or f.shape[-1] != n:
            raise InputError.about("F", f"must have shape (..., {n}), got {f.shape}.")
        return f


def _fft_terms(basis: DirectionalBasis, tolerance: float) -> int | None:
    """Return the samples that resolve the weights of a uniform circle; `None` if an FFT cannot.

    The weights are analytic within b of the real angles, so their Fourier coefficients fall like
    exp(−b l).
    """
    if not (basis.is_uniform_circle and isinstance(basis.profile, Softmax)):
        return None
    n = len(basis)
    b = min(np.arcsinh(0.5 * np.pi * basis.temperature / np.sin(np.pi / n)), 2.0)
    terms = n * int(np.ceil(max(8.0, 2.0 * np.log(1e3 / min(tolerance, 1e-12)) / (b * n))))
    return terms if terms <= _MAX_FFT else None


def _triangle(A: FloatArray) -> FloatArray:
    """Return R of A = QR."""
    return np.asarray(np.linalg.qr(A, mode="r"), dtype=np.float64)


def _check_keep(keep: float) -> None:
    if not 1e-15 <= keep < 1.0:
        raise InputError.about("keep", f"must lie in [1e-15, 1), got {keep}.")
