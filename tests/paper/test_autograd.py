"""The descriptor as an operator of PyTorch; test_differentiate holds without it."""

import numpy as np
import pytest
from tests.support.differentiable import DIRECTIONS, EPSILON, POINTS, SIGNALS, room
from tests.support.errors import refused

from isovist.paper import describe

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")


def tensor(value):
    return torch.tensor(np.array(value), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("signal", SIGNALS)
def test_gradcheck_passes_in_every_argument(signal):
    plan = room()

    def F(points, corners, directions, temperature):
        return describe(
            plan, points, corners=corners, directions=directions, temperature=temperature,
            signal=signal,
        )  # fmt: skip

    given = tensor(POINTS), tensor(plan.corners), tensor(DIRECTIONS), tensor(EPSILON)
    assert torch.autograd.gradcheck(F, given)


def test_any_shape_of_places_and_no_corners_of_its_own():
    plan = room()
    options = {"directions": DIRECTIONS, "temperature": EPSILON}
    one = describe(plan, POINTS[0], **options)
    many = describe(plan, POINTS[None], **options)
    assert one.shape == (7,)
    assert many.shape == (1, 3, 7)
    np.testing.assert_array_equal(one, many[0, 0])


def test_places_of_no_plane_are_refused():
    with refused("points"):
        describe(room(), [1.0, 2.0, 3.0], directions=DIRECTIONS, temperature=EPSILON)


def test_a_wall_is_found_to_a_millimetre():
    from examples.fit_a_wall import main

    assert main() < 1e-3
