"""Clouds that lean though nobody said so, floors with holes, and the street that needs both."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.leaning import FEW, TALL, street, street_atlas, tilt_between, untold
from tests.support.reference_space import LIDAR as INDOORS
from tests.support.reference_space import at, house, house_atlas

import isovist as iv
from isovist import (
    Answer,
    CloudScan,
    Estimate,
    InputError,
    LocalizationSettings,
    Pose3,
    Verdict,
    VoxelMap,
)
from isovist.localization.refine import refit
from isovist.localization.settle import last_fit
from isovist.localization.tilts import upright
from isovist.maps import Cell, close_floor
from isovist.sensing import ground_of, levelled
from isovist.simulation import SLOPE, quarter

USUAL = LocalizationSettings()


@pytest.mark.parametrize(("roll", "pitch"), [(0.0, 0.0), (0.09, -0.05), (-0.02, 0.16)])
def test_a_scan_is_levelled_by_the_ground_that_it_shows(roll, pitch):
    pose = at(5.0, 0.0, 0.7, roll=roll, pitch=pitch)
    scan = untold(TALL.scan(house(), pose, np.random.default_rng(0)))
    flat, by = levelled(scan)
    np.testing.assert_allclose([flat.roll, flat.pitch], [roll, pitch], atol=0.01)
    assert by == pytest.approx(np.radians(tilt_between(pose, Pose3())), abs=0.01)
    np.testing.assert_allclose(ground_of(flat)[:2], 0.0, atol=5e-3)
    np.testing.assert_array_equal(flat.points, scan.points)


def test_a_tilt_that_was_told_is_kept_where_the_ground_bears_it_out():
    mount = Pose3(0.2, -0.1, 0.5, 0.4, 0.0, 0.1)
    robot = Pose3(5.0, 0.2, 0.3, 1.1, 0.05, -0.04)
    seen = TALL.scan(house(), robot @ mount, np.random.default_rng(3))
    scan = CloudScan(seen.points, T_robot_sensor=mount, roll=0.05, pitch=-0.04)
    flat, by = levelled(scan)
    assert by < 0.01
    np.testing.assert_allclose([flat.roll, flat.pitch], [0.05, -0.04], atol=0.01)


def test_walls_are_no_ground():
    pose = at(5.0, 0.0, 0.7)
    flat = replace(INDOORS, low=-0.1, high=0.3)
    scan = flat.scan(house(), pose, np.random.default_rng(1))
    high = CloudScan(scan.points[scan.points[:, 2] > 0.0])
    for one in (scan, high):
        assert ground_of(one) is None
        assert levelled(one) == (one, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("roll", "pitch"), [(0.1, 0.0), (-0.05, 0.08), (0.0, -0.16), (0.015, 0.01)]
)
def test_a_tilt_that_nobody_told_is_fitted_and_said(roll, pitch):
    truth = at(5.0, 0.0, 0.7, roll=roll, pitch=pitch)
    scan = untold(TALL.scan(house(), truth, np.random.default_rng(4)))
    answer = iv.locate(house_atlas(), scan)
    assert answer.verdict is Verdict.UNIQUE
    assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.1
    assert tilt_between(answer.best.pose, truth) < 1.0
    lean = tilt_between(answer.best.pose, Pose3())
    assert answer.advice == (
        "One place explains the scan, and no other comes near. "
        f"The sensor leans by {lean:.1f}° more than was told; roll and pitch were fitted."
    )


@pytest.mark.slow
def test_a_scan_that_tells_its_tilt_right_is_not_fitted():
    for roll, pitch in ((0.0, 0.0), (0.1, -0.05)):
        truth = at(5.0, 0.0, 0.7, roll=roll, pitch=pitch)
        answer = iv.locate(house_atlas(), TALL.scan(house(), truth, np.random.default_rng(5)))
        assert answer.verdict is Verdict.UNIQUE
        assert answer.best.covariance.shape == (4, 4)
        assert "leans" not in answer.advice


@pytest.mark.slow
def test_a_wrong_tilt_that_was_told_is_found_out():
    truth = at(5.0, 0.0, 0.7, roll=0.04)
    scan = TALL.scan(house(), truth, np.random.default_rng(6))
    answer = iv.locate(house_atlas(), replace(scan, roll=0.0, pitch=0.05))
    assert answer.verdict is not Verdict.UNIQUE or tilt_between(answer.best.pose, truth) < 1.0


@pytest.mark.slow
def test_the_holes_of_a_floor_of_points_are_closed():
    _, world = street()
    closed = close_floor(world)
    new = (closed.cells == Cell.OCCUPIED) & (world.cells != Cell.OCCUPIED)
    assert (world.cells[new] == Cell.FREE).all()
    centres = closed.centres(np.flatnonzero(new))
    inside = (centres[:, :2] > 10.0).all(axis=1) & (centres[:, :2] < 90.0).all(axis=1)
    off = centres[inside, 2] - SLOPE * centres[inside, 0]
    assert (np.abs(off) < 0.4).mean() > 0.9


def test_a_map_that_knows_the_unknown_keeps_its_floor():
    cells = np.zeros((6, 40, 40), dtype=np.uint8)
    cells[0, ::4] = Cell.OCCUPIED
    world = VoxelMap.from_array(cells, 0.1)
    assert (close_floor(world).cells[0] == Cell.OCCUPIED).all()
    cells[5, 0, 0] = Cell.UNKNOWN
    world = VoxelMap.from_array(cells, 0.1)
    assert close_floor(world) is world


def test_new_cells_of_a_floor_have_the_reflectance_of_the_others():
    cells = np.zeros((6, 40, 40), dtype=np.uint8)
    cells[0, ::4] = Cell.OCCUPIED
    world = VoxelMap.from_array(cells, 0.1, reflectance=np.where(cells.ravel() == 1, 0.7, 0.0))
    closed = close_floor(world)
    assert (closed.reflectance[closed.cells.ravel() == Cell.OCCUPIED] == 0.7).all()


@pytest.mark.slow
def test_a_quarter_is_the_same_for_the_same_seed_and_has_a_size():
    a, b = (quarter(5, size=100.0) for _ in range(2))
    np.testing.assert_array_equal(a.mapped.vertices, b.mapped.vertices)
    assert len(a.mapped.vertices) != len(quarter(6, size=100.0).mapped.vertices)
    asked = [pose.vector for pose, _ in a.asks(3, FEW)]
    np.testing.assert_array_equal(asked, [pose.vector for pose, _ in b.asks(3, FEW)])
    with pytest.raises(InputError) as error:
        quarter(0, size=60.0)
    assert str(error.value) == ("A quarter of a town needs a size of at least 100 m, got 60 m.")


@pytest.mark.slow
def test_a_leaning_scan_is_found_on_a_street():
    atlas = street_atlas()
    for truth, scan in street()[0].asks(4, FEW):
        answer = iv.locate(atlas, scan, prior=iv.Region.around(truth, 10.0))
        assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.5
        assert tilt_between(answer.best.pose, truth) < 1.0


@pytest.mark.slow
def test_stairs_that_cells_make_of_a_slope_turn_the_last_fit_less():
    atlas, before, after = street_atlas(), [], []
    for truth, scan in street()[0].asks(12, FEW):
        flat, _ = levelled(scan)
        mount = flat.T_level_robot
        start = np.atleast_2d((truth @ mount.inverse).vector)
        many = atlas.beams(flat, USUAL.beams[1], USUAL.block)
        first = refit(atlas, many, start, USUAL, tilt=True).poses[0]
        last = last_fit(atlas, flat, start, 6, USUAL)[0].poses[0]
        before.append(tilt_between(Pose3.from_vector(first) @ mount, truth))
        after.append(tilt_between(Pose3.from_vector(last) @ mount, truth))
    assert np.mean(after) < 0.4 * np.mean(before)
    assert max(after) < 0.35 < max(before)  # cells of 0.5 m


@pytest.mark.parametrize("sigma", [0.4, 2.1])
def test_without_ground_in_view_the_walls_say_which_way_is_up(sigma):
    truth = at(5.0, 0.0, 0.7, roll=0.2)
    high = replace(INDOORS, rings=24, low=0.0, high=0.6)
    scan = high.scan(house(), truth, np.random.default_rng(4), tells_tilt=False)
    assert ground_of(scan) is None
    spread = np.diag([1e-4, 1e-4, 1e-4, 1e-4, *[np.radians(sigma) ** 2] * 2])
    place = Estimate(truth, spread, 1.0, 0.9, 4.0, False)
    asked = []

    def ask(one, tilt, _first):
        asked.append(one)
        if one is scan:
            return Answer(Verdict.LOST, "Nowhere.", ())
        assert tilt
        return Answer(Verdict.UNIQUE, "Here.", (place,))

    answer, held = upright(
        house_atlas(), scan, False, ask, lambda one, tilt: (ask(one, tilt, None), True), USUAL
    )
    # One way up is tried and nothing is better than what it gave.
    assert asked[0] is scan
    assert held is not scan
    up = Pose3(roll=held.roll, pitch=held.pitch).rotation[2] @ truth.rotation[2]
    assert np.degrees(np.arccos(up)) < 9.0
    if sigma < 1.0:
        assert answer.verdict is Verdict.UNIQUE
        assert answer.advice.startswith("Here. The sensor leans by 11.5°")
    else:
        assert answer.verdict is Verdict.AMBIGUOUS
        assert answer.advice.startswith(
            "One place explains the scan, but the attitude there is known to ± 2.1° (standard "
            "deviation) alone. Move until floor or ceiling is in view."
        )


@pytest.mark.slow
def test_a_small_lean_shows_in_beams_that_are_spread_over_what_they_see():
    for seed, truth in (
        (3, at(5.28, -0.11, -0.46, roll=-0.029, pitch=0.033)),
        (9, at(5.45, -0.39, 2.0, roll=0.035, pitch=-0.025)),
    ):
        scan = untold(INDOORS.scan(house(), truth, np.random.default_rng(seed)))
        answer = iv.locate(house_atlas(), scan)
        assert answer.best.covariance.shape == (6, 6)
        assert tilt_between(answer.best.pose, truth) < 0.5


def small_leans(count, rng, least=1.1, most=2.6):
    """Poses in the middle of the house that lean by so many °, any way."""
    for _ in range(count):
        way, lean = rng.uniform(0.0, 2.0 * np.pi), np.radians(rng.uniform(least, most))
        x, y, yaw = rng.uniform([4.0, -0.6, -3.0], [6.0, 0.6, 3.0])
        yield at(x, y, yaw, roll=lean * np.cos(way), pitch=lean * np.sin(way))


@pytest.mark.slow
def test_a_unique_attitude_is_within_a_degree():
    rng = np.random.default_rng(8)
    right = 0
    for truth in small_leans(12, rng):
        answer = iv.locate(house_atlas(), untold(INDOORS.scan(house(), truth, rng)))
        right += np.linalg.norm(answer.best.pose.position - truth.position) < 0.3
        assert answer.verdict is not Verdict.UNIQUE or tilt_between(answer.best.pose, truth) < 1.0
    assert right == 12


@pytest.mark.slow
def test_attitudes_err_by_less_than_their_standard_deviation():
    """Of which 0.17° are for what a perfect map does not have."""
    rng, atlas = np.random.default_rng(9), house_atlas()
    ratios = []
    for truth in small_leans(30, rng, least=0.0):
        scan = untold(INDOORS.scan(house(), truth, rng))
        start = np.atleast_2d((truth @ scan.T_level_robot.inverse).vector)
        fit, spreads = last_fit(atlas, scan, start, 6, USUAL)
        ratios.append((fit.poses[0] - start[0])[4:] / np.sqrt(np.diag(spreads[0]))[4:])
    assert 0.15 < np.sqrt(np.mean(np.square(ratios))) < 0.6


@pytest.mark.parametrize(("better", "leans"), [(True, True), (False, True), (True, False)])
def test_a_place_that_fits_better_levelled_is_not_unique_as_told(better, leans, monkeypatch):
    truth = at(5.0, 0.0, 0.7, roll=0.1 if leans else 0.0)
    scan = untold(INDOORS.scan(house(), truth, np.random.default_rng(4)))
    flat = replace(scan, roll=0.1)
    monkeypatch.setattr("isovist.localization.tilts.all_on_level_ground", lambda _scan: flat)
    monkeypatch.setattr("isovist.localization.tilts._leans", lambda *_: False)
    loose = np.diag([1e-4, 1e-4, 1e-4, 1e-4, *[np.radians(2.0) ** 2] * 2])
    told = Estimate(at(5.0, 0.0, 0.7), np.eye(4), 1.0, 0.9, 3.9, False)
    level = Estimate(truth, loose, 1.0, 0.9, 4.0 if better else 3.8, False)

    def ask(one, _tilt, _first):
        return Answer(Verdict.UNIQUE, "Here.", (level if one is flat else told,))

    answer, held = upright(house_atlas(), scan, False, ask, pytest.fail, USUAL)
    if better and leans:
        assert held is flat
        assert answer.verdict is Verdict.AMBIGUOUS
        assert "± 2.0°" in answer.advice
    else:
        assert held is scan
        assert answer.verdict is Verdict.UNIQUE


@pytest.mark.parametrize(
    ("gain", "degrees", "taken"), [(0.1, 0.3, True), (0.1, 1.2, False), (0.4, 1.2, True)]
)
def test_a_lean_that_is_hardly_known_must_fit_better_by_far(gain, degrees, taken, monkeypatch):
    scan = untold(INDOORS.scan(house(), at(5.0, 0.0, 0.7), np.random.default_rng(4)))
    monkeypatch.setattr("isovist.localization.tilts.all_on_level_ground", lambda one: one)
    monkeypatch.setattr("isovist.localization.tilts._leans", lambda *_: True)
    monkeypatch.setattr("isovist.localization.tilts.leaning", lambda _: ())
    spread = np.diag([1e-4, 1e-4, 1e-4, 1e-4, *[np.radians(degrees) ** 2] * 2])
    told = Estimate(at(5.0, 0.0, 0.7), np.eye(4), 0.5, 0.9, 4.0, False)
    lean = Estimate(at(5.0, 0.0, 0.7, roll=0.1), spread, 0.5, 0.9, 4.0 + gain, False)

    def ask(_one, tilt, _first):
        return Answer(Verdict.AMBIGUOUS, "Here.", (lean if tilt else told,))

    answer, _ = upright(house_atlas(), scan, False, ask, pytest.fail, USUAL)
    assert answer.best is (lean if taken else told)


@pytest.mark.parametrize(("field", "least", "most"), [(2.0 * np.pi, 200, 1000), (1.2, 120, 260)])
def test_a_narrow_field_of_view_has_beams_enough(field, least, most):
    """A fifth of a circle would have a fifth of the beams."""
    lidar = replace(INDOORS, azimuths=900, rings=48, low=-0.2, high=0.2, field_of_view=field)
    scan = lidar.scan(house(), at(5.0, 0.0, 0.7), np.random.default_rng(0))
    assert least <= len(house_atlas().beams(scan, USUAL.beams[1], USUAL.block)) <= most
    apart = len(scan.spread(USUAL.beams[1][1]))
    assert (apart < USUAL.beams[1][0]) == (field < 2.0)
