"""Scans in JSON, NPZ and CSV files."""

import json
import math
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isovist import FileError, InputError, Pose, Pose3, Scan, read_scan, write_scan

FIELDS = {
    "angle_min": -1.5,
    "angle_increment": 0.5,
    "ranges": [1.0, None, 2.0, math.nan, math.inf, 30.0, 0.0],
    "range_min": 0.1,
    "range_max": 30.0,
}


def write_json(folder, **changes):
    path = folder / "scan.json"
    fields = {k: v for k, v in {**FIELDS, **changes}.items() if v != "gone"}
    path.write_text(json.dumps(fields))
    return path


def said(path, **options) -> str:
    with pytest.raises((FileError, InputError)) as error:
        read_scan(path, **options)
    return str(error.value)


def test_a_json_scan_masks_what_is_missing(tmp_path):
    scan = read_scan(write_json(tmp_path, intensities=[1, 2, 3, 4, 5, 6, 7]))
    assert scan.bearings.tolist() == [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    assert scan.valid.tolist() == [True, False, True, False, False, False, False]
    assert scan.ranges.tolist() == [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    assert (scan.range_min, scan.range_max) == (0.1, 30.0)
    assert scan.intensities.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert read_scan(write_json(tmp_path, intensities=[])).intensities is None
    assert read_scan(write_json(tmp_path, range_max=None)).range_max == math.inf
    assert read_scan(write_json(tmp_path, range_max=math.inf)).range_max == math.inf


def test_beams_that_turn_clockwise_are_sorted(tmp_path):
    scan = read_scan(write_json(tmp_path, angle_increment=-0.5))
    assert scan.ranges.tolist() == [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0]


def test_an_npz_scan_is_the_same_as_a_json_scan(tmp_path):
    plain = [math.nan if r is None else r for r in FIELDS["ranges"]]
    np.savez(tmp_path / "scan.npz", **{**FIELDS, "ranges": np.array(plain, dtype=np.float32)})
    one, other = read_scan(tmp_path / "scan.npz"), read_scan(write_json(tmp_path))
    assert one.ranges.tolist() == other.ranges.tolist()
    assert one.bearings.tolist() == other.bearings.tolist()
    assert one.range_max == other.range_max


def test_a_csv_scan_may_have_names_and_intensities(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text("bearing, range\n0.5, 2.0\n-0.5, 1.0\n\n0.7,\n0.9,inf\n")
    scan = read_scan(path)
    assert scan.bearings.tolist() == [-0.5, 0.5, 0.7, 0.9]
    assert scan.ranges.tolist() == [1.0, 2.0, 0.0, 0.0]
    assert scan.intensities is None
    path.write_text("\ufeff0.5,2.0,7\n1.5,3.0,8\n", encoding="utf-8")
    assert read_scan(path).intensities.tolist() == [7.0, 8.0]


scans = st.builds(
    lambda start, step, ranges, limits, strong: Scan.from_laserscan(
        start,
        step,
        [*ranges, limits[0] + 0.5],
        range_min=limits[0],
        range_max=limits[0] + limits[1],
        intensities=np.arange(len(ranges) + 1) if strong else None,
    ),
    st.floats(-3.2, 3.2),
    st.floats(0.001, 0.1) | st.floats(-0.1, -0.001),
    st.lists(st.floats(0.0, 100.0) | st.just(math.nan), max_size=40),
    st.tuples(st.floats(0.0, 1.0), st.floats(1.0, 100.0) | st.just(math.inf)),
    st.booleans(),
)


@pytest.mark.slow
@settings(deadline=None)
@given(scan=scans, suffix=st.sampled_from([".json", ".npz", ".csv"]))
def test_a_scan_reads_back_as_it_was_written(tmp_path_factory, scan, suffix):
    path = tmp_path_factory.mktemp("scan") / f"scan{suffix}"
    write_scan(scan, path)
    back = read_scan(path)
    assert back.ranges.tolist() == scan.ranges.tolist()
    assert back.valid.tolist() == scan.valid.tolist()
    assert np.abs(back.bearings - scan.bearings).max() < 1e-12
    assert (back.intensities is None) == (scan.intensities is None)
    if scan.intensities is not None:
        assert back.intensities.tolist() == scan.intensities.tolist()
    if suffix != ".csv":
        assert (back.range_min, back.range_max) == (scan.range_min, scan.range_max)


def test_written_json_is_strict(tmp_path):
    write_scan(Scan([0.0, 0.1], [1.0, np.nan]), tmp_path / "scan.json")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    fields = json.loads((tmp_path / "scan.json").read_text(), parse_constant=refuse)
    assert fields["ranges"] == [1.0, None]
    assert fields["range_max"] is None


def test_uneven_bearings_need_csv(tmp_path):
    scan = Scan([0.0, 0.1, 0.3], [1.0, 1.0, 1.0])
    with pytest.raises(InputError) as error:
        write_scan(scan, tmp_path / "scan.json")
    assert str(error.value) == (
        "A LaserScan needs evenly spaced bearings. Write this scan as .csv."
    )
    with pytest.raises(InputError) as error:
        write_scan(scan, tmp_path / "scan.pcd")
    assert str(error.value) == "A scan is written as .json, .npz or .csv, got 'scan.pcd'."
    write_scan(scan, tmp_path / "scan.csv")
    assert read_scan(tmp_path / "scan.csv").bearings.tolist() == [0.0, 0.1, 0.3]


NEEDS = "A scan needs `angle_min`, `angle_increment`, `ranges`, `range_min`, `range_max`."
BAD_FIELDS = [
    ({"ranges": "gone"}, f"`ranges` is missing. {NEEDS}"),
    ({"range_max": "gone"}, f"`range_max` is missing. {NEEDS}"),
    ({"angle_min": "0"}, "`angle_min` must be a number, got '0'."),
    ({"angle_min": True}, "`angle_min` must be a number, got True."),
    ({"range_min": None}, "`range_min` must be a number, got None."),
    (
        {"angle_increment": 0},
        "`angle_min` and `angle_increment` must be finite and the increment not 0, got -1.5 and 0.",
    ),
    (
        {"angle_min": math.nan},
        "`angle_min` and `angle_increment` must be finite and the increment not 0, "
        "got nan and 0.5.",
    ),
    ({"ranges": [1.0, "far"]}, "`ranges` must be numbers or null, got 'far' at 1."),
    ({"ranges": [[1.0], [2.0]]}, "`ranges` must be numbers or null, got [1.0] at 0."),
    ({"ranges": 3.0}, "`ranges` must be one row of numbers, got 3.0."),
    ({"ranges": []}, "`ranges` is empty; a scan needs beams."),
    ({"intensities": [1.0]}, "`intensities` must have shape (7,), like `bearings`, got (1,)."),
    (
        {"range_min": 40.0},
        "`range_min` and `range_max` must satisfy 0 ≤ range_min < range_max, got 40.0 and 30.0.",
    ),
    (
        {"ranges": [0.0, None, 99.0]},
        "The scan has no valid beam among 3: every range is NaN, infinite, 0 or outside "
        "[0.1, 30.0) m.",
    ),
]


@pytest.mark.parametrize(("changes", "text"), BAD_FIELDS)
def test_a_bad_field_is_named(tmp_path, changes, text):
    assert said(write_json(tmp_path, **changes)) == f"scan.json: {text}"


def test_what_is_no_scan_is_said(tmp_path):
    path = tmp_path / "scan.json"
    path.write_text("[1, 2]")
    assert said(path) == "scan.json must hold the fields of a LaserScan, got [1, 2]."
    path.write_text("{")
    assert said(path).startswith("scan.json is not JSON: ")
    path.write_text(100_000 * "[")
    assert said(path) == "scan.json is not a scan: it is nested too deep."
    path.write_text("")
    assert said(path) == "scan.json is empty; a scan was expected."
    assert said(tmp_path / "gone.json") == f"{tmp_path / 'gone.json'}: there is no such file."
    assert said(tmp_path / "scan.txt") == (
        "scan.txt has no suffix of a scan. Scans are read from .json, .npz, .csv, .ply, .pcd, "
        ".bin, .png (depth), .bag, .db3, .mcap or a folder with a ROS 2 bag."
    )
    assert said(write_json(tmp_path), scan_topic="/scan") == (
        "`scan_topic` and `at` choose a scan of a bag, and scan.json is none."
    )


BAD_CSV = [
    (
        "0.1\n",
        "scan.csv, line 1: 2 or 3 columns (bearing, range and perhaps intensity) were expected, "
        "got 1.",
    ),
    (
        "0.1,1\n0.2,1,5\n",
        "scan.csv, line 2: 2 columns (bearing, range and perhaps intensity) were expected, got 3.",
    ),
    ("0.1,1\nb,2\n", "scan.csv, line 2: the bearing is no number, got 'b'."),
    ("0.1,1\n0.2,far\n", "scan.csv, line 2: the range is no number, got 'far'."),
    ("bearing,range\n", "scan.csv has no beam; each line should be bearing, range."),
    ("nan,1\n", "scan.csv: `bearings` must be finite, got NaN or infinity."),
]


@pytest.mark.parametrize(("text", "message"), BAD_CSV)
def test_a_bad_line_of_csv_is_named(tmp_path, text, message):
    (tmp_path / "scan.csv").write_text(text)
    assert said(tmp_path / "scan.csv") == message


def test_bytes_that_are_no_text_are_one_line(tmp_path):
    (tmp_path / "scan.csv").write_bytes(bytes(range(256)))
    assert said(tmp_path / "scan.csv").startswith("scan.csv is not a CSV file of numbers: ")
    (tmp_path / "scan.json").write_bytes(b"\xff\xfe\x00{")
    assert said(tmp_path / "scan.json").startswith("scan.json is not JSON: ")


@pytest.mark.slow
def test_hostile_npz_files_are_one_line(tmp_path):
    path = tmp_path / "scan.npz"
    path.write_bytes(b"PK no zip at all")
    assert said(path) == "scan.npz is not a sound .npz file: File is not a zip file."
    np.savez(path, ranges=np.array([{}], dtype=object))
    assert said(path) == (
        "scan.npz is not a sound .npz file: it holds Python objects, and only plain numbers are "
        "read."
    )
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }"
    lie = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ranges.npy", lie)
    assert said(path) == (
        "scan.npz is not a sound .npz file: it announces an array of shape (100000000000,) that "
        "it does not hold."
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ranges.npy", bytes(70 << 20))
    assert said(path) == (
        "scan.npz unpacks to 73400320 bytes; a scan has at most 67108864. Is it the right file?"
    )
    np.savez_compressed(path, ranges=np.random.default_rng(0).random(500))
    data = path.read_bytes()
    for size in range(1, len(data), 97):
        path.write_bytes(data[:size])
        assert said(path).startswith("scan.npz is not a sound .npz file: ")
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 255
    path.write_bytes(damaged)
    assert said(path).startswith("scan.npz is not a sound .npz file: ")


def test_the_place_of_the_sensor_goes_with_the_scan(tmp_path):
    place = Pose(0.2, -0.1, 0.5)
    made = Scan.from_laserscan(0.0, 0.5, [1.0, 2.0, math.nan], T_robot_sensor=place)
    assert made.T_robot_sensor == place
    assert Scan.from_laserscan(0.0, 0.5, [1.0]).T_robot_sensor == Pose()
    for name in ("scan.json", "scan.npz", "scan.csv"):
        write_scan(made, tmp_path / name)
        assert read_scan(tmp_path / name).T_robot_sensor == Pose()
        back = read_scan(tmp_path / name, T_robot_sensor=place)
        assert back.T_robot_sensor == place
        assert back.ranges.tolist() == made.ranges.tolist()
        assert back.valid.tolist() == made.valid.tolist()


def test_the_place_of_a_sensor_in_space_is_lifted(tmp_path):
    points = np.random.default_rng(0).normal(size=(60, 3))
    write_scan(Scan.from_points(points, roll=0.1), tmp_path / "scan.npz")
    flat, tilted = Pose(0.2, -0.1, 0.5), Pose3(0.2, -0.1, 0.5, 0.3, 0.0, 0.1)
    assert read_scan(tmp_path / "scan.npz").T_robot_sensor == Pose3()
    for place, kept in ((flat, Pose3.lifted(flat)), (tilted, tilted)):
        back = read_scan(tmp_path / "scan.npz", T_robot_sensor=place)
        assert back.T_robot_sensor == kept
        assert (back.points == points).all()
        assert back.roll == 0.1
