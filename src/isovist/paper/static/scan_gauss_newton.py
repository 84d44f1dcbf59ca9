"""Fit a place to the descriptor of a scan, over the directions that it saw.

A scan sees a part Ω of the directions, by a finite number of beams.  So the residual and its
central differences, by the place and perhaps by the heading ψ, are those of

    g_i(p, ψ) = Σ_k known_k Δ_k (f_k − f(p, R(ψ)θ_k)) w_i(θ_k),                             (1)

over the scan's own beams, whose number then makes no error, and over rays that the map knows.  In
the metric of the paper g is whitened with the Gram matrix over Ω.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isovist.arrays import FloatArray
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor, stencil
from isovist.paper.gram.partial_distances import whitening
from isovist.paper.settings import LocalizerSettings
from isovist.paper.static.descriptor_grid import cast_masked_signal
from isovist.paper.static.gauss_newton import Linearization, Problem
from isovist.paper.static.scan_descriptor import Beams, rotate_about_vertical
from isovist.settings import default_of


@dataclass(frozen=True, eq=False)
class ScanFit:
    """The least-squares problem of a scan on a map, equation (1).

    Its coordinates are the place and, unless the heading is given, the heading.

    Attributes:
        world: The map.
        descriptors: One for each signal.
        scales: Divisor of each signal.
        beams: The scan.
        heading: The heading in rad, or `None` to fit it too.
        whiten: Whether residuals are whitened with the Gram matrix over Ω.
    """

    world: Map
    descriptors: Sequence[Descriptor]
    scales: FloatArray
    beams: Beams
    heading: float | None
    whiten: bool

    @property
    def problem(self) -> Problem:
        """Return the problem for `damped_gauss_newton`."""
        d = self.beams.dimension
        return Problem(self._linearize, lambda at: bool(self.world.contains(at[:d])), self.units)

    @cached_property
    def units(self) -> FloatArray:
        """Return what each coordinate is worth in m: a rad moves the end of a usual beam."""
        metres = np.ones(self.beams.dimension)
        return metres if self.heading is not None else np.append(metres, self.beams.length)

    @cached_property
    def weights(self) -> FloatArray:
        """Return what each beam adds to each channel, shape (K, n)."""
        # In the frame of the map when the heading is known, as in the paper; else of the robot.
        theta = self.beams.directions if self.heading is None else self.beams.rotated(self.heading)
        weights = self.descriptors[0].basis.weights(theta)
        scaled = self.beams.shares[:, None] * weights
        return scaled @ whitening(weights.T @ scaled) if self.whiten else scaled

    def _linearize(self, at: FloatArray) -> Linearization:
        """Return ‖g‖, g and −∂g per m at a place, from central differences."""
        D = len(at)
        difference = default_of(LocalizerSettings).difference_m
        step = max(difference, getattr(self.world, "resolution", 0.0))
        places = stencil(at, step / self.units)
        inside = np.asarray(self.world.contains(places[:, : self.beams.dimension]))
        g = self._residuals(np.where(inside[:, None], places, at))
        # Where a step would leave free space the difference is one-sided.
        sides = inside[1 : D + 1].astype(np.float64) + inside[D + 1 :]
        slopes = (g[D + 1 :] - g[1 : D + 1]) / (step * np.maximum(sides, 1.0))[:, None]
        return Linearization(float(np.linalg.norm(g[0])), g[0], slopes.T)

    def _residuals(self, places: FloatArray) -> FloatArray:
        """Return g of equation (1), shape (P, signals · n)."""
        d = self.beams.dimension
        yaws = places[:, d] if self.heading is None else np.full(len(places), self.heading)
        theta = rotate_about_vertical(self.beams.directions, yaws)
        parts = []
        for k, descriptor in enumerate(self.descriptors):
            values, mask = cast_masked_signal(self.world, descriptor.signal, places[:, :d], theta)
            gap: FloatArray = np.where(mask, self.beams.values[k] - values, 0.0)
            parts.append(gap @ self.weights / self.scales[k])
        return np.concatenate(parts, axis=1)
