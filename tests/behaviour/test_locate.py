"""Where was this scan taken?  The same tests on a site of the plane and on one in space."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_locate import building
from tests.support.reference_space import LIDAR, at, house, house_atlas, symmetric_room
from tests.support.reports import near, told
from tests.support.sites import ABSURD, PLANE, SITES, SPACE, gap

import isovist as iv

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
USUAL = iv.LocalizationSettings()
STEPS = {"search", "refine", "judge", "total"}


@BOTH
@pytest.mark.parametrize("k", range(3))
def test_a_robot_finds_itself_wherever_its_sensor_sits(site, k):
    truth = site.places[k]
    for mount, frame in ((None, "sensor"), (site.mount, "robot")):
        answer = iv.locate(site.atlas, site.look(truth, mount=mount))
        assert (answer.verdict, answer.reasons) == ("unique", (iv.Reason.ONLY_PLACE,))
        away, turn = gap(answer.best.pose, truth)
        assert away < 0.1
        assert turn < np.radians(1.0 if mount is None else 1.5)
        assert (np.linalg.eigvalsh(answer.best.covariance) > 0.0).all()
        assert not answer.best.covariance.flags.writeable
        assert set(answer.timing_ms) == STEPS
        assert answer.frame == frame
        assert (answer.certificate, answer.proof, answer.map) == (None, None, None)
        chances = [e.probability for e in answer.estimates]
        assert chances == sorted(chances, reverse=True)
        assert [e.refuted for e in answer.estimates] == [False, *[True] * (len(chances) - 1)]


@BOTH
def test_the_trace_tells_each_batch_of_a_search(site):
    alone, alike = site.look(site.places[0]), site.look(site.lonely, world=site.twins, seed=6)
    for atlas, scan, verdict in ((site.atlas, alone, "unique"), (site.twin_atlas, alike, None)):
        steps = (answer := iv.locate(atlas, scan)).trace
        assert (steps[-1].verdict, steps[-1].reasons) == (answer.verdict, answer.reasons)
        assert (
            len(steps) > 1
            or verdict == "unique"
            or steps[-1].cost_ratio >= USUAL.search.stop_cost_ratio
        )
        assert all(step.verdict != "unique" for step in steps[:-1])
        assert pickle.loads(pickle.dumps(answer)).trace == steps


def seen(world, pose, view=np.pi):
    """What a sensor without clutter sees in the plane."""
    return iv.Lidar(view, 180, 1e3, noise=0.02).scan(world, pose, np.random.default_rng(3))


@pytest.mark.parametrize("view", [np.pi, 1.5 * np.pi, 2.0 * np.pi])
def test_a_scan_of_any_arc_is_found_with_its_heading(view):
    for pose in (*PLANE.places, iv.Pose(3.9, 4.5, 0.2)):
        answer = iv.locate(PLANE.atlas, seen(PLANE.world, pose, view))
        assert near(answer.best.pose, pose, 0.05, 0.6)
        assert answer.verdict == "unique" or view == np.pi


@pytest.mark.parametrize("kept", ["all round", "two bands"])
def test_a_cloud_of_any_rings_is_found(kept):
    lidar = LIDAR if kept == "two bands" else replace(LIDAR, rings=33, low=-1.57, high=1.57)
    for k, truth in enumerate(SPACE.places[:2]):
        scan = lidar.scan(house(), truth, np.random.default_rng(k))
        rise = np.arctan2(scan.points[:, 2], np.hypot(scan.points[:, 0], scan.points[:, 1]))
        if kept == "two bands":
            scan = iv.Scan.from_points(scan.points[np.abs(rise) > np.radians(8.0)])
        answer = iv.locate(house_atlas(), scan)
        assert near(answer.best.pose, truth)
        assert answer.verdict == "unique" or kept == "two bands"


@BOTH
@pytest.mark.parametrize("mounted", [False, True])
def test_a_true_prior_is_of_the_robot_and_keeps_the_answer(site, mounted):
    """A sensor that looks backwards stands elsewhere and heads elsewhere than its robot."""
    for k, truth in enumerate(site.places):
        prior = iv.Region.around(truth, 0.6, np.radians(30.0))
        scan = site.look(truth, mount=site.mount if mounted else None, seed=k)
        answer = iv.locate(site.atlas, scan, region=prior)
        assert gap(answer.best.pose, truth)[0] < 0.1
        for estimate in answer.estimates:
            assert prior.holds(estimate.pose.vector[None])[0]


@BOTH
def test_a_prior_elsewhere_gives_no_place_outside_of_it(site):
    scan = site.look(site.places[0], mount=site.mount)
    wrong = site.places[0].yaw + 1.5
    for far in (iv.Region.around(site.places[1], 0.5), iv.Region.facing(wrong, 0.3)):
        answer = iv.locate(site.atlas, scan, region=far)
        assert all(far.holds(e.pose.vector[None])[0] for e in answer.estimates)
    compass = iv.Region.facing(site.places[0].yaw + 0.2, 0.3)
    assert near(iv.locate(site.atlas, scan, region=compass).best.pose, site.places[0])
    nowhere = iv.locate(site.atlas, scan, region=iv.Region.circle([900.0, 0.0], 1.0))
    assert (nowhere.verdict, nowhere.reasons) == ("lost", (iv.Reason.NO_CANDIDATES,))
    assert (nowhere.estimates, nowhere.best) == ((), None)


@BOTH
def test_two_places_alike_are_ambiguous_and_both_are_listed(site):
    scan, answer = site.asked_alike()
    assert answer.verdict == "ambiguous"
    assert answer.reasons[0] == "competitors"
    assert answer.facts["competitors"] == len(answer.rivals) == 1
    for place in (site.lonely, site.twin):
        assert min(gap(e.pose, place)[0] for e in answer.estimates[:2]) < 0.1
    assert answer.timing_ms["total"] >= sum(answer.timing_ms.values()) / 2 > 0.0
    one = iv.locate(site.twin_atlas, scan, region=iv.Region.around(site.twin, 1.0, 1.0))
    assert one.verdict == "unique"
    assert gap(one.best.pose, site.twin)[0] < 0.1


@pytest.mark.nightly
@BOTH
def test_probabilities_are_shares_of_all_places_that_were_fitted(site):
    """What is listed adds up to 1 with `none`, and so does all that was fitted."""
    for scan, likely in ((site.look(site.places[1]), True), (site.elsewhere(), False)):
        answer = iv.locate(
            site.atlas, scan, settings=USUAL.with_values({"decision.max_estimates": 3})
        )
        listed = [e.probability for e in answer.estimates]
        assert listed == sorted(listed, reverse=True)
        assert 0.0 < sum(listed) <= 1.0 + 1e-12
        assert sum(listed) + answer.none == pytest.approx(1.0, abs=1e-12)
        assert (answer.none < 0.01) if likely else (answer.none > 0.5)
        every = iv.locate(
            site.atlas, scan, settings=USUAL.with_values({"decision.max_estimates": 100_000})
        )
        assert len(every.estimates) > len(listed)
        assert every.none <= answer.none
        assert (every.none < 1e-6) if likely else (every.none > 0.5)
        shares = [e.probability for e in every.estimates]
        assert shares[:2] == listed[:2]
        assert listed[2] in shares  # the third, or the one that rates highest


@BOTH
def test_following_the_beams_of_every_fit_gives_the_same_answer(site):
    every = USUAL.with_values(
        {
            "fit.first_rated": 10**6,
            "fit.first_refined": 40,
            "fit.full_rated": 10**6,
            "fit.full_refined": 160,
        }
    )
    most = 0.0 if site.name == "plane" else 0.01  # in space two doors find the place
    for k, place in enumerate(site.places):
        scan = site.look(place, seed=k)
        few, all_ = (iv.locate(site.atlas, scan, settings=s) for s in (USUAL, every))
        assert few.verdict is all_.verdict
        assert max(gap(few.best.pose, all_.best.pose)) <= most


def test_a_scan_from_elsewhere_is_not_unique():
    room = symmetric_room(False)
    other = LIDAR.scan(room, iv.Pose3(2.2, 2.9, 0.4, 1.1), np.random.default_rng(7))
    for site, scan in ((PLANE, PLANE.elsewhere()), (SPACE, SPACE.elsewhere()), (SPACE, other)):
        assert iv.locate(site.atlas, scan).verdict != "unique"
    noise = iv.CloudScan(np.random.default_rng(7).normal(size=(300, 3)) * [4.0, 4.0, 0.5])
    lost = iv.locate(SPACE.atlas, noise)
    assert (lost.verdict, lost.reasons) == ("lost", (iv.Reason.POOR_FIT,))
    assert lost.facts["inliers"] < 0.7


@BOTH
def test_a_sliver_of_the_view_is_not_unique(site):
    scan = site.look(site.places[1])
    if site.name == "plane":
        ahead = np.abs(scan.bearings) < 0.15
        few = iv.Scan(scan.bearings[ahead], scan.ranges[ahead])
    else:
        bearing = np.arctan2(scan.points[:, 1], scan.points[:, 0])
        few = iv.CloudScan(scan.points[np.abs(bearing) < np.radians(12.0)])
    answer = iv.locate(site.atlas, few)
    assert answer.verdict != "unique"
    assert "few_groups" in answer.reasons or answer.facts["groups"] >= 4


@BOTH
def test_a_sensor_with_two_returns_finds_itself(site):
    """Each return twice, and every tenth second one from half a metre behind the wall."""
    truth = site.places[0]
    scan = site.look(truth)
    if site.name == "space":
        behind = scan.points.copy()
        behind[::10] *= (1.0 + 0.5 / np.linalg.norm(behind[::10], axis=1))[:, None]
        both = replace(scan, points=np.stack([scan.points, behind], 1).reshape(-1, 3))
    else:
        ranges = np.repeat(np.where(scan.valid, scan.ranges, np.nan), 2)
        ranges[1::20] += 0.5
        both = iv.Scan(np.repeat(scan.bearings, 2), ranges, 0.0, scan.range_max)
    answer = iv.locate(site.atlas, both)
    assert answer.verdict == "unique"
    assert gap(answer.best.pose, truth)[0] < 0.1
    one, two = (iv.certify(site.world, s, answer.best.pose).mu for s in (scan, both))
    assert two == pytest.approx(one, rel=0.1)


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


@BOTH
@pytest.mark.parametrize("absurd", ABSURD)
def test_a_few_absurd_ranges_change_nothing(site, absurd):
    truth = site.places[0]
    for count in (3, 60):
        answer = iv.locate(site.atlas, with_ranges(site.look(truth), [absurd] * count))
        assert answer.verdict == "unique"
        assert gap(answer.best.pose, truth)[0] < 0.1
        assert told(answer)["verdict"] == "unique"


@BOTH
def test_a_scan_that_no_map_of_this_size_can_hold_is_lost(site):
    scan = site.look(site.places[0])
    count = len(scan.points) if isinstance(scan, iv.CloudScan) else len(scan.ranges)
    answer = iv.locate(site.atlas, with_ranges(scan, np.full(count, 5000.0)))
    assert (answer.verdict, answer.reasons) == ("lost", (iv.Reason.OUTSIDE_MAP,))
    assert answer.estimates == ()
    assert set(answer.timing_ms) == STEPS


@BOTH
@pytest.mark.parametrize("tilt", [False, True])
def test_a_covariance_in_the_order_of_ros(site, tilt):
    """Entry (i, j) of x, y, z, roll, pitch, yaw; 0 where nothing was fitted."""
    if tilt and site.name == "plane":
        pytest.skip("Nothing tilts in the plane.")
    answer = iv.locate(site.atlas, site.look(site.places[0], mount=site.mount), tilt=tilt)
    best = answer.best
    ours = ("x", "y", "yaw", "z", "roll", "pitch")[: len(best.covariance)]
    ros = ("x", "y", "z", "roll", "pitch", "yaw")
    rows = [ros.index(name) for name in ours]
    expected = np.zeros((6, 6))
    expected[np.ix_(rows, rows)] = best.covariance
    assert best.covariance_ros.tolist() == expected.ravel().tolist()
    assert told(answer)["estimates"][0]["covariance_ros"] == best.covariance_ros.tolist()


@BOTH
def test_a_scan_turned_over_twice_or_scaled_there_and_back_is_the_same(site):
    scan = site.look(site.places[0], mount=site.mount)
    answer = iv.locate(site.atlas, scan.mirrored().mirrored())
    assert answer.best.pose == iv.locate(site.atlas, scan).best.pose
    again = scan.scaled(0.5).scaled(2.0)
    assert iv.locate(site.atlas, again).best.pose == answer.best.pose
    assert scan.mirrored().T_robot_sensor == scan.T_robot_sensor
    assert scan.scaled(2.0).range_max == 2.0 * scan.range_max


@BOTH
def test_an_atlas_survives_its_folder_and_refuses_other_settings(site, tmp_path):
    iv.write_atlas(site.atlas, tmp_path / "atlas")
    again = iv.read_atlas(tmp_path / "atlas", settings=site.atlas.settings)
    scan = site.look(site.places[0])
    assert iv.locate(again, scan).best.pose == iv.locate(site.atlas, scan).best.pose
    with pytest.raises(iv.FileError) as error:
        iv.read_atlas(tmp_path / "atlas", settings=replace(site.atlas.settings, reach=20.0))
    assert error.value.code == "outdated_file"


@BOTH
def test_an_answer_travels_as_it_is(site):
    answer = iv.locate(site.atlas, site.look(site.places[0]))
    mixed = tuple(
        replace(one, covariance=one.covariance[: 3 + k % 2, : 3 + k % 2], map=str(k))
        for k, one in enumerate(answer.estimates)
    )
    certified = replace(answer, certificate=iv.Certificate(0.1, np.inf, False, 2.0, ("exact",)))
    nowhere = replace(answer, verdict=iv.Verdict.LOST, estimates=())
    for one in (answer, certified, replace(answer, estimates=mixed), nowhere):
        other = pickle.loads(pickle.dumps(one))
        for name in (
            "verdict", "reasons", "facts", "timing_ms", "certificate", "proof", "frame",
        ):  # fmt: skip
            assert getattr(other, name) == getattr(one, name)
        for mine, yours in zip(other.estimates, one.estimates, strict=True):
            assert mine.pose == yours.pose
            assert type(mine.pose) is type(yours.pose)
            np.testing.assert_array_equal(mine.covariance, yours.covariance)
            assert not mine.covariance.flags.writeable
            for name in ("probability", "inliers", "score", "refuted", "map"):
                assert getattr(mine, name) == getattr(yours, name)


# The plane alone.


def test_people_around_the_robot_do_not_hide_the_place():
    pose = iv.Pose(8.1, 1.4, 2.9)
    scan = seen(PLANE.world, pose, 2.0 * np.pi)
    ranges = scan.ranges.copy()
    ranges[10:50] = 0.7
    ranges[90:110] = 0.5
    answer = iv.locate(PLANE.atlas, iv.Scan(scan.bearings, np.minimum(ranges, scan.ranges)))
    assert gap(answer.best.pose, pose)[0] < 0.05


def test_a_turned_map_gives_turned_answers():
    origin, inside = iv.Pose(3.0, -7.0, 2.2), iv.Pose(5.2, 6.4, -1.9)
    world = building(origin)
    answer = iv.locate(iv.build(world), seen(world, origin @ inside))
    assert gap(answer.best.pose, origin @ inside)[0] < 0.05
    upright = iv.locate(PLANE.atlas, seen(PLANE.world, inside))
    turned = origin.rotation @ upright.best.covariance[:2, :2] @ origin.rotation.T
    np.testing.assert_allclose(answer.best.covariance[:2, :2], turned, rtol=0.3, atol=2e-5)


def test_the_covariance_is_wider_along_a_corridor():
    cells = np.ones((60, 800), dtype=np.uint8)
    cells[10:50, 4:796] = 0
    cells[10:14, 380:384] = 1
    world = iv.OccupancyMap(cells, 0.05)
    scan = seen(world, iv.Pose(12.0, 1.5, 0.0))
    near = iv.Scan(scan.bearings, np.where(scan.ranges < 6.0, scan.ranges, 0.0))
    answer = iv.locate(iv.build(world), near)
    C = answer.best.covariance
    assert C[0, 0] > 10.0 * C[1, 1]
    assert answer.verdict != "unique"
    assert answer.facts["position_std"] == pytest.approx(np.sqrt(C[0, 0]), rel=0.01)


# Space alone.


def test_a_height_that_is_a_little_off_is_fitted():
    truth = at(5.0, 0.0, 0.7, z=1.68)
    answer = iv.locate(house_atlas(), LIDAR.scan(house(), truth, np.random.default_rng(2)))
    assert gap(answer.best.pose, truth)[0] < 0.1


def test_a_drone_finds_its_height():
    drone = iv.build(house(), spacing=0.4, height=(0.5, 2.0))
    truth = at(10.2, 0.9, -1.0, z=2.2)
    answer = iv.locate(drone, LIDAR.scan(house(), truth, np.random.default_rng(12)))
    assert gap(answer.best.pose, truth)[0] < 0.1


def test_a_map_of_points_is_enough():
    """A cloud knows no free space from unseen: the walls alone must do."""
    rng = np.random.default_rng(11)
    dense = replace(LIDAR, rings=40, low=-0.6, high=0.6, clutter=0.0)
    truths = at(5.0, 0.0, 0.7), at(7.6, -1.2, 1.5), at(10.5, -0.5, 0.0)
    cloud = np.concatenate([p.apply(dense.scan(house(), p, rng).points) for p in truths])
    atlas = iv.build(iv.VoxelMap.from_points(cloud, 0.1))
    truth = at(6.0, 0.3, 2.0)
    answer = iv.locate(atlas, LIDAR.scan(house(), truth, rng))
    assert near(answer.best.pose, truth, 0.12, 2.0)


def test_the_slope_of_the_descriptor_vanishes_along_a_tunnel():
    lidar = iv.Lidar.spinning(16, range_max=8.0, noise=0.0)
    values = []
    for length, x in ((240, 12.0), (60, 2.2)):
        cells = np.zeros((26, 30, length), np.uint8)
        cells[[0, -1]] = 1
        cells[:, [0, -1]] = 1
        if length == 60:
            cells[:, :, [0, -1]] = 1
        world, pose = iv.VoxelMap.from_array(cells, 0.1), iv.Pose3(x, 1.3, 0.4, 1.05)
        scan = lidar.scan(world, pose, np.random.default_rng(0))
        values.append(iv.certify(world, scan, pose).mu)
    assert 1e3 * values[0] < values[1]


@pytest.mark.parametrize("band", [(50.0, 89.0), (-90.0, -50.0), (89.9, 90.0), (48.0, 49.0)])
@pytest.mark.parametrize("tilt", [False, True])
def test_a_cloud_above_what_the_atlas_describes_is_not_unique(band, tilt):
    rng = np.random.default_rng(8)
    rise, turn = np.radians(rng.uniform(*band, 400)), rng.uniform(-np.pi, np.pi, 400)
    flat = np.cos(rise)
    ends = 2.5 * np.stack([flat * np.cos(turn), flat * np.sin(turn), np.sin(rise)], 1)
    answer = iv.locate(house_atlas(), iv.CloudScan(ends), tilt=tilt)
    assert answer.verdict != "unique"
    if band[0] > 49.0 or band[1] < -49.0:
        assert (answer.verdict, answer.reasons) == ("lost", (iv.Reason.NO_CANDIDATES,))
        assert answer.estimates == ()
