"""Turn a scan into what the paper needs: a signal on directions, in the frame of a level robot.

Beam k points along θ_k, owns the angle or solid angle Δ_k and carries f_k.  Turned into the map
by a heading ψ, its descriptor and mass over what it saw are

    F_i(ψ) = Σ_k Δ_k f_k w_i(R(ψ)θ_k),      m_i(ψ) = Σ_k Δ_k w_i(R(ψ)θ_k),                  (1)

and (∫ w_i / m_i) F_i stands for what it would be, had it seen all of channel i.  In 3D one
return stands for each small bin of directions, and owns the bin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist import CloudScan, DirectionalBasis, Scan
from isovist.arrays import FloatArray, readonly
from isovist.paper.settings import LocalizerSettings
from isovist.poses import unit_vectors
from isovist.sensing import Signal, measured_signal
from isovist.settings import default_of


@dataclass(frozen=True, slots=True, eq=False)
class Beams:
    """The directions of a scan, and the signals along them.

    Attributes:
        directions: Directions θ_k in the level frame of the sensor, shape (K, d). Read-only.
        shares: Angle Δ_k of each beam in rad or sr, shape (K,). Read-only.
        values: Values f_k of each signal, shape (signals, K). Read-only.
        length: Root mean square of the ranges in m, as the length equivalent to 1 rad.
    """

    directions: FloatArray
    shares: FloatArray
    values: FloatArray
    length: float

    @classmethod
    def of(cls, scan: Scan | CloudScan, signals: Sequence[Signal]) -> "Beams":
        """Make the beams of a 2D or 3D scan, with its values of some signals."""
        if isinstance(scan, CloudScan):
            width = bin_width()
            returns = scan.spread(width)
            ranges = scan.distances[returns]
            theta = scan.level_points[returns] / ranges[:, None]
            shares = width * width * np.hypot(theta[:, 0], theta[:, 1])
            strengths = None if scan.intensities is None else scan.intensities[returns]
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
        """Return the dimension of the scan, 2 or 3."""
        return self.directions.shape[1]

    def rotated(self, yaw: float) -> FloatArray:
        """Return R(ψ)θ_k for a heading in rad, shape (K, d)."""
        return rotate_about_vertical(self.directions, np.array([yaw]))[0]

    def describe(self, basis: DirectionalBasis, yaw: float) -> tuple[FloatArray, FloatArray]:
        """Return F, shape (signals, n), and m, shape (n,), of equation (1) for a heading in rad."""
        W = self.shares[:, None] * basis.weights(self.rotated(yaw))
        return self.values @ W, W.sum(axis=0)


def rotate_about_vertical(directions: FloatArray, yaws: FloatArray) -> FloatArray:
    """Rotate directions, shape (K, d), by each of P angles (rad), shape (P, K, d)."""
    c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    x, y = directions[:, 0], directions[:, 1]
    around = [c * x - s * y, s * x + c * y]
    up = [np.broadcast_to(z, around[0].shape) for z in directions.T[2:]]
    return np.stack([*around, *up], axis=-1)


def bin_width() -> float:
    """Return the side of a bin of directions in 3D, in rad."""
    return float(np.radians(default_of(LocalizerSettings).bin_deg))
