"""The dynamic half of the paper's system: ways, their Gramian, their bound, and where to go."""

import numpy as np
import pytest
from tests.support.angles import unit_vectors
from tests.support.command_line import run
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import Descriptor, Pose, Pose3, SpinningLidar, write_map
from isovist.paper import (
    Beams,
    EqualArea,
    MapField,
    PaperLocalizer,
    ScanTrajectory,
    drive_legs,
    field_of,
    locate_trajectory,
    paper_room,
    sensor_layer,
    try_legs,
    view_of,
)

pytestmark = pytest.mark.slow

PLAN = iv.SegmentMap.room(6.0, 1.6, pillars=[(4.8, 0.2, 5.2, 0.6)])
LEGS = (Pose(0.25, 0.0, 0.2), Pose(0.25, 0.05, 0.2), Pose(0.2, 0.0, -0.3), Pose(0.3, 0.0, 0.1))


def way_from(start, legs=LEGS):
    poses = [start]
    for leg in legs:
        poses.append(poses[-1] @ leg)
    return poses


def full_scan(world, pose, beams=720):
    bearings = 2.0 * np.pi * np.arange(beams) / beams
    ranges = world.cast(pose.position, unit_vectors(bearings + pose.yaw)).ranges
    return iv.Scan(bearings, ranges)


@pytest.mark.parametrize("mounted", [False, True])
def test_a_way_on_cells_is_found_and_its_gramian_grows(mounted):
    truth = way_from(PLANE.places[0])
    mount = PLANE.mount if mounted else None
    scans = [PLANE.look(pose, mount=mount, seed=k) for k, pose in enumerate(truth)]
    localizer = PaperLocalizer(PLANE.world, iv.DirectionalBasis.circle(24), iv.Range(20.0))
    odometry = [Pose(7.0, -3.0, 1.0) @ pose for pose in truth]
    way = locate_trajectory(localizer, scans, odometry)
    for pose, true in zip(way.poses, truth, strict=True):
        away, turn = gap(pose, true)
        assert away < 0.05
        assert turn < 0.02
    assert (np.diff(way.history.min_eigenvalues) >= -1e-9).all()
    assert way.history.min_eigenvalues[-1] > way.history.min_eigenvalues[0]
    assert [a.name for a in way.bound.assumptions] == ["T1", "T2", "T3", "T4", "T5", "way"]
    assert not way.bound.holds  # J is a difference quotient on cells


def test_a_way_in_space_is_found():
    truth = way_from(SPACE.places[0], [Pose3(0.3, 0.0, 0.3)])
    lidar = SpinningLidar(12, -0.6, 0.6, 80, 20.0, 0.01)
    scans = [lidar.scan(SPACE.world, p, np.random.default_rng(k)) for k, p in enumerate(truth)]
    localizer = PaperLocalizer(
        SPACE.world, iv.DirectionalBasis.fibonacci(32), iv.Range(20.0), spacing=0.9,
        region=sensor_layer(SPACE.world), view=view_of(scans[0]),
    )  # fmt: skip
    way = locate_trajectory(localizer, scans, truth)
    for pose, true in zip(way.poses, truth, strict=True):
        away, turn = gap(pose, true)
        assert away < 0.1
        assert turn < 0.04


def test_a_way_tells_apart_what_one_scan_cannot():
    """Two rooms alike but for a pillar that is seen only from farther on."""
    outline = [(0, 0), (9, 0), (9, 2), (0, 2)]
    world = iv.SegmentMap.from_polygons(
        [outline, [(0, 3), (9, 3), (9, 5), (0, 5)]], [[(8.6, 3.0), (9.0, 3.0), (9.0, 3.4)]]
    )
    truth = way_from(Pose(1.0, 4.0, 0.0), [Pose(1.2, 0.0, 0.0)] * 5)
    scans = [full_scan(world, pose, 360) for pose in truth]
    localizer = PaperLocalizer(world, iv.DirectionalBasis.circle(24), iv.Range(4.0), spacing=0.3)
    first = localizer.locate(scans[0])
    rival = first.nodes.alias_distance(1.5)
    assert rival < 1.01 * first.nodes.distances[0] + 1e-9
    way = locate_trajectory(localizer, scans, truth)
    assert gap(way.poses[-1], truth[-1])[0] < 0.02
    assert way.costs[1] > 1e-3 > 1e6 * way.costs[0]


def test_on_walls_the_way_is_exact_and_its_bound_is_not_exceeded():
    world = paper_room()
    truth = way_from(Pose(1.3, 1.7, 0.3))
    scans = [full_scan(world, pose) for pose in truth]
    localizer = PaperLocalizer(world, iv.DirectionalBasis.circle(12), spacing=0.1)
    way = locate_trajectory(localizer, scans, truth)
    assert gap(way.poses[0], truth[0])[0] < 2e-3
    assert {a.name: a.holds for a in way.bound.assumptions}["T3"]
    assert way.bound.bound == np.inf or gap(way.poses[0], truth[0])[0] <= way.bound.bound


def test_the_derivative_of_a_course_of_scans_is_that_of_its_sums():
    truth, descriptor = (
        way_from(PLANE.places[0]),
        Descriptor(iv.DirectionalBasis.circle(12), iv.Range(20.0)),
    )
    beams = [Beams.of(PLANE.look(pose, seed=k), [iv.Range(20.0)]) for k, pose in enumerate(truth)]
    motions = np.array([(truth[0].inverse @ pose).vector for pose in truth])
    trajectory = ScanTrajectory(PLANE.world, descriptor, beams, motions, np.ones(5))
    start, step = truth[0].vector, np.array([0.05, 0.0, 0.0])
    F, J = trajectory.at(start)
    assert (F.shape, J.shape) == ((5, 12), (5, 12, 3))
    ahead, back = (trajectory.at(start + s)[0] for s in (step, -step))
    np.testing.assert_allclose(J[..., 0], (ahead - back) / 0.1, atol=1e-9)


@pytest.mark.parametrize("space", [False, True])
def test_legs_are_tried_as_far_as_they_go_since_the_rate_does_not_know_directions(space):
    world = iv.MeshMap.extrude(PLAN, 0.0, 1.6) if space else PLAN
    basis = iv.DirectionalBasis.fibonacci(12) if space else iv.DirectionalBasis.circle(12)
    place = np.array([3.0, 0.8, 0.8][: world.dimension])
    descriptor = Descriptor(basis, quadrature=EqualArea(1500) if space else None)
    field = MapField(descriptor, world)
    J = field.at(place[None])[1][0]
    legs = try_legs(field, place, J.T @ J, length=0.6, count=16)
    # The weakest axis is along the corridor; the rate is one number for all directions.
    assert legs.rate == pytest.approx(legs.start_eigenvalue, rel=1e-6)
    tried = legs.min_eigenvalues >= 0.0
    assert np.ptp(legs.min_eigenvalues[tried]) > 0.02 * legs.start_eigenvalue
    # Towards the pillar there is more to learn than away from it.
    assert legs.best[0] > 0.3
    assert legs.min_eigenvalues.max() > legs.start_eigenvalue


def test_the_command_follows_a_log_with_the_method_of_the_paper(tmp_path):
    truth = way_from(PLANE.places[0], LEGS[:2])
    scans = [PLANE.look(pose, seed=k) for k, pose in enumerate(truth)]
    write_map(PLANE.world, tmp_path / "map.yaml")
    np.savez(
        tmp_path / "log.npz",
        ranges_m=np.stack([np.where(s.valid, s.ranges, np.inf) for s in scans]),
        angle_min=scans[0].bearings[0],
        angle_inc=np.diff(scans[0].bearings)[0],
        range_max=20.0,
        pose=np.stack([pose.vector for pose in truth]),
        odom=np.stack([pose.vector for pose in truth]),
        t=np.arange(3.0),
    )
    words = ("paper", "track", tmp_path / "map.yaml", tmp_path / "log.npz",
             "--channels", 24, "--norm", "truncated")  # fmt: skip
    line = run(*words, "--json")
    assert line.code == 1, line
    rows = line.rows
    assert len(rows) == 4
    assert [a["name"] for a in rows[-1]["assumptions"]] == ["T1", "T2", "T3", "T4", "T5", "way"]
    assert abs(rows[0]["x"] - truth[0].x) + abs(rows[0]["y"] - truth[0].y) < 0.1
    assert run(*words).out.count("\n") > 4


def corridor(space):
    world = iv.MeshMap.extrude(PLAN, 0.0, 1.6) if space else PLAN
    return field_of(world, 12), np.array([2.03, 0.77, 0.83][: world.dimension])


@pytest.mark.parametrize("space", [False, True])
def test_every_leg_is_the_best_one_of_its_place(space):
    field, start = corridor(space)
    drive = drive_legs(field, start, legs=2, length=0.6, count=6)
    assert drive.places.shape == (3, len(start))
    assert (np.diff(drive.min_eigenvalues) > 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(np.diff(drive.places, axis=0), axis=1), 0.6)
    J = field.at(start[None])[1][0]
    first = try_legs(field, start, J.T @ J, length=0.6, count=6)
    assert drive.min_eigenvalues[0] == pytest.approx(first.start_eigenvalue)
    assert drive.min_eigenvalues[1] == pytest.approx(first.min_eigenvalues.max())


def test_the_command_line_drives_and_says_where(tmp_path):
    path = tmp_path / "plan.geojson"
    write_map(PLAN, path)
    words = ("paper", "steer", path, 2.0, 0.8, "--legs", 2, "--length", 0.6)
    said = run(*words, "--json").json["places"]
    drive = drive_legs(field_of(PLAN), [2.0, 0.8], legs=2, length=0.6)
    assert [row["place"] for row in said] == drive.places.tolist()
    assert [row["lambda_min"] for row in said] == drive.min_eigenvalues.tolist()
    lines = run(*words).out.splitlines()
    assert lines[0] == f" start  (2.00, 0.80) m   λ_min {drive.min_eigenvalues[0]:.4g}"
    assert lines[2].startswith(" leg 2  (")


@pytest.mark.parametrize("site", [PLANE, SPACE], ids=["plane", "space"])
def test_on_cells_no_leg_comes_too_near_to_a_wall_for_differences(site):
    field = field_of(site.world, 8)
    step = field.descriptor.difference(site.world)
    assert step >= site.world.resolution
    start, along = np.asarray(site.places[0].position), np.eye(site.world.dimension)[:1]
    reach = float(site.world.cast(start, along).ranges[0])
    near = start + (reach - 0.6 * step) * along[0]
    assert site.world.contains(near)
    assert not field.is_free(near)
    assert field.is_free(start)
    drive = drive_legs(field, start, legs=1, length=0.6, count=6)
    assert field.is_free(drive.places).all()
