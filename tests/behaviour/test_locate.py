"""Where was this scan taken?  The same tests on a site of the plane and on one in space."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import ABSURD, PLANE, SITES, SPACE, gap

import isovist as iv
from isovist import InputError, Pose
from isovist.atlas import Fit
from isovist.compute import EXPLAINED, UNSEEN, keys_of_cheapest, numbers_of
from isovist.localization.judge import verdict_of
from isovist.localization.refine import Fits, refine, refuted, totals_of
from isovist.localization.search import search
from isovist.poses import wrap_angle
from isovist.report import answer_json

USUAL = iv.LocalizationSettings()


@pytest.fixture(params=SITES.values(), ids=SITES)
def site(request):
    return request.param


@pytest.mark.parametrize("k", range(3))
def test_a_robot_finds_itself(site, k):
    truth = site.places[k]
    answer = iv.locate(site.atlas, site.look(truth))
    assert answer.verdict is iv.Verdict.UNIQUE
    assert answer.best is not None
    away, turn = gap(answer.best.pose, truth)
    assert away < 0.1
    assert turn < np.radians(1.0)
    assert (np.linalg.eigvalsh(answer.best.covariance) > 0.0).all()
    assert not answer.best.covariance.flags.writeable
    assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}
    assert answer.certificate is None


@pytest.mark.slow
@pytest.mark.parametrize("k", range(3))
def test_the_answer_is_the_robot_wherever_the_sensor_sits(site, k):
    truth = site.places[k]
    answer = iv.locate(site.atlas, site.look(truth, mount=site.mount))
    away, turn = gap(answer.best.pose, truth)
    assert away < 0.1
    assert turn < np.radians(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("mounted", [False, True])
def test_a_true_prior_is_of_the_robot_and_keeps_the_answer(site, mounted):
    """A sensor that looks backwards stands elsewhere and heads elsewhere than its robot."""
    mount = site.mount if mounted else None
    for k, truth in enumerate(site.places):
        prior = iv.Region.around(truth, 0.6, np.radians(30.0))
        scan = site.look(truth, mount=mount, seed=k)
        answer = iv.locate(site.atlas, scan, prior=prior)
        assert gap(answer.best.pose, truth)[0] < 0.1
        for estimate in answer.estimates:
            assert prior.holds(estimate.pose.vector[None])[0]


@pytest.mark.slow
def test_a_prior_elsewhere_gives_no_place_outside_of_it(site):
    scan = site.look(site.places[0])
    far = iv.Region.around(site.places[1], 0.5)
    answer = iv.locate(site.atlas, scan, prior=far)
    assert all(far.holds(e.pose.vector[None])[0] for e in answer.estimates)
    nowhere = iv.locate(site.atlas, scan, prior=iv.Region.circle([900.0, 0.0], 1.0))
    assert nowhere.verdict is iv.Verdict.LOST
    assert nowhere.estimates == ()
    assert nowhere.best is None


def test_a_compass_leaves_only_the_headings_of_the_robot(site):
    scan = site.look(site.places[0], mount=site.mount)
    seeds = search(site.atlas, scan, iv.Region.facing(-2.0, 0.3), USUAL)
    assert len(seeds.poses) > 0
    robots = (site.atlas.lift(seeds.poses) @ scan.T_level_robot).vector
    assert (np.abs(wrap_angle(robots[:, 2] + 2.0)) <= 0.3 + np.pi / 64 + 1e-9).all()


@pytest.mark.slow
def test_two_places_alike_are_ambiguous_and_both_are_listed(site):
    scan, answer = site.asked_alike()
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    for place in (site.lonely, site.twin):
        assert min(gap(e.pose, place)[0] for e in answer.estimates[:2]) < 0.1
    assert not answer.estimates[1].refuted
    assert "Move and look again." in answer.advice
    one = iv.locate(site.twin_atlas, scan, prior=iv.Region.around(site.twin, 1.0, 1.0))
    assert one.verdict is iv.Verdict.UNIQUE
    assert gap(one.best.pose, site.twin)[0] < 0.1


@pytest.mark.slow
def test_probabilities_are_shares_of_all_places_that_were_fitted(site):
    """What is listed adds up to 1 with `none`, and so does all that was fitted."""
    for scan, likely in ((site.look(site.places[1]), True), (site.elsewhere(), False)):
        answer = iv.locate(site.atlas, scan, settings=replace(USUAL, listed=3))
        listed = [e.probability for e in answer.estimates]
        assert listed == sorted(listed, reverse=True)
        assert 0.0 < sum(listed) <= 1.0 + 1e-12
        assert sum(listed) + answer.none == pytest.approx(1.0, abs=1e-12)
        assert (answer.none < 0.01) if likely else (answer.none > 0.5)
        every = iv.locate(site.atlas, scan, settings=replace(USUAL, listed=100_000))
        assert len(every.estimates) > len(listed)
        assert every.none <= answer.none
        assert (every.none < 1e-6) if likely else (every.none > 0.5)
        shares = [e.probability for e in every.estimates]
        assert shares[:2] == listed[:2]
        assert listed[2] in shares  # the third, or the one that rates highest


def test_a_scan_from_elsewhere_is_not_unique(site):
    assert iv.locate(site.atlas, site.elsewhere()).verdict is not iv.Verdict.UNIQUE


@pytest.mark.slow
def test_a_sensor_with_two_returns_finds_itself(site):
    """Each return twice, and every tenth second one from half a metre behind the wall."""
    truth = site.places[0]
    scan = site.look(truth)
    if isinstance(scan, iv.CloudScan):
        behind = scan.points.copy()
        behind[::10] *= (1.0 + 0.5 / np.linalg.norm(behind[::10], axis=1))[:, None]
        both = replace(scan, points=np.stack([scan.points, behind], 1).reshape(-1, 3))
    else:
        ranges = np.repeat(np.where(scan.valid, scan.ranges, np.nan), 2)
        ranges[1::20] += 0.5
        both = iv.Scan(np.repeat(scan.bearings, 2), ranges, 0.0, scan.range_max)
    answer = iv.locate(site.atlas, both, certificate=True)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert gap(answer.best.pose, truth)[0] < 0.1
    assert answer.certificate.mu == pytest.approx(
        iv.locate(site.atlas, scan, certificate=True).certificate.mu, rel=0.1
    )


def with_ranges(scan, values):
    """The scan with some of its returns at other distances."""
    far = np.asarray(values, dtype=np.float64)
    if isinstance(scan, iv.CloudScan):
        points = scan.points.copy()
        some = np.linspace(0, len(points) - 1, len(far)).astype(int)
        with np.errstate(over="ignore", invalid="ignore"):
            points[some] *= (far / np.linalg.norm(points[some], axis=1))[:, None]
        return replace(scan, points=points, range_max=np.inf)
    ranges = np.where(scan.valid, scan.ranges, np.nan)
    ranges[np.linspace(0, len(ranges) - 1, len(far)).astype(int)] = far
    return iv.Scan(scan.bearings, ranges, T_robot_sensor=scan.T_robot_sensor)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 60])
@pytest.mark.parametrize("absurd", ABSURD)
def test_a_few_absurd_ranges_change_nothing(site, absurd, count):
    truth = site.places[0]
    scan = with_ranges(site.look(truth), [absurd] * count)
    answer = iv.locate(site.atlas, scan, certificate=True)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert gap(answer.best.pose, truth)[0] < 0.1
    json.dumps(answer_json(answer), allow_nan=False)


def test_a_scan_that_no_map_of_this_size_can_hold_is_lost(site):
    scan = site.look(site.places[0])
    count = len(scan.points) if isinstance(scan, iv.CloudScan) else len(scan.ranges)
    answer = iv.locate(site.atlas, with_ranges(scan, np.full(count, 5000.0)))
    assert answer.verdict is iv.Verdict.LOST
    assert answer.estimates == ()
    assert answer.advice.startswith("Every beam is longer than the map is wide")
    assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}


@pytest.mark.slow
def test_the_same_bits_whatever_the_number_of_threads(site, monkeypatch):
    scan, answers = site.look(site.places[1]), []
    for count in (1, 3):
        monkeypatch.setattr("isovist.kernels.threads.COUNT", count)
        answers.append(iv.locate(site.atlas, scan))
    one, many = answers
    assert one.verdict == many.verdict
    assert [e.pose for e in one.estimates] == [e.pose for e in many.estimates]
    for a, b in zip(one.estimates, many.estimates, strict=True):
        assert a.probability == b.probability
        np.testing.assert_array_equal(a.covariance, b.covariance)


@pytest.mark.slow
def test_probabilities_fall_and_what_is_refuted_is_what_the_rule_says(site):
    scan = site.look(site.places[2])
    answer = iv.locate(site.atlas, scan)
    chances = [e.probability for e in answer.estimates]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) <= 1.0 + 1e-12
    assert not answer.estimates[0].refuted
    assert all(e.refuted for e in answer.estimates[1:])


def test_witnesses_are_means_of_the_blocks_that_see_one_thing(site):
    scan = site.look(site.places[0])
    beams = site.atlas.beams(scan, USUAL.beams[0], USUAL.block)
    ratings = np.random.default_rng(0).normal(size=(3, len(beams))).astype(np.float32)
    number, blocks = beams.block_of, beams.by_block(ratings)
    assert set(number) == set(range(beams.blocks))
    for k in range(beams.blocks):
        mean = ratings[:, number == k].mean(axis=1, dtype=np.float64)
        np.testing.assert_allclose(blocks[:, k], mean, rtol=1e-12)
    bearing = np.arctan2(beams.ends[:, 1], beams.ends[:, 0])
    columns = np.split(np.arange(beams.blocks), beams.columns[1:])
    width, length = USUAL.block
    for column, mean in zip(columns, beams.by_column(blocks).T, strict=True):
        np.testing.assert_allclose(mean, blocks[:, column].mean(axis=1), rtol=1e-12)
        if site.name == "space":
            inside = np.sort(bearing[np.isin(number, column)])
            assert inside[-1] - inside[0] <= width + 1e-9
            continue
        begun = [beams.ends[beams.order[beams.starts[k]]] for k in column]
        assert all(math.dist(begun[0], later) < length for later in begun[1:])
        if column[-1] + 1 < beams.blocks:
            after = beams.ends[beams.order[beams.starts[column[-1] + 1]]]
            assert math.dist(begun[0], after) >= length
    assert 1 < len(columns) < beams.blocks


def test_sums_of_fits_are_those_of_their_beams(site):
    beams = site.atlas.beams(site.look(site.places[0]), USUAL.beams[1], USUAL.block)
    random = np.random.default_rng(1)
    poses = np.repeat(site.places[0].vector[None], 70, axis=0)
    ratings = random.normal(size=(70, len(beams))).astype(np.float32)
    kinds = random.integers(0, 5, ratings.shape).astype(np.uint8)
    none = np.empty((70, 0, 0)), np.empty(70), np.empty(70)
    fits = Fits(Fit(poses, *none), beams, ratings, kinds)
    some = fits.select(random.permutation(70)[:40])
    for told in (fits, some):
        np.testing.assert_allclose(told.scores, told.ratings.mean(axis=1, dtype=float), rtol=1e-12)
        assert told.inliers.tolist() == (told.kinds == EXPLAINED).mean(axis=1).tolist()
        assert told.unseen.tolist() == (told.kinds == UNSEEN).mean(axis=1).tolist()
        columns = beams.by_column(beams.by_block(told.ratings))
        np.testing.assert_allclose(told.witnesses, columns, rtol=1e-12, atol=1e-12)


def test_beams_of_other_sizes_are_fitted_as_one_by_one(site):
    atlas, scan = site.atlas, site.look(site.places[0])
    beams = atlas.beams(scan, USUAL.beams[1], USUAL.block)
    start, n = site.places[0].vector[None], atlas.fitted(False)
    widths, factors = USUAL.all_widths(atlas), (0.9, 1.0, 1.05)
    coarse, fine = USUAL.coarse_widths(atlas), USUAL.fine_widths(atlas)
    np.testing.assert_array_equal(widths, np.append(coarse, fine))
    scores, poses = atlas.fit_scaled(beams, start, widths, n, USUAL.model, factors)
    for factor, score, pose in zip(factors, scores, poses, strict=True):
        scaled = beams.scaled(factor)
        fit = atlas.fit(scaled, start, widths, n)
        ratings, _ = atlas.rate(scaled, fit.poses, USUAL.model)
        assert score == pytest.approx(ratings.mean(dtype=float), abs=1e-5)
        np.testing.assert_allclose(pose, fit.poses[0], atol=1e-6)
    assert scores.argmax() == 1


def test_totals_are_sums_over_witnesses():
    sums = np.random.default_rng(5).normal(size=(9, 3 + 7))
    told = totals_of(sums, replace(USUAL, worth=1.7))
    for row, found in zip(sums, told, strict=True):
        assert found == pytest.approx(sum(w + 1.7 * row[1] - 1.7 * row[2] for w in row[3:]))
    assert totals_of(np.empty((0, 10)), USUAL).shape == (0,)


def test_a_rival_must_be_worse_in_more_than_one_block():
    blocks = np.array([[4.0] * 8, [4.0] * 7 + [-4.0], [3.0] * 8])
    scores = blocks.mean(axis=1)
    np.testing.assert_array_equal(refuted(blocks, scores, 1.0, USUAL), [False, True])
    np.testing.assert_array_equal(refuted(blocks, scores, 0.3, USUAL), [False, False])


def test_fits_rate_what_they_fit(site):
    scan = site.look(site.places[0])
    seeds = search(site.atlas, scan, None, USUAL).poses
    fits = refine(site.atlas, scan, seeds, USUAL, keep=5)
    assert len(fits) <= 5
    assert (np.diff(fits.scores) <= 0.0).all()
    np.testing.assert_allclose(
        fits.blocks.sum(axis=1),
        [
            sum(row[fits.beams.block_of == k].mean() for k in range(fits.beams.blocks))
            for row in fits.ratings.astype(np.float64)
        ],
        rtol=1e-9,
    )


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [False, True])
def test_a_covariance_in_the_order_of_ros(site, tilt):
    """Entry (i, j) of x, y, z, roll, pitch, yaw; 0 where nothing was fitted."""
    if tilt and site.name == "plane":
        pytest.skip("Nothing tilts in the plane.")
    best = iv.locate(site.atlas, site.look(site.places[0], mount=site.mount), tilt=tilt).best
    assert best.covariance_ros.shape == (36,)
    ours = ("x", "y", "yaw", "z", "roll", "pitch")[: len(best.covariance)]
    ros = ("x", "y", "z", "roll", "pitch", "yaw")
    for i, row in enumerate(ros):
        for j, column in enumerate(ros):
            fitted = row in ours and column in ours
            expected = best.covariance[ours.index(row), ours.index(column)] if fitted else 0.0
            assert best.covariance_ros[6 * i + j] == expected
    report = answer_json(site.asked()[1])
    assert len(report["estimates"][0]["covariance_ros"]) == 36


@pytest.mark.slow
def test_a_scan_turned_over_twice_or_scaled_there_and_back_is_the_same(site):
    scan = site.look(site.places[0], mount=site.mount)
    answer = iv.locate(site.atlas, scan.mirrored().mirrored())
    assert answer.best.pose == iv.locate(site.atlas, scan).best.pose
    again = scan.scaled(0.5).scaled(2.0)
    assert iv.locate(site.atlas, again).best.pose == answer.best.pose
    assert scan.mirrored().T_robot_sensor == scan.T_robot_sensor
    assert scan.scaled(2.0).range_max == 2.0 * scan.range_max
    for factor in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError) as error:
            scan.scaled(factor)
        assert str(error.value) == f"`factor` must be a positive number, got {factor}."


@pytest.mark.slow
def test_a_certificate_is_filled_when_asked_and_claims_nothing_on_cells(site):
    scan = site.look(site.places[0], mount=site.mount)
    answer = iv.locate(site.atlas, scan, certificate=True)
    assert answer.certificate is not None
    assert answer.certificate.mu > 0.0
    assert answer.certificate.holds is False
    assert answer.certificate.bound == np.inf
    assert answer.certificate.separation == np.inf  # every other estimate is refuted
    assert json.loads(json.dumps(answer_json(answer)))["certificate"]["holds"] is False


@pytest.mark.slow
def test_an_atlas_survives_its_folder_and_refuses_other_settings(site, tmp_path):
    iv.write_atlas(site.atlas, tmp_path / "atlas")
    again = iv.read_atlas(tmp_path / "atlas", settings=site.atlas.settings)
    scan = site.look(site.places[0])
    assert iv.locate(again, scan).best.pose == iv.locate(site.atlas, scan).best.pose
    other = replace(site.atlas.settings, reach=20.0)
    with pytest.raises(iv.IsovistError) as error:
        iv.read_atlas(tmp_path / "atlas", settings=other)
    assert str(error.value) == (
        "atlas was built with other settings: reach 30 and 20. Build it again."
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: iv.locate(PLANE.atlas, SPACE.look(SPACE.places[0])),
            "The scan is a cloud of points, and the atlas is of a map of the plane. "
            "Build the atlas of a map in space, or take a scan of the plane.",
        ),
        (
            lambda: iv.locate(SPACE.atlas, PLANE.look(PLANE.places[0])),
            "The scan is of the plane, and the atlas is of a map in space. "
            "Give points: Scan.from_points.",
        ),
        (
            lambda: iv.locate(PLANE.atlas, PLANE.look(PLANE.places[0]), tilt=True),
            "`tilt` is for maps in space; this atlas is of the plane.",
        ),
        (
            lambda: iv.locate(SPACE.world, SPACE.look(SPACE.places[0])),
            "`locate` needs an atlas and a scan, got VoxelMap and CloudScan. "
            "`build` makes an atlas of a map, `read_scan` a scan of a file.",
        ),
        (
            lambda: iv.Region.around([0.0, 0.0, 0.0], 1.0),
            "`pose` must be a Pose or a Pose3, got list.",
        ),
        (
            lambda: iv.Scan([0.0], [1.0], T_robot_sensor=(0.2, 0.0, 0.0)),
            "`T_robot_sensor` of a scan of the plane must be Pose(x, y, yaw), got tuple.",
        ),
        (
            lambda: iv.CloudScan(np.ones((60, 3)), T_robot_sensor=[0.2, 0.0, 0.0]),
            "`T_robot_sensor` must be a Pose3 or a Pose, got list.",
        ),
        (
            lambda: iv.locate(PLANE.atlas, PLANE.look(PLANE.places[0]), prior=Pose()),
            "`prior` must be a Region, e.g. Region.around(pose, 2.0), got Pose.",
        ),
        (
            lambda: iv.locate(PLANE.atlas, PLANE.look(PLANE.places[0]), settings=3),
            "`settings` must be LocalizationSettings, got int.",
        ),
        (
            lambda: iv.build(PLANE.world, settings=USUAL),
            "`settings` must be AtlasSettings, got LocalizationSettings.",
        ),
        (lambda: iv.AtlasSettings(spacing=0.0), "`spacing` must be a positive number, got 0.0."),
        (lambda: iv.Region.polygon([[0, 0], [1, 1]]), "A polygon needs at least 3 corners, got 2."),
        (
            lambda: iv.Region.polygon([[0, 0], [1, 1], [1, 0], [0, 1]]),
            "The sides of the polygon cross each other.",
        ),
        (
            lambda: iv.Region(radius=2.0),
            "A `radius` needs a `centre`: Region.circle(centre, radius).",
        ),
        (
            lambda: iv.Region.circle([0, 0], 0.0),
            "`radius` must be a positive length in m, got 0.0.",
        ),
        (
            lambda: iv.Region.facing(90.0, 1.0),
            "`heading` must be an angle in rad, within ±2π, got 90.0. "
            "Is it in degrees? Take np.radians of it.",
        ),
        (
            lambda: iv.Region.facing(0.0, -1.0),
            "`tolerance` must be a positive angle in rad, got -1.0.",
        ),
    ],
)
def test_bad_input_is_refused_in_words(make, text):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == text


def test_a_heading_that_nothing_holds_is_not_unique(site):
    answer = site.asked()[1]
    assert answer.verdict is iv.Verdict.UNIQUE
    loose = np.array(answer.best.covariance)
    loose[2, 2] = np.radians(8.0) ** 2
    best = replace(answer.best, covariance=loose)
    verdict, advice = verdict_of(36, 0, best, 0.0, USUAL)
    assert verdict is iv.Verdict.AMBIGUOUS
    assert advice.startswith("The heading is known to ± 8° (standard deviation) alone")


def test_an_answer_travels_as_it_is(site):
    answer = iv.locate(site.atlas, site.look(site.places[0]), certificate=True)
    mixed = tuple(
        replace(one, covariance=one.covariance[: 3 + k % 2, : 3 + k % 2], map=str(k))
        for k, one in enumerate(answer.estimates)
    )
    nowhere = replace(answer, verdict=iv.Verdict.LOST, estimates=(), certificate=None)
    for one in (answer, replace(answer, estimates=mixed), nowhere):
        other = pickle.loads(pickle.dumps(one))
        for name in ("verdict", "advice", "timing_ms", "certificate", "proof", "frame"):
            assert getattr(other, name) == getattr(one, name)
        assert len(other.estimates) == len(one.estimates)
        for mine, yours in zip(other.estimates, one.estimates, strict=True):
            assert mine.pose == yours.pose
            assert type(mine.pose) is type(yours.pose)
            np.testing.assert_array_equal(mine.covariance, yours.covariance)
            assert not mine.covariance.flags.writeable
            for name in ("probability", "inliers", "score", "refuted", "map"):
                assert getattr(mine, name) == getattr(yours, name)


def test_keys_have_the_order_of_costs_and_the_first_of_equal_ones_first():
    random = np.random.default_rng(4)
    costs = (random.integers(0, 40, 300) * 2.0**-11).astype(np.float32)
    costs[random.random(300) < 0.1] = np.inf
    order = np.argsort(costs, kind="stable")
    for most in (0, 1, 2, 49, 50, 150, 299, 300):
        keys = keys_of_cheapest(costs, most)
        np.testing.assert_array_equal(numbers_of(keys), np.sort(order[:most]))
        np.testing.assert_array_equal(numbers_of(np.sort(keys)), order[:most])
    many = random.uniform(0.0, 50.0, 5000).astype(np.float32)
    many[::7] = many[3]
    order = np.argsort(many, kind="stable")
    for most in (1, 700, 2600, 4999):
        np.testing.assert_array_equal(
            numbers_of(np.sort(keys_of_cheapest(many, most))), order[:most]
        )
