import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.errors import refused
from tests.support.paper_parts import (
    Bump,
    CircleSum,
    CosinePower,
    Lebedev,
    Softmax,
    fibonacci_sphere,
)
from tests.support.reference import weights_plainly

from isovist import DirectionalBasis

seeds = st.integers(0, 2**32 - 1)


def random_directions(rng, n, d):
    v = rng.normal(size=(n, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


@st.composite
def bases(draw, dimension=None):
    d = draw(st.sampled_from([2, 3])) if dimension is None else dimension
    kind = draw(st.sampled_from(["uniform", "random", "bump", "power"]))
    n = draw(st.integers(4, 24))
    rng = np.random.default_rng(draw(seeds))
    temperature = 10.0 ** draw(st.floats(-2.0, 2.0))
    if kind == "random":
        return DirectionalBasis.from_directions(random_directions(rng, n, d), temperature)
    make = DirectionalBasis.circle if d == 2 else DirectionalBasis.fibonacci
    if kind == "uniform":
        return make(n, temperature)
    if kind == "bump":
        basis = make(n, 1.0)
        return make(n, profile=Bump(min(1.6 * basis.mesh_norm, 3.0)))
    return make(max(n, 8), profile=CosinePower(draw(st.floats(2.1, 9.0))))


@pytest.mark.slow
@given(bases(), seeds)
def test_weights_share_every_direction_out(basis, seed):
    theta = random_directions(np.random.default_rng(seed), 50, basis.dimension)
    w = basis.weights(theta)
    assert (w >= 0.0).all()
    np.testing.assert_allclose(w.sum(axis=-1), 1.0, atol=1e-14)


@pytest.mark.slow
@given(bases(), seeds)
def test_weights_are_those_of_the_definition(basis, seed):
    theta = random_directions(np.random.default_rng(seed), 50, basis.dimension)
    np.testing.assert_allclose(basis.weights(theta), weights_plainly(basis, theta), atol=1e-12)


@pytest.mark.slow
@given(bases(), seeds)
def test_gradient_in_theta_agrees_with_differences(basis, seed):
    rng = np.random.default_rng(seed)
    theta = random_directions(rng, 8, basis.dimension)
    v = rng.normal(size=theta.shape)
    v -= np.einsum("ij,ij->i", v, theta)[:, None] * theta
    h = 1e-5 * min(1.0, getattr(basis.profile, "temperature", 1.0))

    def moved(t):
        p = theta + t * v
        return basis.weights(p / np.linalg.norm(p, axis=1, keepdims=True))

    slope = (moved(h) - moved(-h)) / (2.0 * h)
    expected = np.einsum("inj,ij->in", basis.gradient(theta), v)
    np.testing.assert_allclose(expected, slope, atol=2e-6 * max(1.0, np.abs(slope).max()))


@pytest.mark.slow
@given(bases(), seeds)
def test_gradient_is_tangent_to_the_sphere(basis, seed):
    theta = random_directions(np.random.default_rng(seed), 8, basis.dimension)
    along = np.einsum("inj,ij->in", basis.gradient(theta), theta)
    assert np.abs(along).max() <= 1e-12 * max(1.0, np.abs(basis.gradient(theta)).max())


@pytest.mark.slow
@given(bases(), seeds)
def test_slopes_in_directions_and_parameter_agree_with_differences(basis, seed):
    rng = np.random.default_rng(seed)
    theta = random_directions(rng, 6, basis.dimension)
    j = int(rng.integers(len(basis)))
    d = basis.directions[j]
    v = rng.normal(size=basis.dimension)
    v -= (v @ d) * d
    h = 1e-5 * min(1.0, getattr(basis.profile, "temperature", 1.0))

    def turned(t):
        moved = np.array(basis.directions)
        moved[j] = (d + t * v) / np.linalg.norm(d + t * v)
        return DirectionalBasis(moved, basis.profile, basis.mesh_norm).weights(theta)

    slope = (turned(h) - turned(-h)) / (2.0 * h)
    expected = basis.direction_slopes(theta)[:, :, j] * (theta @ v)[:, None]
    np.testing.assert_allclose(expected, slope, atol=2e-6 * max(1.0, np.abs(slope).max()))

    step = 1e-6 * basis.profile.parameter

    def sharpened(t):
        profile = basis.profile.with_parameter(basis.profile.parameter + t)
        return DirectionalBasis(basis.directions, profile, basis.mesh_norm).weights(theta)

    slope = (sharpened(step) - sharpened(-step)) / (2.0 * step)
    expected = basis.parameter_slopes(theta)
    np.testing.assert_allclose(expected, slope, atol=2e-6 * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize(
    "make", [lambda e: DirectionalBasis.circle(8, e), lambda e: DirectionalBasis.fibonacci(20, e)]
)
def test_no_temperature_overflows_and_large_ones_are_flat(make):
    basis = make(1e-4)
    theta = random_directions(np.random.default_rng(0), 500, basis.dimension)
    w = basis.weights(theta)
    assert np.isfinite(w).all()
    assert np.isfinite(basis.gradient(theta)).all()
    flat = make(1e4).weights(theta)
    np.testing.assert_allclose(flat, 1.0 / len(basis), atol=1e-4)


@pytest.mark.slow
@given(st.sampled_from([2, 3]), st.integers(4, 20), seeds)
def test_sharp_weights_become_hard_bins(d, n, seed):
    rng = np.random.default_rng(seed)
    directions = random_directions(rng, n, d)
    theta = random_directions(rng, 200, d)
    t = np.sort(theta @ directions.T, axis=1)
    clear = t[:, -1] - t[:, -2] > 1e-2  # away from the boundaries between bins
    basis = DirectionalBasis.from_directions(directions, 1e-4)
    np.testing.assert_allclose(
        basis.weights(theta)[clear], basis.hard_weights(theta)[clear], atol=1e-12
    )


def test_hard_bins_share_a_boundary_equally():
    basis = DirectionalBasis.circle(4)
    np.testing.assert_array_equal(basis.hard_weights(np.array([1.0, 1.0])), [0.5, 0.5, 0.0, 0.0])


@pytest.mark.parametrize("n", [2, 3, 8, 64])
def test_mesh_norm_of_a_uniform_circle_is_half_the_spacing(n):
    assert DirectionalBasis.circle(n).mesh_norm == pytest.approx(np.pi / n, abs=1e-14)


@pytest.mark.slow
@given(st.integers(4, 40), seeds)
def test_mesh_norm_on_the_sphere_is_the_largest_hole(n, seed):
    directions = random_directions(np.random.default_rng(seed), n, 3)
    h = DirectionalBasis.from_directions(directions, 1.0).mesh_norm
    sampled = np.arccos((fibonacci_sphere(20000) @ directions.T).max(axis=1).clip(-1.0, 1.0)).max()
    assert sampled <= h + 1e-9
    assert h <= sampled + 0.03


@pytest.mark.parametrize(
    ("directions", "hole"),
    [
        ([[1, 0, 0], [-1, 0, 0]], np.pi / 2),
        ([[1, 0, 0], [0, 1, 0], [-1, 0, 0]], np.pi / 2),
        ([[1, 0, 0], [0, 1, 0]], 3 * np.pi / 4),
    ],
)
def test_mesh_norm_of_directions_in_one_plane(directions, hole):
    assert DirectionalBasis.from_directions(directions, 1.0).mesh_norm == pytest.approx(
        hole, abs=1e-9
    )


@pytest.mark.slow
@given(st.integers(2, 16), st.integers(1, 5), seeds)
def test_turning_by_one_step_shifts_the_weights_of_circles_and_rings(azimuths, rings_, seed):
    rng = np.random.default_rng(seed)
    turn = 2.0 * np.pi / azimuths
    c, s = np.cos(turn), np.sin(turn)
    circle = DirectionalBasis.circle(azimuths, 0.3)
    theta = random_directions(rng, 40, 2)
    R = np.array([[c, -s], [s, c]])
    np.testing.assert_allclose(
        circle.weights(theta @ R.T), np.roll(circle.weights(theta), 1, axis=-1), atol=1e-13
    )
    rings = DirectionalBasis.rings(rings_, azimuths, 0.3)
    theta = random_directions(rng, 40, 3)
    R3 = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    before = rings.weights(theta).reshape(-1, rings_, azimuths)
    after = rings.weights(theta @ R3.T).reshape(-1, rings_, azimuths)
    np.testing.assert_allclose(after, np.roll(before, 1, axis=-1), atol=1e-13)


@pytest.mark.slow
@given(bases(), seeds)
def test_channels_sum_to_the_integral_and_are_linear(basis, seed):
    """Energy and linearity, for signals with random coefficients on the circle and sphere."""
    rule = (CircleSum(4096) if basis.dimension == 2 else Lebedev(131)).rule()
    rng = np.random.default_rng(seed)
    w = rule.coefficients[:, None] * basis.weights(rule.directions)
    A = rng.normal(size=(2, basis.dimension))
    f, g = np.abs(rule.directions @ A[0]), np.cos(3.0 * rule.directions @ A[1])
    np.testing.assert_allclose((f @ w).sum(), rule.coefficients @ f, rtol=1e-12)
    np.testing.assert_allclose((2.0 * f - 3.0 * g) @ w, 2.0 * (f @ w) - 3.0 * (g @ w), atol=1e-10)


@pytest.mark.slow
@given(st.sampled_from([2, 3]), st.integers(4, 16), seeds)
def test_channels_move_continuously_with_the_directions(d, n, seed):
    rng = np.random.default_rng(seed)
    directions, step = random_directions(rng, n, d), rng.normal(size=(n, d))
    rule = (CircleSum(2048) if d == 2 else Lebedev(65)).rule()
    f = np.abs(rule.directions[:, 0]) + 1.0
    mass = rule.coefficients @ f

    def F(t):
        basis = DirectionalBasis.from_directions(directions + t * step, 0.3)
        return (rule.coefficients * f) @ basis.weights(rule.directions)

    for t in (1e-2, 1e-4, 1e-6):
        moved = DirectionalBasis.from_directions(directions + t * step, 0.3).directions
        gap, delta = np.abs(F(t) - F(0.0)).sum(), np.linalg.norm(moved - directions, axis=1).max()
        assert gap <= delta / 0.3 * mass * (1.0 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("field", "code", "make"),
    [
        (None, "invalid_value", lambda: DirectionalBasis.circle(1)),
        ("temperature", "invalid_value", lambda: DirectionalBasis.circle(8, 0.0)),
        ("temperature", "invalid_value", lambda: DirectionalBasis.circle(8, float("nan"))),
        (
            None,
            "conflict",
            lambda: DirectionalBasis.circle(4, profile=Bump(0.5)),
        ),  # vanishes between them
        (
            "directions",
            "invalid_value",
            lambda: DirectionalBasis.from_directions([[1.0, 0.0], [0.0, 0.0]]),
        ),
        ("directions", "invalid_value", lambda: DirectionalBasis.from_directions(np.ones((3, 4)))),
        (None, "conflict", lambda: DirectionalBasis.circle(8, 0.5, profile=Softmax(0.5))),
        ("radius", "invalid_value", lambda: Bump(4.0)),
        ("power", "invalid_value", lambda: CosinePower(1.0)),
        ("theta", "invalid_value", lambda: DirectionalBasis.circle(8).weights([1.0, 0.0, 0.0])),
        (None, "invalid_value", lambda: DirectionalBasis.rings(0, 8)),
        (None, "missing", lambda: DirectionalBasis.circle(8, profile=Bump(1.0)).temperature),
        ("n", "invalid_value", lambda: DirectionalBasis.circle(2.5)),
        ("n", "invalid_value", lambda: DirectionalBasis.circle(8.0)),
        ("n", "invalid_value", lambda: DirectionalBasis.circle(True)),
        ("n", "invalid_value", lambda: DirectionalBasis.fibonacci(20.5)),
        ("rings", "invalid_value", lambda: DirectionalBasis.rings(2.5, 8)),
        ("azimuths", "invalid_value", lambda: DirectionalBasis.rings(2, 8.5)),
    ],
)
def test_bad_bases_are_refused(field, code, make):
    with refused(field, code):
        make()


def test_a_number_of_directions_may_be_one_of_numpy():
    assert len(DirectionalBasis.circle(np.int64(8))) == 8


@given(st.sampled_from([Softmax(0.4), Bump(0.9), Bump(2.5), CosinePower(3.0)]))
def test_the_lipschitz_constant_bounds_the_profile(profile):
    t = np.linspace(-1.0, 1.0, 20001)
    psi = np.exp(profile.log(t))
    steepest = np.abs(np.diff(psi) / np.diff(t)).max()
    assert steepest <= profile.lipschitz * (1.0 + 1e-9)
    assert steepest >= 0.99 * profile.lipschitz
