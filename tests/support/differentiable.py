"""Rooms and signals with derivatives."""

import numpy as np

import isovist as iv
from isovist.paper import Plan, describe
from isovist.sensing import FieldGradient

__all__ = ["Plan", "describe"]

RNG = np.random.default_rng(7)
POINTS = np.array([[1.3, 1.7], [3.4, 2.9], [0.7, 3.3]])
DIRECTIONS = RNG.normal(size=(7, 2)) * [1.0, 1.4]
EPSILON = 0.4


def room():
    """A thin wall and a pillar, so that there are shadows, and walls of all reflectances."""
    world = iv.SegmentMap.room(
        5.0, 4.0, walls=[[(2.5, 0.0), (2.3, 1.6)]], pillars=[(3.7, 1.0, 4.2, 1.8)]
    )
    shine = np.linspace(0.1, 0.9, len(world.walls))
    return Plan.from_map(iv.SegmentMap(world.walls, world.parents, world.free, reflectance=shine))


SIGNALS = [iv.Range(), iv.Range(maximum=2.2), iv.Range(transform="logarithmic"), iv.Intensity(),
           iv.Intensity(maximum=2.2)]  # fmt: skip


def slope(x):
    """∇ of s = 3x + sin(x) cosh(y/3), in space with z² / 4 added: never 0."""
    parts = [
        3.0 + np.cos(x[:, 0]) * np.cosh(x[:, 1] / 3.0),
        np.sin(x[:, 0]) * np.sinh(x[:, 1] / 3.0) / 3,
    ]
    return np.stack([*parts, *(0.5 * x[:, k] for k in range(2, x.shape[1]))], axis=1)


def bend(x):
    """The Hessian, by differences fine enough for the tests."""
    steps = 1e-6 * np.eye(x.shape[1])
    return np.stack([(slope(x + s) - slope(x - s)) / 2e-6 for s in steps], axis=2)


def of_a_field(**options):
    """The paper's surface gradient of that field of places."""
    return FieldGradient(slope, bend, **options)
