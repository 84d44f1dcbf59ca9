"""What readers and writers are told from inside, and how far parts of bags unpack."""

import bz2

import lz4.frame
import numpy as np
import pytest
from PIL import Image
from rosbags.rosbag2 import reader
from tests.support.bag_writer import odometry, scan, write_bag
from tests.support.errors import refused
from tests.support.readers import (
    SessionStore,
    Upload,
    bounded,
    has_faces,
    read_cloud,
    read_mesh,
    read_poses,
    read_scan_set,
    receive,
    write_geojson,
    write_ros_map,
    write_tum,
)
from tests.support.small_files import box, laid, scan_set
from tests.support.space_writer import POINTS, VALUES, ply

import isovist as iv
from isovist import FileError, OccupancyMap, Pose3
from isovist.io.settings import FileLimits

ZSTD = reader.zstd
MOST = 10_000
WAYS = {
    "lz4": (lz4.frame.compress, lz4.frame.LZ4FrameDecompressor),
    "zstd": (ZSTD.compress, ZSTD.ZstdDecompressor),
    "bz2": (bz2.compress, bz2.BZ2Decompressor),
}


@pytest.fixture
def little(monkeypatch):
    """Parts of bags may have some kilobytes, and not a gigabyte."""
    monkeypatch.setattr("isovist.io.bag_limits.LIMITS", FileLimits(bag_part_bytes=MOST))


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("kind", WAYS)
def test_parts_of_bags_unpack_as_far_as_the_limit(kind):
    compress, make = WAYS[kind]
    unpack, whole = bounded(make), bytes(MOST)
    assert unpack(compress(whole), len(whole)) == whole
    assert unpack(compress(b"ab") + compress(b"c"), 3) == b"abc"
    for data in (compress(bytes(MOST + 1)), compress(bytes(MOST - 1)) + compress(b"ab")):
        with pytest.raises(ValueError):  # noqa: PT011
            unpack(data, MOST + 1)
    with pytest.raises(ValueError):  # noqa: PT011
        unpack(compress(np.random.default_rng(0).bytes(5000))[:-9], 5000)


@pytest.mark.slow
@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    ("kind", "pack"), [("bag", "bz2"), ("bag", "lz4"), ("sqlite3", "zstd"), ("mcap", "zstd")]
)
def test_a_bag_of_packed_parts_is_read_as_far_as_the_limit(tmp_path, kind, pack):
    for beams in (400, 4000):
        way = [odometry(t, (0.0, 0.0, 0.0)) for t in (0.0, 1.0)]
        path = write_bag(
            tmp_path,
            [*way, scan(0.5, beams * [1.0], angle_increment=0.001)],
            kind,
            f"run{beams}",
            pack=pack,
        )
        if beams == 400:
            assert len(iv.read_scan(path, T_robot_sensor=iv.Pose()).ranges) == beams
        else:
            with refused(code="invalid_file", kind=FileError):
                iv.read_scan(path, T_robot_sensor=iv.Pose())


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"scan.npz": b"PK\x03\x04" + bytes(60)}, "invalid_file"),
        ({"map.yaml": b"- " * 40_000, "map.pgm": b"P5"}, "too_large"),
        ({"a/metadata.yaml": b"#" * ((1 << 20) + 1), "a/a.mcap": b"x"}, "too_large"),
    ],
)
def test_what_is_dropped_on_the_page_has_the_same_limits(files, code):
    with refused(code=code, kind=FileError):
        receive(SessionStore(), Upload(files), lambda _share: None)


@pytest.mark.parametrize("faces", [0, 2])
def test_faces_are_told_and_a_cloud_and_a_mesh_are_scaled(tmp_path, faces):
    path = laid(tmp_path / "cloud.ply", ply("ascii", faces))
    assert has_faces(path) == (faces > 0)
    cloud = read_cloud(path, scale=0.001)
    np.testing.assert_allclose(cloud.points, 0.001 * POINTS)
    np.testing.assert_array_equal(cloud.intensities, VALUES)
    world = read_mesh(laid(tmp_path / "box.off", box), scale=0.001)
    np.testing.assert_allclose(world.bounds, [[-1, -1.5, -2], [1, 1.5, 2]])


@pytest.mark.parametrize("read", [read_cloud, read_mesh])
def test_a_scale_is_positive_and_a_suffix_is_known(tmp_path, read):
    name = "box.ply" if read is read_mesh else "cloud.ply"
    path = laid(tmp_path / name, box if read is read_mesh else ply("ascii"))
    for scale in (0, -1.0, np.nan, np.inf):
        with refused("scale"):
            read(path, scale=scale)
    with refused(code="unknown_format", kind=FileError):
        read(laid(tmp_path / "it.dxf", "0"))
    with refused(code="empty", kind=FileError):
        read_mesh(laid(tmp_path / "cloud.ply", ply("ascii")))
    with refused(code="invalid_file", kind=FileError):
        read_mesh(laid(tmp_path / "bad.ply", "hello"))


def test_a_ros_map_may_have_a_png_and_its_name_and_image_are_checked(tmp_path):
    cells = np.array([[0, 1, 2], [2, 0, 1]], dtype=np.uint8)
    world = OccupancyMap(cells, 0.05)
    write_ros_map(world, tmp_path / "map.yml", image=".png")
    levels = np.array([254, 0, 205], np.uint8)
    assert (np.asarray(Image.open(tmp_path / "map.png")) == levels[cells[::-1]]).all()
    with refused(code="unknown_format"):
        write_ros_map(world, tmp_path / "map.pgm")
    with refused("image"):
        write_ros_map(world, tmp_path / "map.yaml", image="png")
    with refused("segments"):
        write_geojson(np.zeros((3, 2)), tmp_path / "plan.json")


def test_a_trajectory_is_times_places_and_unit_quaternions_and_reads_back(tmp_path):
    path = tmp_path / "new" / "way.tum"
    poses = np.array([[1.0, -2.0, 0.5], [3.25, 4.0, -3.0]])
    write_tum(path, [1411657682.123456, 1411657683.0], poses)
    rows = np.loadtxt(path)
    np.testing.assert_array_equal(rows[:, :4], [[1411657682.123456, 1, -2, 0],
                                                [1411657683.0, 3.25, 4, 0]])  # fmt: skip
    np.testing.assert_allclose(read_poses(path).flat.vector, poses, atol=1e-8)
    pose = Pose3(1.0, -2.0, 0.3, 0.7, 0.1, -0.2)
    write_tum(path, [0.5], pose.vector[None])
    np.testing.assert_allclose(np.loadtxt(path), [0.5, *pose.position, *pose.quaternion], atol=1e-6)
    matrix = np.column_stack([pose.rotation, pose.position]).ravel()
    kitti = laid(tmp_path / "way.txt", "# KITTI\n\n" + " ".join(map(str, matrix)) + "\n")
    for name in (path, kitti):
        np.testing.assert_allclose(read_poses(name)[0].vector, pose.vector, atol=1e-6)
    write_tum(path, [], np.empty((0, 3)))
    assert path.read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("# nothing\n", "unknown_format"),
        ("1 2 3\n", "unknown_format"),
        ("0 1 2 3 0 0 0 1\n1 2 3\n", "invalid_file"),
        ("0 1 2 3 0 0 0 nan\n", "invalid_file"),
        ("0 1 2 3 0 0 0 1.02\n", "invalid_file"),
        ("0 0 0 0 0 0 0 1\n1 2\n", "invalid_file"),
        (" ".join(12 * ["2"]), "invalid_file"),
    ],
)
def test_poses_that_are_none_are_refused(tmp_path, text, code):
    with refused(code=code, kind=FileError):
        read_poses(laid(tmp_path / "way.txt", text))


def test_a_trajectory_that_cannot_be_written_is_refused(tmp_path):
    for poses in ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, np.nan, 0.0]]):
        with refused("poses"):
            write_tum(tmp_path / "way.tum", [1.0], poses)
    laid(tmp_path / "file", "")
    with refused(code="file_not_writable", kind=FileError):
        write_tum(tmp_path / "file" / "way.tum", [1.0], [[0.0, 0.0, 0.0]])


def test_a_set_of_scans_knows_which_of_them_are_blind(tmp_path):
    scans = read_scan_set(laid(tmp_path / "set.npz", scan_set()))
    assert len(scans) == 3
    assert scans.usable.tolist() == [True, False, True]
    assert scans.scan(0).ranges.tolist() == [1.0, 2.5, 0.0]
    with refused():
        scans.scan(1)
