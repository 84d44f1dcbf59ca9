"""Command lines that cannot work: exit code 2 and one line, never a traceback, before the work."""

from pathlib import Path

import numpy as np
import pytest

import isovist as iv

NUMBER = "'x' is not a valid float. See "
WHOLE = "'1.5' is not a valid int"
NO_FILE = "there is no such file."
LENGTH = "must be a positive length in m, got "

LINES = {
    # what is not there
    "map " + 300 * "x" + " -o made.yaml": "File name too long.",
    "check ATLAS SCAN 4.1 2.6 0.4 --spread 0.1 1e308": "`--spread` takes standard deviations",
    "foo": "No such command 'foo'. See `isovist --help`.",
    "--foo": "No such option: --foo. See `isovist --help`.",
    "bench": "Missing command. See `isovist bench --help`.",
    "bench foo": "No such command 'foo'. Did you mean 'follow'? See `isovist bench --help`.",
    "locate": "Missing argument 'MAP_OR_ATLAS'. See `isovist locate --help`.",
    "locate PLAN": "Missing argument 'MAP_OR_ATLAS'. See `isovist locate --help`.",
    "locate PLAN SCAN more": "more has no suffix of a scan. Scans are read from ",
    "locate --foo PLAN SCAN": "No such option: --foo. See `isovist locate --help`.",
    "locate NO.yaml SCAN": NO_FILE,
    "locate PLAN NO.json": NO_FILE,
    "locate PLAN NO.foo": "no.foo has no suffix of a scan. Scans are read from ",
    "locate NO.foo SCAN": NO_FILE,
    "locate NO.atlas SCAN": NO_FILE,
    "locate NO SCAN": NO_FILE,
    "locate DIR SCAN": "folder holds no atlas. Write some: isovist build MAP -o folder/NAME.",
    "locate PLAN DIR": "is a folder without metadata.yaml, so it is no ROS 2 bag.",
    "locate SCAN SCAN": "scan.json is not GeoJSON: `type` is missing in ",
    "locate PLAN PLAN": "room.geojson has no suffix of a scan. Scans are read from ",
    "build": "Missing argument 'MAP'. See `isovist build --help`.",
    "build PLAN": "'--output'. See `isovist build --help`.",
    "build PLAN -o": "Option '-o' requires an argument. See `isovist",
    "build DIR -o OUT": "is a folder, not a map.",
    "build NO.yaml -o OUT": NO_FILE,
    "build PLAN -o NO/deep/atlas": "cannot be written: No such file or directory.",
    "build PLAN -o DIR": "exists and is not a folder of arrays. Choose another name.",
    "info": "'ATLAS'. See `isovist info --help`.",
    "info NO": "there is no such folder.",
    "info DIR": f"manifest.json: {NO_FILE}",
    "info PLAN": "there is no such folder.",
    "info DIR --check": f"manifest.json: {NO_FILE}",
    "convert PLAN": "'TARGET'. See `isovist convert --help`.",
    "convert NO.yaml OUT.geojson": NO_FILE,
    "convert PLAN OUT.foo": "out.foo: an OccupancyMap is written as .yaml, a SegmentMap as ",
    "convert PLAN NO/deep/plan.geojson": "cannot be written: No such file or directory.",
    "track ATLAS": "Missing argument 'MAP_OR_ATLAS'. See `isovist track --help`.",
    "track ATLAS NO.log": NO_FILE,
    "track ATLAS SCAN": "scan.json has no suffix of a log. Logs are read from ",
    "track NO.yaml LOG": NO_FILE,
    "explore NO.yaml": NO_FILE,
    "survey NO.yaml": NO_FILE,
    "bench carmen": "Missing argument 'LOG'. See `isovist bench carmen --help`.",
    "bench carmen NO.log": NO_FILE,
    "bench simulate PLAN NO.yaml": NO_FILE,
    "bench carmen NPZ": "set.npz has no FLASER, ROBOTLASER1 or RAWLASER1 line.",
    "bench scans ROS NO.npz": NO_FILE,
    "bench scans ROS SCAN": "scan.json is not a sound .npz file: ",
    "bench scans ROS NPZ --prefix nav_": "set.npz needs one array of nav_ranges_m, ",
    "bench scans ROS NPZ --held-out": "These scans do not say which of them are in the map.",
    "bench scans ROS NPZ --index NO.npz": NO_FILE,
    "bench scans ROS NPZ --index NPZ": "set.npz: the array `index` is missing.",
    "bench follow ROS NPZ": "set.npz: `odom` is missing. A log needs the odometry and the time ",
    "bench simulate NO.yaml": NO_FILE,
    "bench carmen LOG --every 0": "`--every` must be 1 or more, got 0.",
    "bench cross NO.log": NO_FILE,
    # pictures and results that cannot be written
    "locate PLAN SCAN --figure a.doc": "a.doc: a picture must end in .png, .pdf or .svg.",
    "track ATLAS LOG --figure a": "a: a picture must end in .png, .pdf or .svg.",
    "survey ATLAS --figure a.gif": "a.gif: a picture must end in .png, .pdf or .svg.",
    "survey ATLAS -o a.csv": "a.csv",
    "explore ATLAS --figure a.bmp": "a.bmp: a picture must end in .png, .pdf, .svg or .gif.",
    "demo --figure a.doc": "a.doc: a picture must end in .png, .pdf or .svg.",
    "paper --figure a.doc": "a.doc: a picture must end in .png, .pdf or .svg.",
    # options that contradict
    "build PLAN -o OUT --height 1": "`--height` is for maps in space; this map is of the plane.",
    "build PLAN -o OUT --highest 2": "`--highest` needs `--height`, the lowest height of the ",
    "locate ATLAS SCAN --height 1": "`--height` is said when an atlas is built; this one is ",
    "locate PLAN SCAN --at 1": "`--scan-topic` and `--at` choose a scan of a bag, and scan.json i",
    "locate PLAN SCAN --scan-topic /a": "`--scan-topic` and `--at` choose a scan of a bag, and ",
    "track ATLAS LOG --prefix a": "`--prefix` chooses a sensor of an .npz file, and drive.log is ",
    "track ATLAS LOG --scan-topic /a": "`--scan-topic` and `--odometry-topic` choose topics of a ",
    "track ATLAS LOG --held-out": "This log does not say which of its scans are in the map.",
    "bench simulate3d ROS": "A map in space needs a spinning lidar, one of the plane a planar ",
    "explore ATLAS --rule best": "best",
    # numbers that are none
    "build PLAN -o OUT --spacing x": NUMBER,
    "build PLAN -o OUT --spacing nan": f"`--spacing` {LENGTH}nan.",
    "build PLAN -o OUT --spacing inf": "`--spacing` must be at most 2000 in m, got inf.",
    "build PLAN -o OUT --spacing 1e308": "`--spacing` must be at most 2000 in m, got 1e+308.",
    "build PLAN -o OUT --spacing -1": f"`--spacing` {LENGTH}-1.0.",
    "build PLAN -o OUT --spacing 0": f"`--spacing` {LENGTH}0.0.",
    "convert PLAN OUT.yaml --resolution x": NUMBER,
    "convert PLAN OUT.yaml --resolution nan": "`--resolution` must be from 0.001 to 10 m per cell",
    "convert PLAN OUT.yaml --resolution 1e308": "`--resolution` must be from 0.001 to 10 m per ce",
    "convert PLAN OUT.yaml --resolution 1e-9": "`--resolution` must be from 0.001 to 10 m per cell",
    "convert PLAN OUT.yaml --resolution -1": "`--resolution` must be from 0.001 to 10 m per cell, ",
    "convert ROS OUT.geojson --tolerance nan": "`--tolerance` must be a length in m, 0 or more, ",
    "convert ROS OUT.geojson --tolerance -1": "`--tolerance` must be a length in m, 0 or more, ",
    "convert ROS OUT.geojson --tolerance 1e308": "`--tolerance` must be a length in m, at most 10",
    "convert ROS OUT.geojson --tolerance inf": "`--tolerance` must be a length in m, at most 1000",
    "locate ATLAS SCAN --at x": NUMBER,
    "locate ATLAS SCAN --sensor 1 2": "requires 3 arguments",
    "locate ATLAS SCAN --sensor 0 0 x": NUMBER,
    "locate ATLAS SCAN --sensor 0 0 inf": "`--sensor` must be x, y (m) and yaw (rad) on the ",
    "locate ATLAS SCAN --sensor nan 0 0": "within ±100, got nan, 0, 0.",
    "locate ATLAS SCAN --sensor 0 1e308 0": "within ±100, got 0, 1e+308, 0.",
    "track ATLAS LOG --sensor -inf 0 0": "within ±100, got -inf, 0, 0.",
    "track ATLAS LOG --sweep nan": "`--sweep` must be from 0 to 1 s, got nan.",
    "track ATLAS LOG --sweep -1": "`--sweep` must be from 0 to 1 s, got -1.",
    "track ATLAS LOG --sweep 1e308": "`--sweep` must be from 0 to 1 s, got 1e+308.",
    "track ATLAS LOG --every 0": "`--every` must be 1 or more, got 0.",
    "track ATLAS LOG --every 1.5": WHOLE,
    "track ATLAS LOG --start -1": "`--start` and `--stop` must satisfy 0 ≤ start < stop ≤ 6, the ",
    "track ATLAS LOG --stop 99": "`--start` and `--stop` must satisfy 0 ≤ start < stop ≤ 6, the ",
    "track ATLAS LOG --start 3 --stop 2": "`--start` and `--stop` must satisfy 0 ≤ start < stop ≤",
    "survey ATLAS --field-of-view nan": "must be more than 0° and at most 360°, as 2π rad, got na",
    "survey ATLAS --field-of-view 400": "must be more than 0° and at most 360°, as 2π rad, got 40",
    "survey ATLAS --beams 0": "A lidar needs at least 1 beam, got 0.",
    "survey ATLAS --beams 99999999999": "A lidar has at most 10000000 beams, got 99999999999.",
    "survey ATLAS --range-max nan": "`--range-max` must be more than `range_min`, 0.05 m, got nan ",
    "survey ATLAS --range-max -1": "`--range-max` must be more than `range_min`, 0.05 m, got -1 m.",
    "survey ATLAS --noise nan": "must be a length in m, 0 or more, got nan.",
    "survey ATLAS --noise inf": "must be a length in m, 0 or more, got inf.",
    "survey ATLAS --noise 20": "must be less than `--range-max`, 10 m, got 20 m. Both are in m.",
    "survey ATLAS --noise -1": "must be a length in m, 0 or more, got -1.0.",
    "survey ATLAS --rings 0": "Invalid value for '--rings': ",
    "survey ATLAS --seed -1": "Invalid value for '--seed': ",
    "survey ATLAS --count 0": "got 0.",
    "explore ATLAS --range-max nan": "`--range-max` must be more than `range_min`, 0.05 m, got na",
    "explore ATLAS --range-max -inf": "`--range-max` must be more than `range_min`, 0.05 m, got -",
    "explore ATLAS --seed -1": "Invalid value for '--seed': ",
    "explore ATLAS --field-of-view 0": "must be more than 0° and at most 360°, as 2π rad, got 0°.",
    "demo --seed -1": "Invalid value for '--seed': ",
    "demo --seed 1.5": WHOLE,
    "bench simulate ROS --count 1 --seed -1": "Invalid value for '--seed': ",
    "bench simulate ROS --clutter 1": "must lie in [0, 1), got ",
    "bench simulate ROS --clutter nan": "must lie in [0, 1), got ",
    "bench simulate3d ROS --low nan": "`--low` and `--high` must be elevations in ascending order ",
    "bench simulate3d ROS --azimuths 0": "A spinning lidar needs at least 1 ring and 1 azimuth, ",
    "bench starts LOG --reach nan": "shorter than a drive of nan m.",
    "bench starts LOG --reach inf": "shorter than a drive of inf m.",
    "bench carmen LOG --split half": "'half' is not one of 'fifth', 'revisit'. See `isovist bench ",
    "bench follow ROS LOG --sweep nan": "`--sweep` must be from 0 to 1 s, got nan.",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the words in capitals stand for."""
    home = tmp_path_factory.mktemp("hostile")
    world = iv.OccupancyMap.from_segments(iv.SegmentMap.room(6, 4).walls.reshape(-1, 2, 2), 0.2)
    iv.write_map(iv.SegmentMap.room(6, 4), home / "room.geojson")
    iv.write_map(world, home / "room.yaml")
    lidar = iv.Lidar(beams=90)
    seen = lidar.scan(world, iv.Pose(1.3, 1.7, 0.4), np.random.default_rng(0))
    iv.write_scan(seen, home / "scan.json")
    iv.write_atlas(iv.build(world, spacing=1.0), home / "atlas")
    rows = np.random.default_rng(2).uniform(1.0, 3.0, (6, 90)).round(2)
    with (home / "drive.log").open("w") as log:
        for k, row in enumerate(rows.tolist()):
            words = ["FLASER", 90, *row, k, 0, 0.1, k, 0.1, 0.1, k + 5.0, "host", k]
            log.write(" ".join(map(str, words)) + "\n")
    np.savez(home / "set.npz", ranges_m=rows, pose=np.zeros((6, 3)), angle_min=0.0, angle_inc=0.02)
    (home / "folder").mkdir()
    (home / "folder" / "letter.txt").write_text("dear reader")
    names = {
        "PLAN": "room.geojson", "ROS": "room.yaml", "SCAN": "scan.json", "ATLAS": "atlas",
        "LOG": "drive.log", "NPZ": "set.npz", "DIR": "folder", "OUT": "out", "NO": "no",
    }  # fmt: skip
    return {word: home / name for word, name in names.items()}


def words_of(line: str, files: dict[str, Path]) -> list[str]:
    """The words of a command line, with paths for the names in capitals."""
    words = []
    for word in line.split():
        name = word.split(".")[0].split("/")[0]
        words.append(str(files[name]) + word[len(name) :] if name in files else word)
    return words


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_that_cannot_work_is_one_line(line, files, typed):
    code, out, err = typed(*words_of(line, files))
    assert code == 2, err
    assert err.count("\n") == 1
    assert err.startswith("isovist: ")
    assert LINES[line] in err
    assert err.rstrip().endswith(".")
    assert out == "" or line.startswith("bench")


@pytest.mark.parametrize(
    "line",
    [
        "bench simulate PLAN NO.yaml",
        "bench simulate3d PLAN NO.yaml",
        "bench carmen LOG NO.log",
        "bench starts LOG NO.log",
        "bench cross LOG NO.log",
        "bench descriptors PLAN NO.yaml",
    ],
)
def test_all_files_are_there_before_the_first_is_worked_on(line, files, typed, monkeypatch):
    for name in ("isovist.cli.rows._simulated", "isovist.cli.inputs.carmen_of"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("It worked on the first one."))
    code, _out, err = typed(*words_of(line, files))
    assert code == 2
    assert NO_FILE in err


def test_there_are_many_of_them():
    assert len(LINES) >= 90
