"""Stability under moved directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isovist import Rose
from isovist.basis import Bump, CosinePower
from isovist.paper import (
    change_bound,
    covered_rose,
    displacement,
    least_total,
    nudged,
    paper_constant,
    plain_rule,
    random_rose,
    random_signal,
    sharp_constant,
    summed_constant,
    tradeoff,
    weight_change,
)


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), three=st.booleans(), soft=st.booleans())
def test_f_changes_by_no_more_than_the_bound(seed: int, three: bool, soft: bool) -> None:
    rng = np.random.default_rng(seed)
    d = 3 if three else 2
    rose = random_rose(rng, d, low=0.03) if soft else covered_rose(rng, d)
    other = nudged(rng, rose, 0.2 if soft else 0.01)
    rule = plain_rule(d)
    f = random_signal(rng, rule.directions) * rule.coefficients
    gap = f @ rose.weights(rule.directions) - f @ other.weights(rule.directions)
    bound = change_bound(rose, other, float(f.sum()))
    assert np.abs(gap).sum() <= bound * (1.0 + 1e-12)


def test_the_paper_constant_is_useless_where_the_sharp_one_is_20() -> None:
    rose = Rose.circle(16, 0.05)
    assert paper_constant(rose) == pytest.approx(17 / 16 * np.exp(40.0) / 0.05)
    assert paper_constant(rose) > 4e18
    assert sharp_constant(rose) == pytest.approx(20.0)


def test_the_sharp_constant_is_attained_by_an_opposed_pair() -> None:
    ratios = []
    for half in (1.2, 1.4, 1.55):
        angles = np.array([half, -half])
        first = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        moved = np.stack([np.cos(angles + 1e-5), np.sin(angles + 1e-5)], axis=1)
        rose, other = Rose.from_directions(first, 0.3), Rose.from_directions(moved, 0.3)
        change = weight_change(rose, other, np.array([[1.0, 0.0]]))[0]
        ratios.append(change * 0.3 / displacement(rose, other))
    assert ratios[0] < ratios[1] < ratios[2] <= 1.0
    assert ratios[2] > 0.999


@pytest.mark.parametrize("profile", [Bump(1.0), CosinePower(4.0)])
def test_profiles_that_vanish_have_no_sharp_constant_but_a_summed_one(
    profile: Bump | CosinePower,
) -> None:
    rose = Rose.circle(12, profile=profile)
    assert np.isinf(sharp_constant(rose))
    n = len(rose)
    assert summed_constant(rose) == pytest.approx(2 * n / (n + 1) * paper_constant(rose))
    assert least_total(rose) >= np.exp(profile.log(np.array([np.cos(rose.mesh_norm)]))[0])


@pytest.mark.parametrize("rose", [Rose.circle(8), Rose.fibonacci(20)])
def test_cooling_trades_stability_for_sharpness(rose: Rose) -> None:
    curve = tradeoff(rose, [1.0, 0.5, 0.2, 0.1])
    for values in (curve.paper, curve.sharp, curve.sharpness):
        assert (np.diff(values) > 0.0).all()
    assert (curve.sharp < curve.paper).all()
    assert curve.sharpness[-1] < 1.0
