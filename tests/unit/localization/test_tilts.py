"""Which way is up: by the ground, by walls, and by attitudes tried all round."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.worlds.streets import quarter
from tests.support.attitudes import TURNS, look
from tests.support.errors import refused
from tests.support.fits import USUAL, fits_at
from tests.support.reference_space import LIDAR, at, house, house_atlas
from tests.support.worlds import FEW, TALL, tilt_between, untold

import isovist as iv
from isovist.evaluation import LocateOptions, measure, simulated_trials
from isovist.localization import Query, final_fit, resolve_tilt
from isovist.maps import close_floor
from isovist.poses import swing
from isovist.sensing import Placement, fit_ground, level_by_ground, up_directions

HERE = at(5.0, 0.0, 0.7)
HIGH = replace(LIDAR, rings=24, low=0.0, high=0.6)
"""Sees no ground."""


def seen(truth, lidar=TALL, seed=4):
    return untold(lidar.scan(house(), truth, np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("roll", "pitch", "mount", "told"),
    [
        (0.0, 0.0, iv.Pose3(), (0.0, 0.0)),
        (0.09, -0.05, iv.Pose3(), (0.0, 0.0)),
        (-0.02, 0.16, iv.Pose3(), (0.0, 0.0)),
        (0.05, -0.04, iv.Pose3(0.2, -0.1, 0.5, 0.4, 0.0, 0.1), (0.05, -0.04)),
    ],
)
def test_a_scan_is_levelled_by_the_ground_that_it_shows(roll, pitch, mount, told):
    """And a tilt that was told is kept where the ground bears it out."""
    pose = at(5.0, 0.0, 0.7, roll=roll, pitch=pitch)
    scan = iv.CloudScan(seen(pose @ mount, seed=0).points, T_robot_sensor=mount)
    scan = replace(scan, roll=told[0], pitch=told[1])
    flat, by = level_by_ground(scan)
    np.testing.assert_allclose([flat.roll, flat.pitch], [roll, pitch], atol=0.01)
    lean = tilt_between(pose, iv.Pose3(roll=told[0], pitch=told[1]))
    assert by == pytest.approx(np.radians(lean), abs=0.01)
    np.testing.assert_allclose(fit_ground(flat)[:2], 0.0, atol=5e-3)
    np.testing.assert_array_equal(flat.points, scan.points)


def test_walls_are_no_ground():
    scan = seen(HERE, replace(LIDAR, low=-0.1, high=0.3), 1)
    for one in (scan, iv.CloudScan(scan.points[scan.points[:, 2] > 0.0])):
        assert fit_ground(one) is None
        assert level_by_ground(one) == (one, 0.0)


LEANS = at(5.0, 0.0, 0.7, roll=0.1)
LOST = iv.Answer(iv.Verdict.LOST, (iv.Reason.POOR_FIT,), ())


def answer(pose, score, sigma):
    """With one place, whose attitude is known to so many degrees."""
    spread = np.diag([1e-4] * 4 + [np.radians(sigma) ** 2] * 2)
    place = iv.Estimate(pose, spread, 1.0, 0.9, score, False)
    return iv.Answer(iv.Verdict.UNIQUE, (iv.Reason.ONLY_PLACE,), (place,))


@pytest.mark.parametrize(
    ("lidar", "told", "fitted", "turned", "best", "reason"),
    [
        # Without ground in view the walls say which way is up.
        (HIGH, LOST, LOST, (LEANS, 4.0, 0.4), "turned", "only_place"),
        (HIGH, LOST, LOST, (LEANS, 4.0, 2.1), "turned", "attitude_uncertain"),
        # What fits better levelled is not unique as told.
        (TALL, (HERE, 3.9, 0.4), (HERE, 3.9, 0.4), (LEANS, 4.0, 0.4), "turned", "only_place"),
        (TALL, (HERE, 3.9, 2.0), (HERE, 3.9, 2.0), (LEANS, 4.0, 2.0), "turned",
         "attitude_uncertain"),
        (TALL, (HERE, 3.9, 2.0), (HERE, 3.9, 2.0), (LEANS, 3.8, 2.0), "told", "tilt_fits_better"),
        # A lean that is hardly known must fit better by far.
        (HIGH, (HERE, 4.0, 0.4), (LEANS, 4.1, 0.3), LOST, "fitted", "only_place"),
        (HIGH, (HERE, 4.0, 0.4), (LEANS, 4.1, 1.2), LOST, "told", "tilt_fits_better"),
        (HIGH, (HERE, 4.0, 0.4), (LEANS, 4.4, 1.2), LOST, "fitted", "attitude_uncertain"),
        (HIGH, (HERE, 4.0, 0.4), (LEANS, 3.9, 0.3), LOST, "told", "tilt_fits_better"),
    ],
)  # fmt: skip
def test_an_attitude_is_taken_that_fits_better_and_is_known(
    lidar, told, fitted, turned, best, reason
):
    """Answers for the scan as it was told, with its tilt fitted, and turned upright."""
    scan, given = seen(LEANS, lidar), {"told": told, "fitted": fitted, "turned": turned}
    answers = {how: a if a is LOST else answer(*a) for how, a in given.items()}

    def ask(one, tilt, _first):
        return answers["turned" if one is not scan else "fitted" if tilt else "told"]

    def look(one, tilt):
        return SimpleNamespace(first=lambda: ask(one, tilt, None))

    found, held = resolve_tilt(Query(house_atlas(), scan, None, USUAL), ask, look)
    assert (held is scan) == (best != "turned")
    assert (found.best, found.reasons) == (answers[best].best, (iv.Reason(reason),))
    assert found.verdict == ("unique" if reason == "only_place" else "ambiguous")
    if best != "told":
        assert found.facts["lean"] == pytest.approx(0.1, abs=0.03)
    if reason == "attitude_uncertain":
        assert found.facts["attitude_std"] == pytest.approx(np.radians(given[best][2]))
    if best == "turned":
        assert tilt_between(iv.Pose3(roll=held.roll, pitch=held.pitch), LEANS) < 9.0


@pytest.mark.slow
def test_attitudes_err_by_less_than_their_standard_deviation():
    """Of which 0.17° are for what a perfect map does not have."""
    rng, atlas, ratios = np.random.default_rng(9), house_atlas(), []
    for _ in range(30):
        way, lean = rng.uniform(0.0, 2.0 * np.pi), np.radians(rng.uniform(0.0, 2.6))
        x, y, yaw = rng.uniform([4.0, -0.6, -3.0], [6.0, 0.6, 3.0])
        truth = at(x, y, yaw, roll=lean * np.cos(way), pitch=lean * np.sin(way))
        scan = untold(LIDAR.scan(house(), truth, rng))
        start = np.atleast_2d((truth @ scan.T_level_robot.inverse).vector)
        fit, spreads = final_fit(atlas, scan, start, 6, USUAL)
        ratios.append((fit.poses[0] - start[0])[4:] / np.sqrt(np.diag(spreads[0]))[4:])
    assert 0.15 < np.sqrt(np.mean(np.square(ratios))) < 0.6


@pytest.mark.parametrize(("field", "least", "most"), [(2.0 * np.pi, 200, 1000), (1.2, 120, 260)])
def test_a_narrow_field_of_view_has_beams_enough(field, least, most):
    """A fifth of a circle would have a fifth of the beams."""
    lidar = replace(LIDAR, azimuths=900, rings=48, low=-0.2, high=0.2, field_of_view=field)
    scan = lidar.scan(house(), HERE, np.random.default_rng(0))
    assert least <= len(fits_at(house_atlas(), scan, [HERE]).beams) <= most
    apart = len(scan.spread(USUAL.fit.fine_beam_spacing_rad))
    assert (apart < USUAL.fit.fine_max_beams) == (field < 2.0)


def test_a_floor_with_gaps_is_closed_with_the_reflectance_of_the_rest_unless_the_unknown_is_known():
    cells = np.zeros((6, 40, 40), dtype=np.uint8)
    cells[0, ::4] = iv.Cell.OCCUPIED
    shine = np.where(cells.ravel() == 1, 0.7, 0.0)
    closed = close_floor(iv.VoxelMap.from_array(cells, 0.1, reflectance=shine))
    assert (closed.cells[0] == iv.Cell.OCCUPIED).all()
    assert (closed.reflectance[closed.cells.ravel() == iv.Cell.OCCUPIED] == 0.7).all()
    cells[5, 0, 0] = iv.Cell.UNKNOWN
    world = iv.VoxelMap.from_array(cells, 0.1)
    assert close_floor(world) is world


@pytest.mark.slow
def test_a_quarter_is_the_same_for_the_same_seed_and_has_a_size():
    a, b = (quarter(5, size=100.0) for _ in range(2))
    np.testing.assert_array_equal(a.mapped.vertices, b.mapped.vertices)
    assert len(a.mapped.vertices) != len(quarter(6, size=100.0).mapped.vertices)
    one, two = ([pose.vector for pose, _ in each.asks(3, FEW)] for each in (a, b))
    np.testing.assert_array_equal(one, two)
    with refused("size"):
        quarter(0, size=60.0)


# Any attitude.


@pytest.mark.slow
@pytest.mark.parametrize("name", TURNS)
def test_a_way_that_may_be_up_is_within_9_degrees_of_up(name):
    ups = up_directions(look(TURNS[name]))
    np.testing.assert_allclose(np.linalg.norm(ups, axis=1), 1.0)
    assert (ups @ TURNS[name].rotation[2]).max() > np.cos(np.radians(9.0))
    assert len(ups) <= 24


def test_a_robot_that_looks_straight_up_has_a_covariance():
    level = iv.Pose3(1.0, 2.0, 0.3, 0.5)[None]
    J = swing(level, level @ iv.Pose3(pitch=-np.pi / 2.0), 6)
    assert np.isfinite(J).all()
    near = swing(level, level @ iv.Pose3(pitch=-1.2), 6)
    np.testing.assert_allclose(J[:, :2], near[:, :2], atol=1e-12)


@pytest.mark.slow
def test_simulated_sensors_can_be_turned_at_random_or_lean_untold():
    turned = simulated_trials(house(), 6, TALL, seed=2, placement=Placement(any_attitude=True))
    ups = np.array([trial.truth.rotation[2, 2] for trial in turned])
    assert (ups < 0.0).any()
    assert (np.abs(ups) < 0.95).any()
    row = measure("house", house(), turned[4:5], options=LocateOptions(any_attitude=True))
    assert (row["success"], row["false_confident"]) == (1.0, 0.0)
    leaning = simulated_trials(
        house(), 6, TALL, seed=2, placement=Placement(max_tilt=np.radians(5.0))
    )
    tilts = np.array([[trial.truth.roll, trial.truth.pitch] for trial in leaning])
    assert 1.0 < np.degrees(np.abs(tilts)).max() <= 5.0
    for trial in (*turned, *leaning):
        assert (trial.scan().roll, trial.scan().pitch) == (0.0, 0.0)
    with refused("lean"):
        simulated_trials(house(), 6, TALL, placement=Placement(max_tilt=-0.1))
