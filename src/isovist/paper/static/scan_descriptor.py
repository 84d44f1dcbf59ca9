"""A scan as the paper sees it: a signal on some directions, in the frame of a level robot.

Beam k points along θ_k, owns the angle or solid angle Δ_k and carries f_k.  Turned into the map
by a heading ψ, its descriptor and mass over what it saw are

    F_i(ψ) = Σ_k Δ_k f_k w_i(R(ψ)θ_k),      m_i(ψ) = Σ_k Δ_k w_i(R(ψ)θ_k),                  (1)

and (∫ w_i / m_i) F_i stands for what it would be, had it seen all of channel i.  In space one
return stands for each small bin of directions, and owns the bin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray, readonly
from isovist.basis import DirectionalBasis
from isovist.poses import unit_vectors
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.sensing.signals import Signal, measured_signal

BIN = float(np.radians(2.0))
"""Side of a bin of directions in space, in rad: the step between rings of usual lidars."""


@dataclass(frozen=True, slots=True, eq=False)
class Beams:
    """Directions with what was seen along them.

    Attributes:
        directions: θ_k in the level frame of the sensor, shape (K, d).  Read-only.
        shares: Δ_k in rad or sr, shape (K,).  Read-only.
        values: f_k of each signal, shape (signals, K).  Read-only.
        length: Root mean square of the ranges in m: what a rad is worth.
    """

    directions: FloatArray
    shares: FloatArray
    values: FloatArray
    length: float

    @classmethod
    def of(cls, scan: Scan | CloudScan, signals: Sequence[Signal]) -> "Beams":
        """From a scan of the plane or of space."""
        if isinstance(scan, CloudScan):
            kept = scan.spread(BIN)
            ranges = scan.distances[kept]
            theta = scan.level_points[kept] / ranges[:, None]
            shares = BIN * BIN * np.hypot(theta[:, 0], theta[:, 1])
            strengths = None if scan.intensities is None else scan.intensities[kept]
        else:
            ranges = scan.distances
            theta = unit_vectors(scan.bearings[scan.valid])
            shares = scan.beam_widths[scan.valid]
            strengths = None if scan.intensities is None else scan.intensities[scan.valid]
        values = np.stack([measured_signal(signal, ranges, strengths) for signal in signals])
        length = float(np.sqrt(np.mean(ranges**2)))
        return cls(readonly(theta), readonly(shares), readonly(values), length)

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self.directions.shape[1]

    def turned(self, yaw: float) -> FloatArray:
        """R(ψ)θ_k, shape (K, d)."""
        return turned(self.directions, np.array([yaw]))[0]

    def describe(self, basis: DirectionalBasis, yaw: float) -> tuple[FloatArray, FloatArray]:
        """F, shape (signals, n), and m, shape (n,), of equation (1)."""
        W = self.shares[:, None] * basis.weights(self.turned(yaw))
        return self.values @ W, W.sum(axis=0)


def turned(directions: FloatArray, yaws: FloatArray) -> FloatArray:
    """Directions, shape (K, d), turned about the vertical by each of some angles, (P, K, d)."""
    c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    x, y = directions[:, 0], directions[:, 1]
    around = [c * x - s * y, s * x + c * y]
    up = [np.broadcast_to(z, around[0].shape) for z in directions.T[2:]]
    return np.stack([*around, *up], axis=-1)


def well_seen(mass: FloatArray, whole: FloatArray, share: float) -> BoolArray:
    """Channels of which at least a share was seen, shape (n,)."""
    return np.asarray(mass >= share * whole)
