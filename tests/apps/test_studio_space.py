"""Drives in space, followed in the studio: what is told and shown is what the tracker says."""

import httpx
import numpy as np
import pytest
from tests.support.bag_writer import link, odometry, quaternion, write_bag
from tests.support.cloud_writer import laid_out
from tests.support.drives import way
from tests.support.reports import untimed
from tests.support.sites import SPACE
from tests.support.studio_client import inside, replayed, send, told, wrong
from tests.support.studio_door import PARTS, Visit, browser, drop, running

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
        topic, kind, time, row = odometry(10.0 + 0.1 * k, (pose.x, pose.y, pose.yaw), turn=turn)
        said.append((topic, kind, time, row | {"at": pose.position}))
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


def followed(address, log, **about):
    """Every line of a drive on the house; of a log that is dropped, by its files."""
    with httpx.Client(base_url=address, timeout=120.0) as door:
        if isinstance(log, dict):
            log = send(door, log)["done"]["key"]
        return told(door.post("/track", json={"site": "space", "log": log, **about}))


@pytest.mark.parametrize("prefix", ["00/", ""], ids=["with its folder", "without"])
def test_a_dropped_folder_of_clouds_is_followed_and_its_robot_carried(address, kitti, prefix):
    files = inside(kitti, prefix)
    lines = followed(address, files)
    assert lines[0] == {"length": len(POSES), "truth": True, "every": 1}
    assert [untimed(line["update"]) for line in lines[1:-1]] == replayed(kitti, SPACE.atlas)
    assert np.shape(lines[1]["ends"])[1] == 3
    x, y, _ = POSES[5].position
    jumped = followed(address, files, carried={"at": 2, "x": x, "y": y})
    assert jumped[0]["length"] == 2 + len(POSES) - 5
    assert [line["truth"] for line in jumped[1:-1]] == [lines[k]["truth"] for k in (1, 2, 6, 7, 8)]


def test_a_dropped_bag_of_clouds_is_followed_and_its_file_may_go(address, bag):
    files = {bag.name: bag.read_bytes()}
    lines = followed(address, files)
    assert [untimed(line["update"]) for line in lines[1:-1]] == replayed(bag, SPACE.atlas)
    (nowhere,) = followed(address, files, carried={"at": 2, "x": 0.0, "y": 0.0})
    assert wrong(nowhere) == ("missing", None)  # nobody knows which scans were taken there


def test_a_log_of_the_plane_on_a_map_in_space_is_refused(address):
    assert wrong(followed(address, "drive")[-1])[0] == "wrong_dimension"


@pytest.mark.nightly
@pytest.mark.skipif(not PARTS, reason="three.js is not there: npm could not fetch it")
def test_a_drive_in_space_is_seen_in_space(address, bag):
    with browser() as program:
        visit = Visit(program, address, size=(800, 500))
        page = visit.open("/#site=space")
        page.wait_for_selector(".verdict")
        drop(page, bag)
        page.wait_for_selector(".report:not(:empty)")
        last = page.evaluate("studio.tab.updates.at(-1).update")
        assert untimed(last) == replayed(bag, SPACE.atlas)[-1]
        kinds = "studio.space.group.children.map((child) => child.type)"
        assert {"Line", "Points", "Mesh"} <= set(page.evaluate(kinds))
        page.evaluate("studio.progress(0.5, 'Following')")
        low = page.evaluate("document.getElementById('progress').getBoundingClientRect().bottom")
        top = page.evaluate("document.getElementById('timeline').getBoundingClientRect().top")
        assert low <= top
        visit.close()
