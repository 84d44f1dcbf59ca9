"""`isovist track`, and `locate` of several scans: from map and log to lines, files and pictures."""

import csv
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from tests.support.bag_writer import cloud, link, odometry, quaternion, scan, write_bag
from tests.support.cloud_writer import laid_out
from tests.support.command_line import one_line, pose_in, run
from tests.support.drives import noisy, way
from tests.support.lift import LIDAR, LIFT, ON, ON_2, THERE, floors, up
from tests.support.reports import believed
from tests.support.sites import PLANE, SITES, gap

import isovist as iv

pytestmark = pytest.mark.slow

POSES = {"plane": way("plane", step=0.25)[:20], "space": way("space", step=0.25)[:10]}
MOUNTS = {"plane": iv.Pose(0.15, 0.05, 0.1), "space": iv.Pose3(0.1, 0.0, 0.2, 0.3)}
SENSOR = ("--sensor", *MOUNTS["plane"].vector)


def write_scans(path, scans, poses, odometries, times, **more):
    """A log of scans of the plane; the poses are those of the sensor."""
    np.savez(
        path, ranges_m=[np.where(s.valid, s.ranges, np.inf) for s in scans],
        pose=[pose.vector for pose in poses], odom=[pose.vector for pose in odometries], t=times,
        angle_min=scans[0].bearings[0], angle_inc=float(np.diff(scans[0].bearings).mean()),
        range_max=20.0, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Maps of both sites, and logs of a drive through each: scans, bags and a folder of KITTI."""
    home, random = tmp_path_factory.mktemp("drives"), np.random.default_rng(3)
    for name, site in SITES.items():
        iv.write_atlas(site.atlas, home / f"{name}.atlas")
    mount, poses, odometries = MOUNTS["plane"], POSES["plane"], [iv.Pose(-7.0, 4.0, 1.0)]
    for a, b in pairwise(poses):
        odometries.append(odometries[-1] @ noisy(a.inverse @ b, random))
    seen = [PLANE.look(pose, mount=mount, seed=k) for k, pose in enumerate(poses)]
    write_scans(
        home / "scans.npz", seen, [pose @ mount for pose in poses], odometries,
        50.0 + 0.1 * np.arange(len(poses)), in_map_split=np.arange(len(poses)) % 2 == 0,
    )  # fmt: skip
    mount, poses, start = MOUNTS["space"], POSES["space"], iv.Pose3(2.0, 1.0, 0.5)
    sits = link(0.0, "base", "lidar", mount.position, mount.quaternion, topic="/tf_static")
    clouds, moves, kitti = [], [], home / "00"
    (kitti / "velodyne").mkdir(parents=True)
    for k, pose in enumerate(poses):
        points = SITES["space"].look(pose, mount=mount, seed=k).points
        columns = dict(zip("xyz", points.T, strict=True)) | {"time": np.zeros(len(points))}
        clouds.append(laid_out(10.0 + 0.1 * k, columns, "velodyne"))
        at = start @ pose
        turn = quaternion(at.roll, at.pitch, at.yaw)
        topic, kind, time, said = odometry(10.0 + 0.1 * k, (at.x, at.y, at.yaw), turn=turn)
        moves.append((topic, kind, time, said | {"at": at.position}))
        rows = np.column_stack([points, np.zeros(len(points))]).astype("<f4")
        (kitti / "velodyne" / f"{k:06}.bin").write_bytes(rows.tobytes())
    write_bag(home, [sits, *moves, *clouds], "mcap", "run")
    write_bag(home, [sits, *clouds], "mcap", "blind")
    np.savetxt(kitti / "times.txt", 0.1 * np.arange(len(poses)))
    sensors = [pose @ mount for pose in poses]
    np.savetxt(kitti / "poses.txt", [np.column_stack([p.rotation, p.position]).ravel()
                                     for p in sensors])  # fmt: skip
    return home


@pytest.mark.parametrize(
    ("name", "log", "more"),
    [("plane", "scans.npz", SENSOR), ("space", "run", ()), ("space", "blind", ())],
)
def test_a_log_is_followed_to_lines_a_file_and_a_picture(home, tmp_path, name, log, more):
    tum, figure, poses = tmp_path / "way.tum", tmp_path / "way.png", POSES[name]
    files = ("--tum", tum, "--figure", figure)
    told = run("track", home / f"{name}.atlas", home / log, "--json", *files, *more)
    assert told.code == 0, told
    rows, unique = told.rows, [row for row in told.rows if row["verdict"] == "unique"]
    assert (len(rows), rows[-1]) == (len(poses), unique[-1])
    assert rows[-1]["frame"] == ("robot" if name == "plane" else "base")
    for row, truth in zip(rows[1:], poses[1:], strict=True):
        best = pose_in(row["estimates"][0])
        assert np.hypot(best.x - truth.x, best.y - truth.y) < 0.1
        assert gap(best, truth)[1] < 0.05
        # Rings of ±15° hardly see floor or ceiling.
        assert name == "plane" or abs(best.z - truth.z) < 0.3
        assert np.shape(row["estimates"][0]["covariance"]) == 2 * (3 if name == "plane" else 4,)
        assert row["lambda_min"] > 0.0
    written = np.loadtxt(tum)
    np.testing.assert_allclose(written[:, 0], [row["time"] for row in unique])
    at = [pose_in(row["estimates"][0]).position for row in unique]
    np.testing.assert_allclose(written[:, 1 : 1 + len(at[0])], at, atol=1e-5)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert figure.stat().st_size > 10_000


def test_lines_are_what_a_tracker_believes(home):
    told = run("track", home / "plane.atlas", home / "scans.npz", "--json", *SENSOR)
    log = iv.read_log(home / "scans.npz", T_robot_sensor=MOUNTS["plane"])
    tracker = iv.Tracker(PLANE.atlas)
    for k, row in enumerate(told.rows):
        at, time = iv.Pose(*log.odometry[k]), float(log.times[k])
        belief = believed(k, at, tracker.update(at, log.scan(k), time=time), time)
        assert belief.items() <= row.items()
    assert max(row["error_m"] for row in told.rows if row["verdict"] == "unique") < 0.15
    assert max(row["error_deg"] for row in told.rows if row["verdict"] == "unique") < 2.0


def test_some_scans_are_enough(home):
    words = ("track", home / "plane.atlas", home / "scans.npz", *SENSOR)
    some = run(*words, "--start", 4, "--stop", 20, "--every", 5, "--json").rows
    np.testing.assert_allclose([row["time"] for row in some], [50.4, 50.9, 51.4, 51.9])
    half = run(*words, "--held-out")
    assert half.code == 0
    for part in ("unique at the end", "frame: robot", " 10 updates over 4.", "x 0.150 m, y 0.050"):
        assert part in half.out


def test_a_folder_of_kitti_is_compared_with_its_truth(home):
    words = ("track", home / "space.atlas", home / "00")
    told = run(*words, "--json", "--every", 2)
    assert told.code == 0, told
    assert len(told.rows) == len(POSES["space"]) // 2
    assert all(row["error_m"] < 0.15 and row["error_deg"] < 3.0 for row in told.rows)
    mount = MOUNTS["space"]
    shown = run(*words, "--sensor", mount.x, mount.y, mount.yaw)
    assert shown.code == 0, shown
    for part in ("x 0.100 m, y 0.000 m, z 0.000 m, yaw 11.46°", "median 0.0", "0 of 10 off"):
        assert part in shown.out


def test_a_robot_elsewhere_is_not_unique_at_the_end(home, tmp_path):
    """A round room that is nowhere on the map."""
    with np.load(home / "scans.npz") as arrays:
        changed = {**arrays, "ranges_m": np.full_like(arrays["ranges_m"], 0.9)}
    np.savez(tmp_path / "scans.npz", **changed)
    told = run("track", home / "plane.atlas", tmp_path / "scans.npz", "--stop", 3, "--json")
    assert told.code == 1
    assert told.rows[-1]["verdict"] != "unique"


def test_a_closed_pipe_ends_quietly(home):
    reader, writer = os.pipe()
    os.close(reader)
    words = ("track", "--json", str(home / "plane.atlas"), str(home / "scans.npz"))
    command = [sys.executable, "-m", "isovist", *words]
    with os.fdopen(writer) as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "")


def test_the_last_scans_of_a_log_are_located_as_one(home, tmp_path):
    words = ("locate", home / "plane.atlas", home / "scans.npz", *SENSOR, "--scans")
    picture = tmp_path / "answer.png"
    told = run(*words, 3, "--min-distance", 0.6, "--json", "--why", "--figure", picture)
    assert (told.code, told.json["verdict"], told.json["frame"]) == (0, "unique", "robot")
    assert gap(told.pose, POSES["plane"][-1])[0] < 0.1
    assert picture.stat().st_size > 10_000
    earlier = run(*words, 2, "--min-distance", 0.3, "--at", 0.4, "--json")
    assert gap(earlier.pose, POSES["plane"][4])[0] < 0.1
    for value, code in ((9, "too_large"), (-1, "invalid_value"), ("nan", "invalid_value")):
        assert one_line(*words, 4, "--min-distance", value).reason == code


def test_scans_of_a_log_are_as_far_apart_as_asked(home):
    log = iv.read_log(home / "scans.npz")
    scans, motions = log.until(None, 3, 0.5)
    assert (len(scans), len(motions)) == (3, 2)
    steps = np.linalg.norm([motion.position for motion in motions], axis=1)
    assert ((steps >= 0.5) & (steps < 0.8)).all()  # 0.25 m are between two scans
    np.testing.assert_array_equal(scans[-1].ranges, log.scan(len(log) - 1).ranges)
    assert log.until(0.0, 1, 0.5)[1] == []


def test_what_does_not_fit_together_is_one_line(home, tmp_path):
    flat = write_bag(tmp_path, [link(0.0, "base", "laser"), scan(10.0), odometry(9.0, (0, 0, 0)),
                                odometry(11.0, (0, 0, 0))], name="flat")  # fmt: skip
    empty = write_bag(tmp_path, [cloud(1.0, np.full((60, 3), np.nan))], name="empty")
    plane, space = home / "plane.atlas", home / "space.atlas"
    for words, code, named in (
        ((space, flat), "wrong_dimension", "3D"),
        ((plane, home / "00"), "wrong_dimension", "2D"),
        ((space, home / "00", "--sweep", 0.1), "wrong_dimension", "--sweep"),
        ((space, home / "00", "--prefix", "a"), "conflict", "--prefix"),
        ((space, home / "run", "--scan-topic", "/lidar"), "invalid_value", "/points"),
        ((space, home / "run", "--height", 1), "conflict", "--height"),
        ((space, empty), "empty", "empty.bag"),
        ((plane, home / "gone.bag"), "not_found", "gone.bag"),
    ):
        line = one_line("track", *words)
        assert (line.reason, line.out) == (code, "")
        assert named in line.err


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("a: [1, 2, 3]", "unknown_format", "entries"),
        ("- {a: [1, 2, 3]}", "invalid_file", "entry 1"),
        ("- {a: [1, 2, 3], b: [1, 2, 3]}\n- {a: [1, 2, 3], b: [1, 2]}", "invalid_file", "entry 2"),
        ("- {a: [1, 2, 3], b: [1, 2, .nan]}", "invalid_file", "'b'"),
        ("- [\n", "unknown_format", "line 2"),
    ],
)
def test_what_is_no_file_of_links_is_one_line(home, tmp_path, text, code, named):
    path = tmp_path / "links.yaml"
    path.write_text(text)
    line = one_line("track", home / "plane.atlas", home / "scans.npz", "--links", path)
    assert line.reason == code
    assert "links.yaml" in line.err
    assert named in line.err


@pytest.fixture(scope="module")
def storeys(tmp_path_factory):
    """Two floors, a file of their lift, and a log of a robot that rides it, with a mount."""
    home, mount = tmp_path_factory.mktemp("floors"), iv.Pose(0.9, 0.3, 2.0)
    (home / "site").mkdir()
    for name, atlas in floors().items():
        iv.write_atlas(atlas, home / "site" / f"{name.replace(' ', '')}.atlas")
    lift = f"- floor1: {LIFT.vector.tolist()}\n  floor2: {ON_2.vector.tolist()}\n"
    (home / "links.yaml").write_text(f"# the lift\n{lift}")
    random, at, odometries, seen = np.random.default_rng(4), iv.Pose(5.0, 1.0, 0.3), [], []
    ride = [("floor 1", pose) for pose in THERE] + [("floor 2", pose) for pose in up(ON[1:12])]
    for (before, last), (name, pose) in pairwise([ride[0], *ride]):
        at = at @ (last.inverse @ pose if before == name else THERE[-1].inverse @ ON[1])
        odometries.append(at)
        seen.append(LIDAR.scan(floors()[name].world, pose @ mount, random))
    times, poses = 50.0 + 0.5 * np.arange(len(ride)), [pose for _, pose in ride]
    write_scans(home / "run.npz", seen, poses, odometries, times)
    return home, poses, ("--sensor", *mount.vector)


def test_a_log_on_two_floors_names_the_map_of_each_update(storeys, tmp_path):
    """The robot is near the end of a link, whose sensor is not."""
    home, poses, sensor = storeys
    rows, picture = tmp_path / "way.csv", tmp_path / "way.png"
    maps = [home / "site" / f"floor{k}.atlas" for k in (1, 2)]
    files = ("--csv", rows, "--figure", picture, "--json")
    line = run("track", *maps, home / "run.npz", "--links", home / "links.yaml", *files, *sensor)
    told = line.rows
    assert (line.code, len(told)) == (0, len(poses))
    for k, (row, truth) in enumerate(zip(told, poses, strict=True)):
        if row["verdict"] == "unique":
            assert row["map"] == row["estimates"][0]["map"] == f"floor{1 + (k >= len(THERE))}"
            assert gap(pose_in(row["estimates"][0]), truth)[0] < 0.3
    assert {row["map"] for row in told if row["verdict"] == "unique"} == {"floor1", "floor2"}
    assert (told[-1]["verdict"], told[-1]["map"]) == ("unique", "floor2")
    assert "error_m" not in told[-1]
    table = list(csv.DictReader(rows.read_text().splitlines()))
    for name in ("verdict", "map"):
        assert [row[name] for row in table] == [row[name] for row in told]
    best = told[-1]["estimates"][0]
    for name in ("x", "y", "yaw", "probability"):
        assert float(table[-1][name]) == pytest.approx(best[name], abs=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_folder_of_atlases_is_a_library(storeys):
    home, _, sensor = storeys
    line = run("track", home / "site", home / "run.npz", "--stop", 12, *sensor)
    assert (line.code, line.out.split(":")[0]) == (0, "unique at the end")
    assert "  floor1:  x " in line.out
