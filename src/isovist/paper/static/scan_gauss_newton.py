"""Gauss–Newton on the descriptor of a scan, over the directions that it saw.

A scan sees a part Ω of the directions, by a finite number of beams.  So the residual and its
central differences, by the place and perhaps by the heading ψ, are those of

    g_i(p, ψ) = Σ_k known_k Δ_k (f_k − f(p, R(ψ)θ_k)) w_i(θ_k),                             (1)

over the scan's own beams, whose number then makes no error, and over rays that the map knows.  In
the metric of the paper g is whitened with the Gram matrix over Ω.
"""

from collections.abc import Sequence

import numpy as np

from isovist.arrays import FloatArray
from isovist.maps.base import Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.gram.partial_distances import whitening
from isovist.paper.static.descriptor_grid import look
from isovist.paper.static.gauss_newton import Rows
from isovist.paper.static.scan_descriptor import Beams, turned

STEP = 0.05
"""Half-width in m of the central differences, as in the paper's example; at least a cell."""


class BeamFit:
    """What `static.damped_steps` needs of a scan on a map.

    Coordinates are the place and, unless it is known, the heading; `units` says what each is worth
    in m: a rad as much as it displaces the end of a usual beam.
    """

    def __init__(
        self,
        world: Map,
        descriptors: Sequence[Descriptor],
        scales: FloatArray,
        beams: Beams,
        heading: float | None,
        whiten: bool,
    ) -> None:
        self.world, self.descriptors, self.scales, self.beams = world, descriptors, scales, beams
        self.heading = heading
        d = beams.dimension
        self.units = np.ones(d) if heading is not None else np.append(np.ones(d), beams.length)
        # In the frame of the map when the heading is known, as in the paper; else of the robot.
        theta = beams.directions if heading is None else beams.turned(heading)
        weights = descriptors[0].basis.weights(theta)
        self.weights = beams.shares[:, None] * weights
        if whiten:
            self.weights = self.weights @ whitening(weights.T @ self.weights)
        self.step = max(STEP, getattr(world, "resolution", 0.0))

    def free(self, at: FloatArray) -> bool:
        """Whether the place is free."""
        return bool(self.world.contains(at[: self.beams.dimension]))

    def rows(self, at: FloatArray) -> Rows:
        """‖g‖, g and −∂g per m, at a place."""
        D = len(at)
        steps = np.diag(self.step / self.units)
        places = np.concatenate([at[None], at + steps, at - steps])
        inside = np.asarray(self.world.contains(places[:, : self.beams.dimension]))
        g = self._residuals(np.where(inside[:, None], places, at))
        # Where a step would leave free space the difference is one-sided.
        ways = inside[1 : D + 1].astype(np.float64) + inside[D + 1 :]
        slopes = (g[D + 1 :] - g[1 : D + 1]) / (self.step * np.maximum(ways, 1.0))[:, None]
        return float(np.linalg.norm(g[0])), g[0], slopes.T

    def _residuals(self, places: FloatArray) -> FloatArray:
        """G of equation (1), shape (P, signals · n)."""
        d = self.beams.dimension
        yaws = places[:, d] if self.heading is None else np.full(len(places), self.heading)
        theta = turned(self.beams.directions, yaws)
        parts = []
        for k, descriptor in enumerate(self.descriptors):
            values, known = look(self.world, descriptor, places[:, :d], theta)
            gap: FloatArray = np.where(known, self.beams.values[k] - values, 0.0)
            parts.append(gap @ self.weights / self.scales[k])
        return np.concatenate(parts, axis=1)
