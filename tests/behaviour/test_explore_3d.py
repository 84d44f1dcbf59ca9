"""Drives until the robot knows where it is, in the plane and on the floor of a map in space."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_explore import LIDAR, START, hall_atlas
from tests.support.reference_space import house, house_atlas
from tests.support.reference_survey import raised
from typer.testing import CliRunner

from isovist import CloudScan, InputError, Pose3, SpinningLidar, Tracker, VoxelMap, build
from isovist.apps import app
from isovist.exploration import BEARINGS, Ground, Rule
from isovist.exploration.propose import propose
from isovist.maps import Cell
from isovist.report import draw_run, run_json, run_text
from isovist.simulation import explore, lost_start, twofold_hall

pytestmark = pytest.mark.slow

SPUN = SpinningLidar(8, azimuths=180, range_max=3.0, noise=0.02)
KINDS = ("plane", "space")


@pytest.fixture(scope="module")
def halls():
    """Atlases of a hall that is the same after half a turn, and with one crate that is not."""
    raise_ = lambda odd: build(raised(twofold_hall(9.0, 6.0, odd=odd)))  # noqa: E731
    return {
        "plane": {odd: hall_atlas(odd) for odd in (True, False)},
        "space": {odd: raise_(odd) for odd in (True, False)},
    }


def sensor(kind):
    return LIDAR if kind == "plane" else SPUN


@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_robot_drives_to_where_the_places_differ(halls, kind):
    atlas = halls[kind][True]
    ground = Ground.from_atlas(atlas)
    run = explore(atlas, START, sensor(kind), seed=3, limit=15.0, ground=ground)
    assert run.unique
    assert run.right
    assert 0.0 < run.distance < 10.0
    assert run.steps[0].belief.verdict == "ambiguous"
    assert run.proposals[0].text.endswith("it would tell 1 of 1 other place apart.")
    assert run_text(run).endswith("The answer is right.")
    plain = json.loads(json.dumps(run_json(run)))
    assert ("z" in plain["steps"][0]["estimates"][0]) == (kind == "space")
    figure = draw_run(ground.world, run)
    figure.draw_without_rendering()


def test_a_twofold_hall_stays_ambiguous_however_one_drives(halls):
    """In space; `test_explore` drives the same way in the plane, and farther."""
    for rule in Rule:
        run = explore(halls["space"][False], START, SPUN, rule, seed=1, limit=1.2)
        assert not run.unique
        assert not run.right


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_to_get_lost_at_is_ambiguous_and_has_room(halls, kind):
    atlas = halls[kind][True]
    start, seed = lost_start(atlas, sensor(kind), 2)
    assert Ground.from_atlas(atlas).clearance(start.position) >= 0.15
    run = explore(atlas, start, sensor(kind), "random", seed=seed, limit=0.3)
    assert run.steps[0].belief.verdict == "ambiguous"


def test_the_same_hall_gives_the_same_ground(halls):
    flat, tall = (Ground.from_atlas(halls[kind][True]) for kind in KINDS)
    assert flat.level is None
    assert tall.level.height == 1.0
    places = np.random.default_rng(0).uniform([1.0, 1.0], [8.0, 5.0], (200, 2))
    np.testing.assert_allclose(tall.clearance(places), flat.clearance(places), atol=0.2)
    assert tall.level.stand(START) == Pose3(START.x, START.y, START.yaw, 1.1)


def table(height):
    """A room of 6 × 4 m in which something of this height stands on the floor."""
    cells = np.zeros((26, 40, 60), dtype=np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = Cell.OCCUPIED
    cells[1 : 1 + round(10 * height), 15:25, 25:35] = Cell.OCCUPIED
    return build(VoxelMap.from_array(cells, 0.1), height=1.0)


@pytest.mark.parametrize(
    ("height", "blocked", "seen"), [(0.1, False, False), (0.5, True, False), (1.8, True, True)]
)
def test_what_is_lower_than_the_sensor_stands_in_the_way_and_is_no_wall(height, blocked, seen):
    ground = Ground.from_atlas(table(height))
    middle = np.array([3.0, 2.0])
    assert (ground.clearance(middle) < 0.0) == blocked
    assert (ground.plane.world.cells[20, 30] == Cell.OCCUPIED) == seen
    hits = ground.walls.cast([1.0, 2.0], [1.0, 0.0])
    assert hits.ranges == pytest.approx(1.5 if seen else 4.9)


def test_the_level_of_a_cloud_has_the_nearest_returns_between_curb_and_sensor():
    ground = Ground.from_atlas(house_atlas())
    points = np.array([[2.0, 0.0, -0.1], [1.0, 0.0, -0.95], [3.0, 0.0, 0.0], [0.0, 1.5, 0.9]])
    filler = np.tile([[-4.0, 0.01, 0.0]], (60, 1))
    mount = Pose3(0.2, 0.1, np.pi / 2, 0.4)
    scan = ground.seen(CloudScan(np.vstack([points, filler]), T_robot_sensor=mount))
    assert len(scan.bearings) == BEARINGS
    assert scan.valid.sum() == 2
    ends = scan.T_robot_sensor.apply(scan.endpoints)
    np.testing.assert_allclose(ends[np.argmax(ends[:, 1])], [0.2, 2.1], atol=0.02)
    nearest = scan.ranges[scan.valid]
    np.testing.assert_allclose(np.sort(nearest), [2.0, 4.0], atol=1e-3)
    whole = ground.seen(SPUN.scan(house(), Pose3(5.0, 0.0, 0.7, 1.5), np.random.default_rng(0)))
    assert ground.seen(whole) is whole


def test_what_has_no_plane_of_motion_is_refused(halls):
    drone = build(house(), height=(0.8, 1.4))
    with pytest.raises(InputError) as caught:
        Ground.from_atlas(drone)
    assert str(caught.value) == (
        "Drives are planned at one height of the sensor, got 0.8 to 1.4 m: a drone flies in no "
        "plane."
    )
    atlas = halls["space"][True]
    level = Ground.from_atlas(atlas).level
    scan = SPUN.scan(level.walls, level.stand(START), np.random.default_rng(0))
    tracker = Tracker(atlas)
    tracker.update(Pose3(), scan)
    with pytest.raises(InputError) as caught:
        propose(tracker, Ground.from_atlas(halls["plane"][True]), scan)
    assert str(caught.value) == "The scan is in space, and the ground is of a map of the plane."


def test_the_command_drives_on_a_map_in_space(halls, tmp_path):
    world = replace(halls["space"][True].world)
    points = world.centres(np.flatnonzero(world.cells.ravel() == Cell.OCCUPIED))
    rows = np.c_[np.repeat(points, 3, axis=0), np.zeros(3 * len(points))]
    (tmp_path / "hall.bin").write_bytes(rows.astype("<f4").tobytes())
    words = ["explore", str(tmp_path / "hall.bin"), "--range-max", "3", "--rings", "8", "--json"]
    result = CliRunner().invoke(app, [*words, "--seed", "3", "--limit", "3", "--height", "1"])
    assert result.exit_code in (0, 1), repr(result.exception)
    told = json.loads(result.stdout)
    assert told["rule"] == "rivals"
    assert told["steps"][0]["verdict"] == "ambiguous"
    assert told["right"] == told["unique"]
