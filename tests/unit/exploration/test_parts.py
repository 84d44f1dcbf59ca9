"""Ways and what would be seen from them, against slow twins."""

import numpy as np
import pytest
from tests.support import reference_explore as twin
from tests.support.reference_explore import LIDAR, START, hall_atlas, walled

from isovist import BeamModel, ExplorationSettings, Lidar, OccupancyMap, Pose, Scan, build
from isovist.exploration import Foresight, Ground, clear_ahead, predict

SETTINGS = ExplorationSettings()
STEP, BLUR = SETTINGS.paths.step_m, SETTINGS.foresight.sigma_m
RADIUS, TIGHT = SETTINGS.robot.radius_m, SETTINGS.robot.driving_clearance_m


@pytest.mark.slow
def test_ways_are_the_shortest_of_the_lattice():
    cells = walled(100, 120)
    cells[:70, 60] = 1
    ground = Ground.from_atlas(build(OccupancyMap(cells, 0.05)))
    pose = Pose(1.5, 1.0, 0.7)
    scan = LIDAR.scan(ground.world, pose, np.random.default_rng(0))
    ways = ground.paths(pose, scan, 9.0)
    grid, free, middle = ground._lattice(pose, scan, 9.0)

    def joined(a: tuple[int, int], b: tuple[int, int]) -> bool:
        half = 0.5 * (grid[a] + grid[b])
        return bool(ground.clearance(half) >= RADIUS - 0.5 * STEP)

    far = twin.shortest(free, joined, divmod(middle, free.shape[1]), 9.0, STEP).ravel()
    assert len(ways.poses) > 20
    np.testing.assert_allclose(ways.distances, far[ways.ends], atol=1e-9)
    # Behind the wall the way is much longer than the straight line.
    assert (ways.distances / np.maximum(np.hypot(*ways.poses[:, :2].T), 1.0)).max() > 1.8


@pytest.mark.slow
def test_views_hang_together_and_their_ways_are_clear():
    odd = hall_atlas(odd=True)
    ground = Ground.from_atlas(odd)
    scan = LIDAR.scan(odd.world, START, np.random.default_rng(0))
    ways = ground.paths(START, scan, 6.0)
    assert ways.distances[0] == 0.0
    assert (ways.parents[1:] < np.arange(1, len(ways.parents))).all()
    steps = (ways.distances - ways.distances[ways.parents])[1:]
    assert steps.min() > 0.0
    assert steps.max() < 1.0 + 2.0 * STEP
    for view in range(1, len(ways.poses)):
        chain = ways.path_to(view)
        straight = ground.straighten(START, chain)
        assert np.array_equal(chain[0], [0.0, 0.0])
        np.testing.assert_array_equal(straight[[0, -1]], chain[[0, -1]])
        np.testing.assert_allclose(chain[-1], ways.poses[view, :2])
        world = START.apply(straight)
        assert ground.fits(world[:-1], world[1:], 0.5 * RADIUS).all()
        length = np.hypot(*np.diff(straight, axis=0).T).sum()
        assert length <= ways.distances[view] + STEP


def test_what_the_scan_sees_is_in_the_way_though_the_map_lacks_it():
    ground = Ground.from_atlas(build(OccupancyMap(walled(80, 80), 0.05)))
    bearings = np.radians(np.arange(-60.0, 61.0))
    scan = Scan(bearings, np.full(bearings.size, 0.8))
    ways = ground.paths(Pose(1.0, 2.0, 0.0), scan, 5.0)
    x, y, _ = ways.poses.T
    behind = (x > 0.9) & (np.abs(y) < 0.8 * x)
    assert behind.any()
    assert (ways.distances[behind] > np.hypot(x, y)[behind] + 0.3).all()
    assert clear_ahead(scan, 0.0, TIGHT, 3.0) == pytest.approx(0.6, abs=1e-3)


@pytest.mark.slow
def test_the_room_ahead_is_that_of_a_disc_pushed_on():
    rng = np.random.default_rng(4)
    bearings = np.sort(rng.uniform(-np.pi, np.pi, 40))
    scan = Scan(bearings, rng.uniform(0.5, 3.0, 40))
    for heading in (-2.0, 0.3, 1.1):
        slow = twin.room_ahead(scan.endpoints, heading, TIGHT, 2.5)
        assert clear_ahead(scan, heading, TIGHT, 2.5) == pytest.approx(slow, abs=2e-4)


def test_predicted_ranges_are_what_a_lidar_without_noise_sees():
    odd = hall_atlas(odd=True)
    lidar = Lidar(beams=60, range_max=3.0, noise=0.0)
    scan = lidar.scan(odd.world, START, np.random.default_rng(0))
    ranges = predict(odd.world, START, scan.bearings, 3.0)
    np.testing.assert_array_equal(np.isfinite(ranges), scan.valid)
    np.testing.assert_allclose(ranges[scan.valid], scan.ranges[scan.valid], atol=1e-9)


def test_separation_agrees_with_its_slow_twin():
    odd = hall_atlas(odd=True)
    places = [START, Pose(5.0, 4.2, -1.0), Pose(7.1, 3.0, 2.9), Pose(0.1, 0.1, 0.0)]
    bearings = np.radians(np.arange(-170.0, 180.0, 20.0))
    poses = Pose.from_vector([[p.vector for p in places]])
    foresight = Foresight(Ground.from_atlas(odd), bearings, 3.0)
    delta, seen = foresight.separate(poses, BeamModel())
    z = foresight.ranges(poses)[0]
    np.testing.assert_array_equal(seen[0], np.isfinite(z) & (z > 0.0))
    assert seen[0].any()
    assert not seen[0].all()
    slow = twin.separated(odd, places, bearings, z, BLUR)
    np.testing.assert_allclose(delta[0], slow, atol=2e-3)


def test_places_half_a_turn_apart_are_not_separated_by_anything():
    twofold = hall_atlas(odd=False)
    middle = twofold.world.origin.apply(0.5 * np.array(twofold.world.shape[::-1]) * 0.05)
    pose = Pose(2.2, 3.6, 0.4)
    other = Pose(*(2.0 * middle - pose.position), pose.yaw + np.pi)
    poses = Pose.from_vector([[pose.vector, other.vector]])
    foresight = Foresight(Ground.from_atlas(twofold), np.arange(-3.0, 3.0, 0.1), 8.0)
    delta, _ = foresight.separate(poses, BeamModel())
    assert np.abs(delta).max() < 0.5


def test_a_corridor_gives_no_information_along_itself():
    world = OccupancyMap(walled(40, 600), 0.05)
    poses, bearings = Pose([15.0, 28.0], 1.0, 0.3), np.arange(0.05, 6.28, 0.1)
    foresight = Foresight(Ground.from_atlas(build(world)), bearings, 5.0)
    H, near = foresight.information(poses, 0.055)
    np.testing.assert_allclose(H, H.T)
    assert H[0, 0] < 1e-9 * H[1, 1]
    assert near[0, 0] > 0.01 * near[1, 1]
