"""Scans in JSON, NPZ and CSV files, and depth images."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.support.errors import refused
from tests.support.sites import PLANE
from tests.support.small_files import laid, laser_scan, npz

import isovist as iv
from isovist import Pose, Pose3, Scan, read_scan, write_scan


def told(folder, **changes):
    """A scan out of a JSON file."""
    return read_scan(laid(folder / "scan.json", laser_scan(**changes)))


def test_a_json_scan_masks_what_is_missing(tmp_path):
    scan = told(tmp_path, intensities=[1, 2, 3, 4, 5, 6, 7], sigmas=7 * [0.1])
    assert scan.bearings.tolist() == [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    assert scan.valid.tolist() == [True, False, True, False, False, False, False]
    assert scan.ranges.tolist() == [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    assert (scan.range_min, scan.range_max) == (0.1, 30.0)
    assert scan.intensities.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert scan.sigmas[scan.valid].tolist() == 2 * [0.1]
    assert told(tmp_path, intensities=[]).intensities is None
    assert told(tmp_path, range_max=None).range_max == math.inf
    assert told(tmp_path, range_max=math.inf).range_max == math.inf
    assert told(tmp_path, ranges=[2.0], angle_increment=0.0).ranges.tolist() == [2.0]
    # Beams that turn clockwise are sorted.
    assert told(tmp_path, angle_increment=-0.5).ranges.tolist() == [0, 0, 0, 0, 2, 0, 1]


def test_an_npz_scan_is_the_same_as_a_json_scan(tmp_path):
    fields = laser_scan()
    plain = np.array([math.nan if r is None else r for r in fields["ranges"]], dtype=np.float32)
    one = read_scan(laid(tmp_path / "scan.npz", npz(**{**fields, "ranges": plain})))
    other = told(tmp_path)
    assert one.ranges.tolist() == other.ranges.tolist()
    assert one.bearings.tolist() == other.bearings.tolist()
    assert one.range_max == other.range_max


def test_a_csv_scan_may_have_names_and_intensities(tmp_path):
    path = tmp_path / "scan.csv"
    scan = read_scan(laid(path, "bearing, range\n0.5, 2.0\n-0.5, 1.0\n\n0.7,\n0.9,inf\n"))
    assert scan.bearings.tolist() == [-0.5, 0.5, 0.7, 0.9]
    assert scan.ranges.tolist() == [1.0, 2.0, 0.0, 0.0]
    assert scan.intensities is None
    marked = read_scan(laid(path, "\ufeff0.5,2.0,7\n1.5,3.0,8\n".encode()))
    assert marked.intensities.tolist() == [7.0, 8.0]


scans = st.builds(
    lambda start, step, ranges, limits, strong: Scan.from_laserscan(
        start,
        step,
        [*ranges, limits[0] + 0.5],
        range_min=limits[0],
        range_max=limits[0] + limits[1],
        intensities=np.arange(len(ranges) + 1) if strong else None,
        sigmas=np.full(len(ranges) + 1, 0.02) if strong else None,
    ),
    st.floats(-3.2, 3.2),
    st.floats(0.001, 0.1) | st.floats(-0.1, -0.001),
    st.lists(st.floats(0.0, 100.0) | st.just(math.nan), max_size=40),
    st.tuples(st.floats(0.0, 1.0), st.floats(1.0, 100.0) | st.just(math.inf)),
    st.booleans(),
)


def same(a, b):
    assert (a is None) == (b is None)
    np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@settings(deadline=None)
@given(scan=scans, suffix=st.sampled_from([".json", ".npz", ".csv"]))
def test_a_scan_reads_back_as_it_was_written(tmp_path_factory, scan, suffix):
    path = tmp_path_factory.mktemp("scan") / f"scan{suffix}"
    write_scan(scan, path)
    back = read_scan(path)
    for name in ("ranges", "valid", "intensities"):
        same(getattr(back, name), getattr(scan, name))
    assert np.abs(back.bearings - scan.bearings).max() < 1e-12
    if suffix != ".csv":
        assert (back.range_min, back.range_max) == (scan.range_min, scan.range_max)
        same(back.sigmas, scan.sigmas)


def test_written_json_is_strict(tmp_path):
    write_scan(Scan([0.0, 0.1], [1.0, np.nan]), tmp_path / "scan.json")

    def refuse(word):
        raise AssertionError(word)

    fields = json.loads((tmp_path / "scan.json").read_text(), parse_constant=refuse)
    assert fields["ranges"] == [1.0, None]
    assert fields["range_max"] is None


def test_a_scan_is_written_in_formats_that_hold_it(tmp_path):
    scan = Scan([0.0, 0.1, 0.3], [1.0, 1.0, 1.0])
    with refused(code="conflict"):
        write_scan(scan, tmp_path / "scan.json")
    for seen in (scan, iv.CloudScan(np.ones((60, 3)))):
        with refused(code="unknown_format"):
            write_scan(seen, tmp_path / "scan.pcd")
    with refused(code="file_not_writable", kind=iv.FileError):
        write_scan(scan, tmp_path / "no" / "scan.csv")
    write_scan(scan, tmp_path / "scan.csv")
    assert read_scan(tmp_path / "scan.csv").bearings.tolist() == [0.0, 0.1, 0.3]
    assert [path.name for path in tmp_path.iterdir()] == ["scan.csv"]


def test_the_place_of_the_sensor_goes_with_the_scan(tmp_path):
    place = Pose(0.2, -0.1, 0.5)
    made = Scan.from_laserscan(0.0, 0.5, [1.0, 2.0, math.nan], T_robot_sensor=place)
    assert made.T_robot_sensor == place
    for name in ("scan.json", "scan.npz", "scan.csv"):
        write_scan(made, tmp_path / name)
        assert read_scan(tmp_path / name).T_robot_sensor == Pose()
        back = read_scan(tmp_path / name, T_robot_sensor=place)
        assert (back.T_robot_sensor, back.frame) == (place, "robot")
        same(back.ranges, made.ranges)
        same(back.valid, made.valid)
    for mount, frame in ((None, "sensor"), (PLANE.mount, "robot")):
        seen = PLANE.look(PLANE.places[0], mount=mount)
        assert iv.locate(PLANE.atlas, seen).frame == frame


def test_a_scan_in_space_keeps_its_numbers_and_the_place_of_its_sensor_is_lifted(tmp_path):
    points, path = np.random.default_rng(0).normal(size=(60, 3)), tmp_path / "scan.npz"
    more = {"range_min": 0.001, "range_max": 90.0, "roll": 0.1, "pitch": -0.2}
    write_scan(Scan.from_points(points, intensities=np.arange(60.0), **more), path)
    flat, tilted = Pose(0.2, -0.1, 0.5), Pose3(0.2, -0.1, 0.5, 0.3, 0.0, 0.1)
    assert read_scan(path).T_robot_sensor == Pose3()
    for place, kept in ((flat, Pose3.lifted(flat)), (tilted, tilted)):
        back = read_scan(path, T_robot_sensor=place)
        assert (back.T_robot_sensor, back.frame) == (kept, "robot")
        same(back.points, points)
        same(back.intensities, np.arange(60.0))
        assert {name: getattr(back, name) for name in more} == more


def test_depth_images_are_scans(tmp_path):
    depth = np.random.default_rng(0).integers(1500, 4000, (120, 160)).astype(np.uint16)
    camera = {"fx": 120.0, "fy": 110.0, "cx": 79.5, "cy": 59.5}
    plain = Scan.from_depth(depth, list(camera.values()))
    Image.fromarray(depth).save(tmp_path / "view.png")
    laid(tmp_path / "view.json", camera)
    laid(tmp_path / "view.npz", npz(depth=depth, intrinsics=list(camera.values())))
    for name in ("view.png", "view.npz"):
        same(read_scan(tmp_path / name).points, plain.points)
