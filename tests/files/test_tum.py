"""Trajectories as `evo` reads them."""

import math

import numpy as np
import pytest

from isovist import FileError, InputError, Pose3
from isovist.io import write_tum


def test_every_line_is_a_time_a_place_and_a_unit_quaternion(tmp_path):
    path = tmp_path / "new" / "way.tum"
    poses = np.array([[1.0, -2.0, 0.5], [3.25, 4.0, -3.0]])
    write_tum(path, [1411657682.123456, 1411657683.0], poses)
    rows = np.loadtxt(path)
    assert rows.shape == (2, 8)
    assert path.read_text().splitlines()[1].startswith("1411657682.123456 1.000000 -2.000000 0 ")
    assert rows[:, 1:3].tolist() == poses[:, :2].tolist()
    assert (rows[:, 3:6] == 0.0).all()
    assert np.allclose(np.linalg.norm(rows[:, 4:], axis=1), 1.0)
    assert np.allclose(2.0 * np.arctan2(rows[:, 6], rows[:, 7]), [0.5, -3.0])


def test_a_way_without_a_pose_is_a_file_without_a_line(tmp_path):
    write_tum(tmp_path / "way.tum", [], np.empty((0, 3)))
    assert (tmp_path / "way.tum").read_text() == "# time x y z qx qy qz qw\n"


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(InputError) as error:
        write_tum(tmp_path / "way.tum", [1.0], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert str(error.value) == "`poses` must have shape (1, 3), got (2, 3)."
    with pytest.raises(InputError) as error:
        write_tum(tmp_path / "way.tum", [1.0], [[0.0, math.nan, 0.0]])
    assert str(error.value) == "`poses` must be finite, got NaN or infinity."
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "way.tum"
    with pytest.raises(FileError) as error:
        write_tum(path, [1.0], [[0.0, 0.0, 0.0]])
    assert str(error.value) == f"{path} cannot be written: File exists."


def test_poses_in_space_keep_their_height_and_tilt(tmp_path):
    pose = Pose3(1.0, -2.0, 0.3, 0.7, 0.1, -0.2)
    write_tum(tmp_path / "way.tum", [0.5], pose.vector[None])
    _, line = (tmp_path / "way.tum").read_text().splitlines()
    time, *numbers = map(float, line.split())
    assert time == 0.5
    np.testing.assert_allclose(numbers[:3], pose.position, atol=1e-6)
    np.testing.assert_allclose(numbers[3:], pose.quaternion, atol=1e-9)
