"""How a survey carries the answers of some poses over to all nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from isovist import SurveyingSettings
from isovist.surveying import predict

pytestmark = pytest.mark.slow

SETTINGS = SurveyingSettings().prediction


def test_the_regression_is_the_minimum_of_its_penalised_likelihood():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    said = rng.random(60) < 1 / (1 + np.exp(-(0.5 + X @ [1.0, -2.0, 0.0])))

    def loss(beta):
        z = beta[0] + X @ beta[1:]
        halves = 0.5 * np.logaddexp(0, beta[0]) + 0.5 * np.logaddexp(0, -beta[0])
        penalty = 0.5 * 2.0 * np.sum(beta[1:] ** 2)
        return np.sum(np.logaddexp(0, z) - said * z) + halves + penalty

    best = minimize(loss, np.zeros(4), tol=1e-10).x
    np.testing.assert_allclose(predict.fit(X, said, 2.0), best, atol=1e-4)


def test_answers_that_are_all_alike_are_not_taken_for_certain():
    X = np.zeros((40, 2))
    beta = predict.fit(X, np.ones(40, dtype=np.bool_), 1.0)
    assert float(predict.logistic(beta, np.zeros(2))) == pytest.approx(40.5 / 41, abs=1e-6)
    error = predict.standard_error(np.ones(40, dtype=np.bool_), X, SETTINGS)
    assert 0.01 < error < 0.03


def test_what_the_regression_misses_is_shared_with_the_neighbourhood():
    spots, left = np.array([[0.0, 0.0], [100.0, 0.0]]), np.array([0.8, -0.4])
    width, shrink = SETTINGS.width_m, SETTINGS.shrinkage
    places = np.array([[0.0, 0.0], [width, 0.0], [50.0, 0.0]])
    added = predict.smooth(spots, left, places, SETTINGS)
    near = np.exp(-0.5)
    expected = [0.8 / (shrink + 1), 0.8 * near / (shrink + near), 0.0]
    np.testing.assert_allclose(added, expected, atol=1e-12)


@given(st.integers(0, 10_000))
def test_what_is_added_leaves_the_mean_as_it_was(seed):
    rng = np.random.default_rng(seed)
    p, added = rng.random(50) ** 3, rng.normal(0.0, 0.2, 50)
    q = predict.shifted(p, added)
    assert ((q >= 0.0) & (q <= 1.0)).all()
    assert q.mean() == pytest.approx(p.mean(), abs=1e-9)
    inner = (q > 0.0) & (q < 1.0)
    assert np.ptp((q - p - added)[inner]) < 1e-9
