"""What readers and writers are told by whoever calls them from inside."""

import numpy as np
import pytest
from PIL import Image
from tests.support.errors import refused
from tests.support.small_files import box, laid, scan_set
from tests.support.space_writer import POINTS, VALUES, ply

from isovist import FileError, OccupancyMap, Pose3
from isovist.io import (
    has_faces,
    read_cloud,
    read_mesh,
    read_poses,
    read_scan_set,
    write_geojson,
    write_ros_map,
    write_tum,
)


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


def test_a_cloud_is_no_mesh(tmp_path):
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


def test_a_trajectory_of_the_plane_is_times_places_and_unit_quaternions(tmp_path):
    path = tmp_path / "new" / "way.tum"
    poses = np.array([[1.0, -2.0, 0.5], [3.25, 4.0, -3.0]])
    write_tum(path, [1411657682.123456, 1411657683.0], poses)
    lines = path.read_text().splitlines()
    assert lines[0] == "# time x y z qx qy qz qw"
    assert lines[1].startswith("1411657682.123456 1.000000 -2.000000 0 ")
    assert len(lines) == 3
    np.testing.assert_allclose(read_poses(path).flat.vector, poses, atol=1e-8)
    write_tum(path, [], np.empty((0, 3)))
    assert path.read_text() == lines[0] + "\n"


def test_a_trajectory_in_space_keeps_height_and_tilt_and_reads_back(tmp_path):
    path, pose = tmp_path / "way.tum", Pose3(1.0, -2.0, 0.3, 0.7, 0.1, -0.2)
    write_tum(path, [0.5], pose.vector[None])
    time, *numbers = map(float, path.read_text().splitlines()[1].split())
    assert time == 0.5
    np.testing.assert_allclose(numbers, [*pose.position, *pose.quaternion], atol=1e-6)
    matrix = np.column_stack([pose.rotation, pose.position]).ravel()
    laid(tmp_path / "way.txt", "# KITTI\n\n" + " ".join(map(str, matrix)) + "\n")
    for name in ("way.tum", "way.txt"):
        np.testing.assert_allclose(read_poses(tmp_path / name)[0].vector, pose.vector, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("# nothing\n", "unknown_format"),
        ("1 2 3\n", "unknown_format"),
        ("0 1 2 3 0 0 0 1\n1 2 3\n", "invalid_file"),
        ("0 1 2 3 0 0 0 nan\n", "invalid_file"),
        ("0 1 2 3 0 0 0 1.02\n", "invalid_file"),
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
    with refused() as caught:
        scans.scan(1)
    assert str(caught.value).startswith("Scan 1: ")
