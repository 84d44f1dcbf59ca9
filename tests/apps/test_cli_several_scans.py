"""`isovist locate MAP LOG --scans 3`: scans of a log, joined by its odometry."""

import json
import math

import numpy as np
import pytest
from tests.support.sites import PLANE
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError, write_map
from isovist.apps import app

pytestmark = pytest.mark.slow

STEP = iv.Pose(0.2, 0.0, 0.03)
COUNT = 8


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A map, and a log of a robot that drives a bow and sees at 10 Hz."""
    folder = tmp_path_factory.mktemp("several")
    write_map(PLANE.world, folder / "map.yaml")
    poses, odometry = [iv.Pose(1.0, 4.4, 0.0)], [iv.Pose(5.0, -3.0, 1.0)]
    for _ in range(COUNT - 1):
        poses.append(poses[-1] @ STEP)
        odometry.append(odometry[-1] @ STEP)
    seen = [PLANE.look(pose, seed=k) for k, pose in enumerate(poses)]
    np.savez(
        folder / "scans.npz",
        ranges_m=np.stack([np.where(s.valid, s.ranges, np.inf) for s in seen]),
        pose=np.stack([pose.vector for pose in poses]),
        odom=np.stack([pose.vector for pose in odometry]),
        t=100.0 + 0.1 * np.arange(COUNT),
        angle_min=seen[0].bearings[0],
        angle_inc=float(np.diff(seen[0].bearings).mean()),
        range_max=20.0,
    )
    return folder, poses


def locate(site, *options):
    files = [str(site[0] / "map.yaml"), str(site[0] / "scans.npz")]
    return CliRunner().invoke(app, ["locate", *files, *map(str, options)])


def test_the_last_scans_of_a_log_are_located_as_one(site, tmp_path):
    picture = tmp_path / "answer.png"
    result = locate(site, "--scans", 3, "--apart", 0.3, "--json", "--why", "--figure", picture)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["verdict"] == "unique"
    best, truth = answer["estimates"][0], site[1][-1]
    assert math.hypot(best["x"] - truth.x, best["y"] - truth.y) < 0.1
    assert answer["frame"] == "robot"
    assert picture.stat().st_size > 10_000


def test_at_names_the_last_of_them(site):
    result = locate(site, "--scans", 2, "--apart", 0.3, "--at", 0.4, "--json")
    best, truth = json.loads(result.stdout)["estimates"][0], site[1][4]
    assert math.hypot(best["x"] - truth.x, best["y"] - truth.y) < 0.1


def test_a_log_that_is_too_short_is_said_in_one_line(site):
    result = locate(site, "--scans", 4, "--apart", 1.0)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        "The log has 2 scans 1 m apart until then, and 4 are asked for. "
        "Take fewer, or nearer to each other."
    )


def test_scans_of_a_log_are_as_far_apart_as_asked(site):
    log = iv.read_log(site[0] / "scans.npz")
    scans, motions = log.until(None, 3, 0.5)
    assert (len(scans), len(motions)) == (3, 2)
    three = STEP @ STEP @ STEP  # 0.6 m is the first way of at least 0.5 m
    for motion in motions:
        np.testing.assert_allclose(motion.vector, three.vector, atol=1e-9)
    np.testing.assert_array_equal(scans[-1].ranges, log.scan(COUNT - 1).ranges)
    assert log.until(0.0, 1, 0.5)[1] == []
    for bad, text in (
        ((None, 0, 0.5), "At least 1 scan must be taken, got 0."),
        ((None, 2, -1.0), "Scans must be 0 m apart or more, got -1."),
        ((None, 2, math.nan), "Scans must be 0 m apart or more, got nan."),
    ):
        with pytest.raises(InputError) as error:
            log.until(*bad)
        assert str(error.value) == text
