"""Drives in space, followed in the studio: what is told and shown is what the tracker says."""

import json

import httpx
import numpy as np
import pytest
from tests.support.bag_writer import link, odometry, quaternion, write_bag
from tests.support.cloud_writer import laid_out
from tests.support.drives import way
from tests.support.sites import SPACE
from tests.support.studio_door import PARTS, Visit, browser, drop, running

import isovist as iv
from isovist import InputError
from isovist.apps import carried
from isovist.io import read_clouds
from isovist.report import update_json
from isovist.tracking.replay import replay

pytestmark = pytest.mark.slow

POSES = way("space", step=0.25)[:8]


@pytest.fixture(scope="module")
def clouds():
    """What a robot sees along its way, in the frame of its lidar at its centre."""
    return [SPACE.look(pose, seed=k).points for k, pose in enumerate(POSES)]


@pytest.fixture(scope="module")
def bag(clouds, tmp_path_factory):
    """A bag of a drive through the house."""
    said = [link(0.0, "base", "lidar", topic="/tf_static")]
    for k, (pose, points) in enumerate(zip(POSES, clouds, strict=True)):
        columns = dict(zip("xyz", points.T, strict=True)) | {"time": np.zeros(len(points))}
        said.append(laid_out(10.0 + 0.1 * k, columns, "velodyne"))
        turn = quaternion(pose.roll, pose.pitch, pose.yaw)
        topic, kind, time, told = odometry(10.0 + 0.1 * k, (pose.x, pose.y, pose.yaw), turn=turn)
        said.append((topic, kind, time, told | {"at": pose.position}))
    folder = write_bag(tmp_path_factory.mktemp("space"), said, "mcap", "run")
    return next(folder.glob("*.mcap")) if folder.is_dir() else folder


@pytest.fixture(scope="module")
def kitti(clouds, tmp_path_factory):
    """The same as a folder in the layout of KITTI, with the truth."""
    folder = tmp_path_factory.mktemp("kitti") / "00"
    (folder / "velodyne").mkdir(parents=True)
    for k, points in enumerate(clouds):
        rows = np.column_stack([points, np.zeros(len(points))]).astype("<f4")
        (folder / "velodyne" / f"{k:06}.bin").write_bytes(rows.tobytes())
    (folder / "times.txt").write_text("\n".join(f"{0.1 * k:.3f}" for k in range(len(POSES))))
    rows = [np.column_stack([pose.rotation, pose.position]).ravel() for pose in POSES]
    (folder / "poses.txt").write_text("\n".join(" ".join(map(str, row)) for row in rows))
    return folder


@pytest.fixture(scope="module")
def address():
    with running("space") as found:
        yield found


def followed(address, files):
    """What the studio makes of files: what they are, and every line of the drive on the house."""
    with httpx.Client(base_url=address, timeout=120.0) as door:
        parts = [("file", (name, data)) for name, data in files.items()]
        read = json.loads(door.post("/read", files=parts).text.splitlines()[-1])
        about = {"site": "space", "log": read["done"]["key"]}
        lines = door.post("/track", json=about).text.splitlines()
    return read["done"], [json.loads(line) for line in lines]


def said_of(log):
    """What the tracker says of a log on the house, as the command line prints it."""
    told = [update_json(update, log.frame) for update in replay(iv.Tracker(SPACE.atlas), log)]
    return [untimed(json.loads(json.dumps(one))) for one in told]


def untimed(update):
    return {key: value for key, value in update.items() if key != "update_ms"}


@pytest.mark.parametrize("folder", ["00/", ""], ids=["with its folder", "without"])
def test_a_dropped_folder_of_clouds_is_followed(address, kitti, folder):
    files = {
        f"{folder}{path.relative_to(kitti)}": path.read_bytes()
        for path in kitti.rglob("*")
        if path.is_file()
    }
    told, lines = followed(address, files)
    assert (told["kind"], told["name"]) == ("log", "00" if folder else "clouds")
    assert lines[0] == {"length": len(POSES), "truth": True, "every": 1}
    assert [untimed(line["update"]) for line in lines[1:-1]] == said_of(read_clouds(kitti))
    assert np.shape(lines[1]["ends"])[1] == 3
    assert lines[-1]["done"].startswith("unique at the end: ")


def test_a_dropped_bag_of_clouds_is_followed_and_its_file_may_go(address, bag):
    told, lines = followed(address, {bag.name: bag.read_bytes()})
    assert told["kind"] == "log"
    assert [untimed(line["update"]) for line in lines[1:-1]] == said_of(read_clouds(bag))


def test_a_log_of_the_plane_on_a_map_in_space_is_one_sentence(address):
    with httpx.Client(base_url=address, timeout=120.0) as door:
        lines = door.post("/track", json={"site": "space", "log": "drive"}).text.splitlines()
    assert json.loads(lines[-1]) == {
        "error": "The scan is of the plane, and the atlas is of a map in space. "
        "Give points: Scan.from_points."
    }


def test_a_robot_in_space_is_carried(kitti, bag):
    for log in (read_clouds(kitti), read_clouds(bag)):
        if log.truth is None:
            with pytest.raises(InputError) as error:
                carried(log, 2, (0.0, 0.0))
            assert str(error.value) == (
                "The log has no truth, so nobody knows which scans were taken there."
            )
            continue
        jumped = carried(log, 2, tuple(POSES[5].position[:2]))
        np.testing.assert_allclose(jumped.truth.position[2], POSES[5].position, atol=1e-6)
        assert len(jumped) == 2 + len(POSES) - 5
        assert jumped.odometry is None
        assert (np.diff(jumped.times) > 0.0).all()


@pytest.mark.skipif(not PARTS, reason="three.js is not there: npm could not fetch it")
def test_a_drive_in_space_is_seen_in_space(address, bag):
    with browser() as program:
        visit = Visit(program, address, size=(800, 500))
        page = visit.open("/#site=space")
        page.wait_for_selector(".verdict")
        drop(page, bag)
        page.wait_for_selector(".report:not(:empty)")
        last = page.evaluate("studio.tab.updates.at(-1).update")
        assert untimed(last) == said_of(read_clouds(bag))[-1]
        kinds = "studio.space.group.children.map((child) => child.type)"
        assert {"Line", "Points", "Mesh"} <= set(page.evaluate(kinds))
        page.evaluate("studio.progress(0.5, 'Following')")
        low = page.evaluate("document.getElementById('progress').getBoundingClientRect().bottom")
        top = page.evaluate("document.getElementById('timeline').getBoundingClientRect().top")
        assert low <= top
        visit.close()
