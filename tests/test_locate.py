import numba
import numpy as np
import pytest

from isovist.atlas.plane import FAR, Atlas, bridge_gaps, build
from isovist.errors import InputError
from isovist.localization.answer import Verdict
from isovist.localization.judge import average_blocks
from isovist.localization.locate import locate
from isovist.localization.region import Region
from isovist.localization.search import describe, search
from isovist.maps.cells import Cell, OccupancyMap
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from reference_locate import building, twin_rooms


@pytest.fixture(scope="module")
def atlas():
    return build(building())


def look(world, pose, beams=180, view=np.pi, noise=0.02, seed=3, mount=None):
    """A scan from a pose of the robot, of walls alone."""
    sensor = pose if mount is None else pose @ mount
    bearings = view * (np.arange(beams) / beams - 0.5)
    angles = sensor.yaw + bearings
    hits = world.cast([sensor.x, sensor.y], np.stack([np.cos(angles), np.sin(angles)], -1))
    random = np.random.default_rng(seed)
    ranges = hits.ranges + noise * random.standard_normal(beams)
    return Scan(bearings, ranges, T_robot_sensor=Pose() if mount is None else mount)


def error(estimate, pose):
    turn = abs(float(wrap_angle(estimate.pose.yaw - pose.yaw)))
    return float(np.hypot(estimate.pose.x - pose.x, estimate.pose.y - pose.y)), turn


@pytest.mark.parametrize(
    "pose", [Pose(2.3, 2.4, 0.7), Pose(8.1, 1.4, 2.9), Pose(5.2, 6.4, -1.9), Pose(3.9, 4.5, 0.2)]
)
@pytest.mark.parametrize("view", [np.pi, 1.5 * np.pi, 2.0 * np.pi])
def test_a_scan_is_found_with_its_heading(atlas, pose, view):
    answer = locate(atlas, look(atlas.world, pose, view=view))
    distance, turn = error(answer.best, pose)
    assert distance < 0.05
    assert turn < 0.01
    if view > np.pi:
        assert answer.verdict is Verdict.UNIQUE


def test_people_around_the_robot_do_not_hide_the_place(atlas):
    pose = Pose(8.1, 1.4, 2.9)
    scan = look(atlas.world, pose, view=2.0 * np.pi)
    ranges = scan.ranges.copy()
    ranges[10:50] = 0.7
    ranges[90:110] = 0.5
    answer = locate(atlas, Scan(scan.bearings, np.minimum(ranges, scan.ranges)))
    assert error(answer.best, pose)[0] < 0.05


def test_two_rooms_alike_are_ambiguous_and_both_are_listed():
    world = twin_rooms()
    pose = Pose(3.3, 3.1, 0.8)
    answer = locate(build(world), look(world, pose, view=2.0 * np.pi))
    assert answer.verdict is Verdict.AMBIGUOUS
    other = Pose(pose.x + 104 * 0.05, pose.y, pose.yaw)
    for place in (pose, other):
        assert min(error(e, place)[0] for e in answer.estimates[:2]) < 0.05
    assert answer.estimates[0].probability == pytest.approx(0.5, abs=0.2)
    assert "Move and look again." in answer.advice


def test_a_scan_from_elsewhere_is_not_unique(atlas):
    cells = np.full((200, 200), Cell.OCCUPIED, dtype=np.uint8)
    yy, xx = np.mgrid[:200, :200]
    cells[(xx - 100) ** 2 + (yy - 100) ** 2 < 80**2] = Cell.FREE
    cells[95:105, 95:105] = Cell.OCCUPIED
    elsewhere = OccupancyMap(cells, 0.05)
    answer = locate(atlas, look(elsewhere, Pose(3.1, 5.0, 1.0), view=2.0 * np.pi))
    assert answer.verdict is not Verdict.UNIQUE


def test_few_beams_are_never_unique(atlas):
    scan = look(atlas.world, Pose(8.1, 1.4, 2.9), beams=5, view=0.3)
    answer = locate(atlas, scan)
    assert answer.verdict is not Verdict.UNIQUE


def test_a_prior_keeps_the_answer_in_its_region():
    world = twin_rooms()
    pose = Pose(3.3, 3.1, 0.8)
    right = Region(polygon=np.array([[5.3, 0.0], [10.5, 0.0], [10.5, 5.0], [5.3, 5.0]]))
    answer = locate(build(world), look(world, pose, view=2.0 * np.pi), prior=right)
    assert answer.verdict is Verdict.UNIQUE
    assert answer.best.pose.x == pytest.approx(pose.x + 5.2, abs=0.05)


def test_a_compass_leaves_only_its_headings(atlas):
    scan = look(atlas.world, Pose(2.3, 2.4, 0.7))
    seeds = search(atlas, scan, Region(heading=-2.0, tolerance=0.3))
    assert (np.abs(wrap_angle(seeds[:, 2] + 2.0)) <= 0.3 + np.pi / 64 + 1e-9).all()


def test_a_prior_that_leaves_nothing_is_lost(atlas):
    scan = look(atlas.world, Pose(2.3, 2.4, 0.7))
    answer = locate(atlas, scan, prior=Region.around(Pose(500.0, 0.0, 0.0), 1.0))
    assert answer.verdict is Verdict.LOST
    assert answer.best is None
    assert answer.estimates == ()


def test_the_pose_is_that_of_the_robot_wherever_the_sensor_sits(atlas):
    pose, mount = Pose(5.2, 6.4, -1.9), Pose(0.2, -0.1, 0.5)
    answer = locate(atlas, look(atlas.world, pose, view=2.0 * np.pi, mount=mount))
    distance, turn = error(answer.best, pose)
    assert distance < 0.05
    assert turn < 0.01


def test_a_turned_map_gives_turned_answers():
    origin = Pose(3.0, -7.0, 2.2)
    world = building(origin)
    inside = Pose(5.2, 6.4, -1.9)
    answer = locate(build(world), look(world, origin @ inside))
    assert error(answer.best, origin @ inside)[0] < 0.05
    upright = locate(build(building()), look(building(), inside))
    turned = origin.rotation @ upright.best.covariance[:2, :2] @ origin.rotation.T
    np.testing.assert_allclose(answer.best.covariance[:2, :2], turned, rtol=0.3, atol=2e-5)


def test_the_same_bits_whatever_the_number_of_threads(atlas):
    scan = look(atlas.world, Pose(8.1, 1.4, 2.9))
    answers = []
    most = numba.config.NUMBA_NUM_THREADS
    for threads in (1, most):
        numba.set_num_threads(threads)
        answers.append(locate(atlas, scan))
    numba.set_num_threads(most)
    first, second = answers
    assert first.verdict == second.verdict
    assert len(first.estimates) == len(second.estimates)
    for a, b in zip(first.estimates, second.estimates, strict=True):
        assert a.pose == b.pose
        assert a.probability == b.probability
        assert (a.covariance == b.covariance).all()


def test_the_covariance_is_positive_and_wider_along_a_corridor():
    cells = np.full((60, 800), Cell.OCCUPIED, dtype=np.uint8)
    cells[10:50, 4:796] = Cell.FREE
    cells[10:14, 380:384] = Cell.OCCUPIED
    world = OccupancyMap(cells, 0.05)
    scan = look(world, Pose(12.0, 1.5, 0.0))
    near = Scan(scan.bearings, np.where(scan.ranges < 6.0, scan.ranges, 0.0))
    answer = locate(build(world), near)
    C = answer.best.covariance
    assert (np.linalg.eigvalsh(C) > 0.0).all()
    assert C[0, 0] > 10.0 * C[1, 1]
    assert answer.verdict is not Verdict.UNIQUE


def test_probabilities_fall_and_sum_to_at_most_one(atlas):
    answer = locate(atlas, look(atlas.world, Pose(3.9, 4.5, 0.2)))
    chances = [e.probability for e in answer.estimates]
    assert sum(chances) <= 1.0 + 1e-12
    assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}


def test_an_atlas_survives_its_arrays(atlas):
    copy = Atlas.from_arrays(atlas.meta(), atlas.arrays())
    scan = look(atlas.world, Pose(2.3, 2.4, 0.7))
    assert locate(copy, scan).best.pose == locate(atlas, scan).best.pose


def test_channels_that_look_into_unknown_space_are_far():
    cells = np.full((60, 80), Cell.UNKNOWN)
    cells[10:50, 10:50] = Cell.FREE
    cells[10:50, 9] = cells[9, 10:50] = cells[50, 10:50] = Cell.OCCUPIED
    open_to_the_right = build(OccupancyMap(cells, 0.1), spacing=0.5)
    middle = np.argmin(np.abs(open_to_the_right.nodes - [30, 30]).sum(axis=1))
    row, col = open_to_the_right.nodes[middle]
    described = open_to_the_right.descriptors[middle]
    assert described[0] == FAR
    assert described[32] == pytest.approx(np.log1p((col + 0.5 - 10) * 0.1), abs=0.02)
    assert described[16] == pytest.approx(np.log1p((50 - row - 0.5) * 0.1), abs=0.02)


def test_gaps_between_rays_are_bridged():
    cells = building().cells.copy()
    cells[40, 50:60] = Cell.UNKNOWN
    bridged = bridge_gaps(OccupancyMap(cells, 0.05))
    assert (bridged.cells[40, 50:60] == Cell.FREE).all()
    assert (bridged.cells[130:140, 200:210] == Cell.UNKNOWN).all()


def test_a_window_is_the_arc_that_the_scan_saw():
    scan = Scan(np.radians(np.arange(-45.0, 46.0)), np.full(91, 2.0))
    window = describe(scan, 64)
    assert 16 <= window.values.shape[1] <= 18
    np.testing.assert_allclose(window.values[window.seen], np.log(3.0), rtol=1e-6)


def test_blocks_average_their_beams():
    bearings = np.radians([0.0, 4.0, 8.0, 12.0, 35.0])
    blocks = average_blocks(np.array([[1.0, 2.0, 3.0, 5.0, 7.0]]), bearings)
    np.testing.assert_allclose(blocks, [[2.0, 5.0, 7.0]])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Region(polygon=[[0, 0], [1, 1]]), "`polygon` needs at least 3 corners, got 2."),
        (
            lambda: Region(centre=[0, 0], radius=0.0),
            "`radius` must be a positive length in m, got 0.0.",
        ),
        (lambda: Region(heading=np.nan), "`heading` must be an angle in rad, got nan."),
        (
            lambda: Region(heading=0.0, tolerance=-1.0),
            "`tolerance` must be a positive angle in rad, got -1.0.",
        ),
        (
            lambda: build(building(), spacing=-0.1),
            "`spacing` must be a positive length in m, got -0.1.",
        ),
        (
            lambda: build(OccupancyMap(np.zeros((1, 20), np.uint8), 0.05)),
            "A map to describe needs at least 2 × 2 cells, got (1, 20).",
        ),
        (
            lambda: build(OccupancyMap(np.zeros((20, 20), np.uint8), 0.05)),
            "The map has no wall that borders free space, so no scan can fit it.",
        ),
    ],
)
def test_bad_input_is_refused_in_words(make, text):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == text
