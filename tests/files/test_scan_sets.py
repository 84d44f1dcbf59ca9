"""Sets of scans with poses."""

import math

import numpy as np
import pytest

from isovist import FileError
from isovist.io import read_scan_set

RANGES = np.array([[100, 250, 0], [300, 8191, 400]], dtype=np.uint16)
ARRAYS = {
    "ranges_cm": RANGES,
    "pose": np.array([[1.0, 2.0, 0.5], [3.0, 4.0, -0.5]]),
    "angle_min": -0.5,
    "angle_inc": 0.5,
    "range_max": 80.0,
}


def write(folder, prefix="", **changes):
    arrays = {k: v for k, v in {**ARRAYS, **changes}.items() if v is not None}
    np.savez(folder / "scans.npz", **{prefix + key: value for key, value in arrays.items()})
    return folder / "scans.npz"


def test_a_set_is_read_with_all_that_it_has(tmp_path):
    odom, t, split = np.ones((2, 3)), np.array([5.0, 6.0]), np.array([True, False])
    scans = read_scan_set(write(tmp_path, odom=odom, t=t, in_map_split=split))
    assert len(scans) == 2
    assert scans.ranges.tolist() == [[1.0, 2.5, 0.0], [3.0, 81.91, 4.0]]
    assert scans.bearings.tolist() == [-0.5, 0.0, 0.5]
    assert scans.poses.tolist() == ARRAYS["pose"].tolist()
    assert scans.range_max == 80.0
    assert scans.times.tolist() == [5.0, 6.0]
    assert scans.odometry.tolist() == odom.tolist()
    assert scans.in_map_split.tolist() == [True, False]
    assert scans.in_map_split.dtype == np.bool_
    assert [scans.scan(k).valid.tolist() for k in range(2)] == [
        [True, True, False],
        [True, False, True],
    ]


@pytest.mark.parametrize("unit", ["m", "cm", "mm"])
def test_every_unit_is_turned_into_metres(tmp_path, unit):
    metres = np.array([[1.23, 4.56], [7.89, 0.5]])
    scale = {"m": 1, "cm": 100, "mm": 1000}[unit]
    stored = metres if unit == "m" else (metres * scale).round().astype(np.uint16)
    changes = {"ranges_cm": None, f"ranges_{unit}": stored}
    assert read_scan_set(write(tmp_path, **changes)).ranges.tolist() == metres.tolist()


def test_a_prefix_chooses_one_of_several_sensors(tmp_path):
    path = write(tmp_path, prefix="nav_", range_max=None)
    scans = read_scan_set(path, prefix="nav_")
    assert scans.range_max == math.inf
    assert scans.times is None
    assert scans.odometry is None
    assert scans.in_map_split is None
    with pytest.raises(FileError) as error:
        read_scan_set(path, prefix="sec_")
    assert str(error.value) == (
        "scans.npz needs one array of sec_ranges_m, sec_ranges_cm, sec_ranges_mm. "
        "It has: nav_angle_inc, nav_angle_min, nav_pose, nav_ranges_cm."
    )


BAD = [
    (
        {"ranges_mm": RANGES},
        "scans.npz needs one array of ranges_m, ranges_cm, ranges_mm. "
        "It has: angle_inc, angle_min, pose, range_max, ranges_cm, ranges_mm.",
    ),
    (
        {"pose": None},
        "scans.npz: `pose` is missing. It has: angle_inc, angle_min, range_max, ranges_cm.",
    ),
    (
        {"pose": np.zeros((3, 3))},
        "scans.npz: `pose` must be numbers of shape (2, 3), got float64 of shape (3, 3).",
    ),
    ({"pose": np.full((2, 3), np.nan)}, "scans.npz: `pose` must be finite, got NaN or infinity."),
    (
        {"ranges_cm": np.array(["a", "b"])},
        "scans.npz: `ranges_cm` must be numbers of shape (any, any), got <U1 of shape (2,).",
    ),
    ({"ranges_cm": np.zeros((0, 5))}, "scans.npz: `ranges_cm` has shape (0, 5), no scan."),
    ({"angle_inc": 0.0}, "scans.npz: `angle_inc` must not be 0."),
    ({"angle_min": np.inf}, "scans.npz: `angle_min` must be finite, got NaN or infinity."),
    ({"range_max": -1.0}, "scans.npz: `range_max` must be above 0 m, got -1."),
    ({"t": np.zeros(5)}, "scans.npz: `t` must be numbers of shape (2), got float64 of shape (5,)."),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_a_bad_set_is_one_line(tmp_path, changes, message):
    with pytest.raises(FileError) as error:
        read_scan_set(write(tmp_path, **changes))
    assert str(error.value) == message
