"""`isovist track` from map and log to JSON lines, trajectory and picture."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from isovist import IsovistError, OccupancyMap, Pose, write_map
from isovist.apps import app
from isovist.poses import unit_vectors
from isovist.simulation import office_floor

pytestmark = pytest.mark.slow

COUNT, PLACE = 24, Pose(0.15, 0.05, 0.1)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a map, and a drive of 24 scans whose odometry drifts."""
    folder = tmp_path_factory.mktemp("site")
    floor = office_floor(2, length=15.0, rows=2).plan
    world = OccupancyMap.from_segments(floor.walls.reshape(-1, 2, 2), 0.05)
    write_map(world, folder / "map.yaml")
    rng = np.random.default_rng(3)
    bearings = np.deg2rad(np.arange(-180.0, 180.0, 2.0))
    pose, odometry = Pose(3.0, 2.0, 0.0), Pose(-7.0, 4.0, 1.0)
    rows = []
    for k in range(COUNT):
        sensor = pose @ PLACE
        hits = floor.cast([sensor.x, sensor.y], unit_vectors(bearings + sensor.yaw))
        ranges = hits.ranges + rng.normal(0.0, 0.01, bearings.size)
        rows.append((ranges, sensor.vector, odometry.vector, 50.0 + 0.1 * k))
        step = Pose(0.04, 0.0, 0.2 if k < 12 else -0.1)
        pose = pose @ step
        odometry = odometry @ Pose(1.03 * step.x, 0.0, 1.02 * step.yaw)
    ranges, poses, odometries, times = (np.array(column) for column in zip(*rows, strict=True))
    np.savez(
        folder / "scans.npz", ranges_m=ranges, pose=poses, odom=odometries, t=times,
        angle_min=bearings[0], angle_inc=math.radians(2.0), range_max=30.0,
        in_map_split=np.arange(COUNT) % 2 == 0,
    )  # fmt: skip
    return folder


def run(site, *options):
    """The verb on that site, with the right place of the sensor."""
    place = [str(value) for value in PLACE.vector]
    files = [str(site / "map.yaml"), str(site / "scans.npz")]
    return CliRunner().invoke(app, ["track", *files, "--sensor", *place, *map(str, options)])


def test_every_update_is_one_line_of_json(site, tmp_path):
    tum, figure = tmp_path / "way.tum", tmp_path / "way.png"
    result = run(site, "--json", "--tum", tum, "--figure", figure)
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(reports) == COUNT
    unique = [report for report in reports if report["verdict"] == "unique"]
    assert reports[-1]["verdict"] == "unique", result.output
    assert result.exit_code == 0
    assert max(report["error_m"] for report in unique) < 0.15
    assert max(report["error_deg"] for report in unique) < 2.0
    assert math.isclose(reports[-1]["travelled_m"], 23 * 1.03 * 0.04, rel_tol=1e-6)
    rows = np.loadtxt(tum)
    assert rows[:, 0].tolist() == [report["time"] for report in unique]
    best = [report["estimates"][0] for report in unique]
    assert np.allclose(rows[:, 1:3], [[e["x"], e["y"]] for e in best], atol=1e-5)
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_the_end_is_said_in_words(site):
    result = run(site, "--held-out")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("unique at the end: ")
    assert "  frame: robot" in lines
    assert lines[3].startswith("  12 updates over 0.9 m, median ")
    assert "  sensor on the robot: x 0.150 m, y 0.050 m, yaw 5.73°" in lines


def test_some_scans_are_enough(site):
    result = run(site, "--start", 4, "--stop", 20, "--every", 5, "--json")
    times = [json.loads(line)["time"] for line in result.stdout.splitlines()]
    assert np.allclose(times, [50.4, 50.9, 51.4, 51.9])


def test_a_robot_elsewhere_is_not_unique_at_the_end(site, tmp_path):
    """A round room that is nowhere on the map."""
    with np.load(site / "scans.npz") as arrays:
        changed = dict(arrays)
    changed["ranges_m"] = np.full_like(changed["ranges_m"], 0.9)
    np.savez(tmp_path / "scans.npz", **changed)
    files = [str(site / "map.yaml"), str(tmp_path / "scans.npz")]
    result = CliRunner().invoke(app, ["track", *files, "--stop", "3", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout.splitlines()[-1])["verdict"] != "unique"


def test_bad_input_is_an_error_before_the_work_begins(site, tmp_path):
    picture, gone = tmp_path / "way.doc", tmp_path / "gone.bag"
    cases = [
        (run(site, "--figure", picture), f"{picture}: a picture must end in .png, .pdf or .svg."),
        (run(site, "--every", 0), "`--every` must be 1 or more, got 0."),
        (
            CliRunner().invoke(app, ["track", str(site / "map.yaml"), str(gone)]),
            f"{gone}: there is no such file.",
        ),
    ]
    for result, text in cases:
        assert isinstance(result.exception, IsovistError)
        assert str(result.exception) == text
        assert result.stdout == ""


def test_a_closed_pipe_ends_quietly(site):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "isovist", "track", "--json"]
    files = [str(site / "map.yaml"), str(site / "scans.npz")]
    with os.fdopen(writer) as closed:
        result = subprocess.run(
            [*command, *files], stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.stderr == ""
    assert result.returncode == 1
