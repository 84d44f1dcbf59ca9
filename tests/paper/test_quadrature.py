"""The exact quadrature: its rules, and profiles of one's own, of which it knows nothing."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.support.differences import richardson
from tests.support.errors import refused
from tests.support.paper_parts import EqualArea, Exact, Softmax, paper_room
from tests.support.reference import describe_plainly, random_point, random_room

from isovist import Descriptor, DirectionalBasis, MeshMap


def test_the_rules_are_those_of_gauss_and_legendre():
    nodes, coefficients, _ = Exact(1e-9).rules()
    np.testing.assert_allclose(nodes[2, :2], [-(3**-0.5), 3**-0.5])
    np.testing.assert_allclose(coefficients[1:].sum(axis=1), 2.0)


@dataclass(frozen=True)
class Gaussian:
    """A profile of one's own: a Gaussian of 1 − t, nowhere 0."""

    parameter: float
    support = float(np.pi)
    lipschitz = 10.0

    def log(self, t):
        return -0.5 * ((1.0 - t) / self.parameter) ** 2


@dataclass(frozen=True)
class Parabola:
    """A profile of one's own: (1 − x²)³ with x = (1 − t)/(1 − cos ρ), 0 beyond ρ."""

    parameter: float
    lipschitz = 10.0

    @property
    def support(self):
        return self.parameter

    def log(self, t):
        x = (1.0 - t) / (1.0 - np.cos(self.parameter))
        with np.errstate(divide="ignore"):
            return 3.0 * np.log(np.maximum(1.0 - x * x, 0.0))


@dataclass(frozen=True)
class Tent(Parabola):
    """A profile of one's own that is not smooth."""

    def log(self, t):
        x = np.abs(t - 0.9)
        return -x


class Narrower(Softmax):
    """A profile that only looks like one that is compiled."""

    def log(self, t):
        return 3.0 * t / self.temperature


@pytest.mark.slow
@pytest.mark.parametrize("profile", [Gaussian(0.3), Gaussian(0.02), Parabola(1.3), Narrower(0.5)])
def test_a_profile_of_ones_own_is_summed_as_it_is(profile):
    rng = np.random.default_rng(23)
    basis = DirectionalBasis.circle(8, profile=profile)
    for _ in range(2):
        world = random_room(rng)
        p = random_point(rng, world)
        F, J = Descriptor(basis).at(world, p, jacobian=True)
        np.testing.assert_allclose(F, describe_plainly(world, p, basis, 200_000), atol=4e-4)
        exactly, _ = Descriptor(basis, quadrature=Exact(1e-14)).at(world, p)
        assert np.abs(F - exactly).max() <= 1e-11 * exactly.sum()
        D = richardson(lambda q, world=world: Descriptor(basis).at(world, q)[0], p, 8e-4)
        assert np.linalg.norm(J - D) <= 3e-6 * np.linalg.norm(J)


def test_a_profile_of_ones_own_is_summed_as_it_is_in_space():
    box = MeshMap.box([0, 0, 0], [6.0, 5.0, 3.0])
    basis = DirectionalBasis.fibonacci(10, profile=Gaussian(0.3))
    rule = EqualArea(6000).rule()
    values = box.cast([2.0, 2.0, 1.0], rule.directions).ranges
    expected = rule.coefficients * values @ basis.weights(rule.directions)
    F, _ = Descriptor(basis, quadrature=EqualArea(6000)).at(box, [2.0, 2.0, 1.0])
    np.testing.assert_allclose(F, expected, rtol=1e-12)


@pytest.mark.slow
def test_a_profile_that_does_not_settle_is_refused():
    with refused():
        Descriptor(DirectionalBasis.circle(8, profile=Tent(np.pi))).at(paper_room(), [1.0, 1.0])
