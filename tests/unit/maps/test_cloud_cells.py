"""Cells that suit a cloud of points."""

import numpy as np
import pytest
from typer.testing import CliRunner

import isovist as iv
from isovist import FileError
from isovist.apps import app
from isovist.maps import Cloud


def walls(length, count, seed=0):
    """Points on the floor and on two walls of a room."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.0, 1.0, (count, 3)) * [length, length, 3.0]
    face = rng.integers(3, size=count)
    p[np.arange(count), face] = 0.0
    return p


def write_xyz(path, points):
    np.savetxt(path, points, fmt="%.3f")
    return path


@pytest.mark.parametrize(
    ("length", "count", "side"),
    [(5.0, 20_000, 0.1), (5.0, 2_000, 0.2), (60.0, 20_000, 0.2), (900.0, 20_000, 0.4)],
)
def test_dense_clouds_have_small_cells_and_large_ones_have_large_cells(length, count, side):
    assert Cloud(walls(length, count)).resolution() == side


@pytest.mark.slow
def test_the_cells_of_a_cloud_can_be_said(tmp_path):
    path = write_xyz(tmp_path / "room.xyz", walls(5.0, 20_000))
    assert iv.read_map(path).resolution == 0.1
    assert iv.read_map(path, resolution=0.25).resolution == 0.25


def test_only_clouds_have_cells_to_choose(tmp_path):
    with pytest.raises(FileError) as error:
        iv.read_map(tmp_path / "office.yaml", resolution=0.1)
    assert str(error.value) == (
        "office.yaml: `resolution` is for clouds of points, and this is another kind of map. "
        "Leave it out."
    )


@pytest.mark.slow
def test_the_command_says_the_cells(tmp_path):
    path = write_xyz(tmp_path / "room.xyz", walls(5.0, 20_000))
    for more, side in (((), "0.1"), (("--resolution", "0.2"), "0.2")):
        told = CliRunner().invoke(app, ["build", str(path), "-o", str(tmp_path / side), *more])
        assert told.exit_code == 0, told.output
        assert f"cells of {side} m." in told.output
