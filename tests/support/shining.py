"""Closed rooms that only the reflectance of their walls tells apart."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

import isovist as iv

BOTH = "range+intensity"
HERE = iv.Pose(5.1, 0.8, 0.4)


def with_strengths(scan, strengths):
    """The scan with other intensities."""
    if isinstance(scan, iv.CloudScan):
        return replace(scan, intensities=strengths)
    ranges = np.where(scan.valid, scan.ranges, np.nan)
    return replace(scan, ranges=ranges, intensities=strengths)


@lru_cache
def rooms():
    """Closed rooms in a row, of one shape; the first two walls of each differ in reflectance."""
    walls, shine = [], []
    for k in range(5):
        x = 4.0 * k
        corners = np.array([(x, 0), (x + 3, 0), (x + 3, 2), (x, 2)], dtype=float)
        walls += np.stack([corners, np.roll(corners, -1, axis=0)], axis=1).tolist()
        shine += [0.1 + 0.2 * k, 0.9 - 0.2 * k, 0.5, 0.5]
    return iv.SegmentMap.from_segments(np.array(walls), reflectance=shine)


@lru_cache
def described(signal="range"):
    return iv.build(rooms(), signal=signal)


@lru_cache
def seen():
    return iv.Lidar(beams=360, noise=0.01).scan(rooms(), HERE, np.random.default_rng(0))
