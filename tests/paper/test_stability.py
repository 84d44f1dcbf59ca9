"""Stability under moved directions: constants by hand; the bounds themselves are in verify."""

import numpy as np
import pytest

from isovist import Rose
from isovist.basis import Bump, CosinePower
from isovist.paper import (
    change_bound,
    least_total,
    paper_constant,
    sharp_constant,
    summed_constant,
    weight_change,
)
from isovist.poses import unit_vectors


def test_the_paper_constant_is_useless_where_the_sharp_one_is_20():
    rose = Rose.circle(16, 0.05)
    assert paper_constant(rose) == pytest.approx(17 / 16 * np.exp(40.0) / 0.05)
    assert sharp_constant(rose) == pytest.approx(20.0)
    # All directions move along one chord of 0.01 rad.
    moved = Rose.from_directions(unit_vectors(2.0 * np.pi * np.arange(16) / 16 + 0.01), 0.05)
    bound = change_bound(rose, moved, 3.0)
    assert bound == pytest.approx(20.0 * 3.0 * 2.0 * np.sin(0.005))
    assert 0.0 < 3.0 * weight_change(rose, moved).max() <= bound


@pytest.mark.parametrize("profile", [Bump(1.0), CosinePower(4.0)])
def test_profiles_that_vanish_have_no_sharp_constant_but_a_summed_one(profile):
    rose = Rose.circle(12, profile=profile)
    assert np.isinf(sharp_constant(rose))
    least = np.exp(profile.log(np.array([np.cos(np.pi / 12)]))[0])
    assert paper_constant(rose) == pytest.approx(13 * profile.lipschitz / least)
    assert summed_constant(rose) == pytest.approx(24 * profile.lipschitz / least)
    assert least_total(rose) >= least
