"""`isovist track` in space: bags of clouds and folders of KITTI to JSON, trajectory, picture."""

import json

import numpy as np
import pytest
from tests.support.bag_writer import cloud, link, odometry, quaternion, scan, write_bag
from tests.support.cloud_writer import laid_out
from tests.support.drives import way
from tests.support.sites import SITES, SPACE, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import IsovistError, Pose3
from isovist.apps import app

pytestmark = pytest.mark.slow

POSES = way("space", step=0.25)[:10]
MOUNT = Pose3(0.1, 0.0, 0.2, 0.3)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the atlas of the house, a bag of a drive through it, and one of KITTI."""
    folder = tmp_path_factory.mktemp("space")
    iv.write_atlas(SPACE.atlas, folder / "house")
    sits = link(0.0, "base", "lidar", MOUNT.position, MOUNT.quaternion, topic="/tf_static")
    clouds, moves, start = [], [], Pose3(2.0, 1.0, 0.5)
    for k, pose in enumerate(POSES):
        points = SPACE.look(pose, mount=MOUNT, seed=k).points
        columns = dict(zip("xyz", points.T, strict=True)) | {"time": np.zeros(len(points))}
        clouds.append(laid_out(10.0 + 0.1 * k, columns, "velodyne"))
        at = start @ pose
        turn = quaternion(at.roll, at.pitch, at.yaw)
        topic, kind, time, said = odometry(10.0 + 0.1 * k, (at.x, at.y, at.yaw), turn=turn)
        moves.append((topic, kind, time, said | {"at": at.position}))
    write_bag(folder, [sits, *moves, *clouds], "mcap", "run")
    write_bag(folder, [sits, *clouds], "mcap", "blind")
    kitti = folder / "00"
    (kitti / "velodyne").mkdir(parents=True)
    for k, pose in enumerate(POSES):
        points = SPACE.look(pose, mount=MOUNT, seed=k).points
        rows = np.column_stack([points, np.zeros(len(points))]).astype("<f4")
        (kitti / "velodyne" / f"{k:06}.bin").write_bytes(rows.tobytes())
    (kitti / "times.txt").write_text("\n".join(f"{0.1 * k:.3f}" for k in range(len(POSES))))
    rows = [pose @ MOUNT for pose in POSES]
    rows = [np.column_stack([pose.rotation, pose.position]).ravel() for pose in rows]
    (kitti / "poses.txt").write_text("\n".join(" ".join(map(str, row)) for row in rows))
    return folder


def track(site, log, *options):
    return CliRunner().invoke(app, ["track", str(site / "house"), str(log), *map(str, options)])


@pytest.mark.parametrize("name", ["run", "blind"])
def test_a_bag_of_clouds_is_followed(site, tmp_path, name):
    tum, figure = tmp_path / "way.tum", tmp_path / "way.png"
    result = track(site, site / name, "--json", "--tum", tum, "--figure", figure)
    assert result.exit_code == 0, result.output
    updates = [json.loads(line) for line in result.output.splitlines()]
    assert len(updates) == len(POSES)
    assert (updates[-1]["verdict"], updates[-1]["frame"]) == ("unique", "base")
    for update, truth in zip(updates[1:], POSES[1:], strict=True):
        best = update["estimates"][0]
        pose = Pose3(*(best[key] for key in ("x", "y", "yaw", "z", "roll", "pitch")))
        assert np.hypot(pose.x - truth.x, pose.y - truth.y) < 0.1
        assert abs(pose.z - truth.z) < 0.3  # rings of ±15° hardly see floor or ceiling
        assert gap(pose, truth)[1] < 0.05
        assert np.shape(best["covariance"]) == (4, 4)
        assert update["lambda_min"] > 0.0
    rows = np.loadtxt(tum)
    assert rows.shape[1] == 8
    np.testing.assert_allclose(rows[-1, 1:4], POSES[-1].position, atol=0.3)
    assert figure.stat().st_size > 20_000


def test_a_folder_of_kitti_is_compared_with_its_truth(site):
    place = (str(MOUNT.x), str(MOUNT.y), str(MOUNT.yaw))
    result = track(site, site / "00", "--json", "--every", "2")
    assert result.exit_code == 0, result.output
    updates = [json.loads(line) for line in result.output.splitlines()]
    assert len(updates) == len(POSES) // 2
    assert all(update["error_m"] < 0.15 for update in updates)
    assert all(update["error_deg"] < 3.0 for update in updates)
    said = track(site, site / "00", "--sensor", *place)
    assert said.exit_code == 0, said.output
    assert "sensor on the robot: x 0.100 m, y 0.000 m, z 0.000 m, yaw 11.46°" in said.output
    assert "error when unique: median 0.0" in said.output
    assert "0 of 10 off by more than 0.5 m or 10°" in said.output


def test_what_does_not_fit_together_is_one_line(site, tmp_path):
    iv.write_atlas(SITES["plane"].atlas, tmp_path / "plan")
    flat = write_bag(tmp_path, [link(0.0, "base", "laser"), scan(10.0), odometry(9.0, (0, 0, 0)),
                                odometry(11.0, (0, 0, 0))])  # fmt: skip
    cases = [
        (
            [site / "house", flat],
            "The scan is of the plane, and the atlas is of a map in space. Give points: "
            "Scan.from_points.",
        ),
        (
            [tmp_path / "plan", site / "00"],
            "The scan is a cloud of points, and the atlas is of a map of the plane. Build the "
            "atlas of a map in space, or take a scan of the plane.",
        ),
        (
            [site / "house", site / "00", "--sweep", "0.1"],
            "`--sweep` is for scans of the plane; clouds are straightened by the times of their "
            "points, where they have them.",
        ),
        (
            [site / "house", site / "00", "--method", "paper"],
            "`--method paper` follows robots in the plane, and this log has clouds.",
        ),
        (
            [site / "house", site / "run", "--scan-topic", "/lidar"],
            "run has no topic '/lidar' of type PointCloud2. It has: /points.",
        ),
        (
            [site / "house", site / "run", "--height", "1"],
            "`--height` is said when an atlas is built; this one is built already.",
        ),
    ]
    for words, text in cases:
        result = CliRunner().invoke(app, ["track", *map(str, words)])
        assert isinstance(result.exception, IsovistError)  # which the program turns into one line
        assert str(result.exception) == text


def test_a_bag_whose_clouds_have_nothing_is_one_line(site, tmp_path):
    path = write_bag(tmp_path, [cloud(1.0, np.full((60, 3), np.nan))])
    result = track(site, path)
    assert isinstance(result.exception, IsovistError)
    assert str(result.exception) == (
        "run.bag has no cloud with 50 returns on that topic: of 1 the fullest has 0. Points that "
        "are NaN or at the origin are none."
    )
