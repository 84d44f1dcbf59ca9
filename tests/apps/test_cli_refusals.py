"""Command lines that cannot work: exit code 2 and one line, never a traceback, before the work."""

import re

import numpy as np
import pytest
from tests.support.command_line import one_line

import isovist as iv

# Code of the error, what its line names, and the command line; one row for several {values}.
TABLE = """
usage          foo                foo
usage          --foo              {--foo, locate --foo PLAN SCAN}
usage          bench              bench
usage          follow             bench foo
usage          MAP_OR_ATLAS       {locate, locate PLAN, track ATLAS}
usage          MAP                build
usage          ATLAS              info
usage          TARGET             map convert PLAN
usage          LOG                bench carmen
usage          --output           build PLAN
usage          -o                 build PLAN -o
usage          --library          serve
system         xxx                map make LONG -o made.yaml
not_found      no.yaml            locate {NO.yaml SCAN, NO.yaml ATLAS SCAN}
not_found      no.json            locate PLAN NO.json
not_found      no.foo             locate NO.foo SCAN
not_found      no                 {locate NO SCAN, info NO}
not_found      no.yaml            build NO.yaml -o OUT
not_found      manifest.json      info DIR
not_found      room.geojson       info PLAN
not_found      no.yaml            map convert NO.yaml OUT.geojson
not_found      no.log             track ATLAS NO.log
not_found      no.yaml            track {NO.yaml LOG, ATLAS LOG --links NO.yaml}
not_found      no.yaml            {explore NO.yaml, survey NO.yaml}
not_found      no.log             bench carmen NO.log
not_found      no.npz             bench scans ROS {NO.npz, NPZ --index NO.npz}
not_found      no/deep            demo --bag NO/deep/drive.mcap
invalid_file   manifest.json      info DIR --check
invalid_file   folder             locate DIR SCAN
unknown_format more               locate PLAN SCAN more
unknown_format no.foo             locate PLAN NO.foo
unknown_format folder             {locate PLAN DIR, build DIR -o OUT}
unknown_format scan.json          {locate SCAN SCAN, track ATLAS SCAN, locate PLAN SCAN --scans 2}
unknown_format room.geojson       locate PLAN PLAN
unknown_format out                {map convert PLAN OUT.foo, map make SCAN -o OUT.geojson}
unknown_format out.bag            demo --bag OUT.bag
unknown_format set.npz            bench carmen NPZ
invalid_file   scan.json          bench scans ROS SCAN
invalid_file   nav_ranges_m       bench scans ROS NPZ --prefix nav_
invalid_file   odom               bench follow ROS NPZ
invalid_file   drive.log          ros --replay LOG
file_exists    folder             build PLAN -o DIR
file_not_writable no/deep         {build PLAN -o NO/deep/a, map convert PLAN NO/deep/a.geojson}
unknown_format a.doc              locate PLAN SCAN --figure a.doc
unknown_format a.doc              {demo, demo --3d, paper tables} --figure a.doc
unknown_format a.doc              {survey ATLAS, track ATLAS LOG} --figure a.doc
unknown_format a.csv              survey ATLAS -o a.csv
unknown_format a.bmp              explore ATLAS --figure a.bmp
wrong_dimension --height          build PLAN -o OUT --height 1
wrong_dimension --floors          build PLAN -o OUT --floors
missing        --max-height      build PLAN -o OUT --max-height 2
conflict       --height           {locate ATLAS SCAN, track ATLAS LOG} --height 1
conflict       --at               locate PLAN SCAN {--at 1, --scan-topic /a}
conflict       --scan-topic       track ATLAS {LOG --scan-topic /a, LOG --odometry-topic /a}
conflict       --prefix           {track ATLAS LOG, map make SCAN -o OUT.yaml} --prefix a
conflict       --near             locate ATLAS PLAN SCAN --near 1 1 1
conflict       given              locate ATLAS ATLAS SCAN
conflict       --tum              track ATLAS PLAN LOG --tum OUT.tum
conflict       --links            track ATLAS LOG --links LINKS
conflict       --map              check ATLAS SCAN 4 2 0 --map a
missing        map                {track ATLAS LOG, bench scans ROS NPZ} --held-out
missing        index              bench scans ROS NPZ --index NPZ
wrong_dimension spinning          {bench simulate3d ROS, bench simulate3d PLAN}
wrong_dimension --roll            locate ATLAS SCAN {--roll 3, --pitch 3}
wrong_dimension --tilt            locate ATLAS SCAN --tilt
wrong_dimension any               {track ATLAS LOG --any-attitude, locate ATLAS SCAN --any-attitude}
invalid_value  best               explore ATLAS --rule best
usage          --spacing          build PLAN -o OUT --spacing x
invalid_value  --spacing          build PLAN -o OUT --spacing {nan, inf, 1e308, -1, 0}
usage          --resolution       map convert PLAN OUT.yaml --resolution x
invalid_value  --resolution       map convert PLAN OUT.yaml --resolution {nan, 1e308, 1e-9, -1, 11}
invalid_value  --tolerance        map convert ROS OUT.geojson --tolerance {nan, -1, 1e308, inf}
usage          --at               locate ATLAS SCAN --at x
usage          --sensor           locate ATLAS SCAN --sensor {1 2, 0 0 x}
invalid_value  --sensor           locate ATLAS SCAN --sensor {0 0 inf, nan 0 0, 0 1e308 0}
invalid_value  --sensor           track ATLAS LOG --sensor {-inf 0 0, 101 0 0}
invalid_value  --near             locate ATLAS SCAN --near {1 2 0, nan 2 1}
invalid_value  --heading          locate ATLAS SCAN --heading {90 0, 900 10, 90 181}
invalid_value  --budget           locate ATLAS SCAN --prove --budget {nan, -1}
invalid_value  --spread           check ATLAS SCAN 4.1 2.6 0.4 --spread {0.1 1e308, 0 1, 1 0}
invalid_value  finite             check ATLAS SCAN 4 {nan 0, 2 inf, 2 0 --z nan}
invalid_value  --sweep            {track ATLAS LOG, bench follow ROS LOG} --sweep nan
invalid_value  --sweep            track ATLAS LOG --sweep {-1, 1e308}
invalid_value  --every            {track ATLAS LOG, bench carmen LOG} --every 0
usage          --every            track ATLAS LOG --every 1.5
invalid_value  --start            track ATLAS LOG {--start -1, --stop 99, --start 3 --stop 2}
invalid_value  --field-of-view    survey ATLAS --field-of-view {nan, 400}
invalid_value  --field-of-view    explore ATLAS --field-of-view 0
invalid_value  beam               survey ATLAS --beams 0
too_large      beams              survey ATLAS --beams 99999999999
invalid_value  --range-max        {survey ATLAS, explore ATLAS} --range-max nan
invalid_value  --range-max        {survey ATLAS, explore ATLAS} --range-max -inf
invalid_value  --noise            survey ATLAS --noise {nan, inf, 20, -1}
usage          --rings            survey ATLAS --rings 0
usage          --seed             {survey ATLAS, explore ATLAS, demo, bench simulate ROS} --seed -1
usage          --seed             demo --seed 1.5
invalid_value  got                survey ATLAS --count 0
invalid_value  got                survey ATLAS --compare {view=270, range-max, beams=1.5} beams=3
invalid_value  3600               demo --bag OUT.mcap --seconds {1e6, nan, 0}
invalid_value  --clutter          bench simulate ROS --clutter {1, nan}
invalid_value  --low              bench simulate3d ROS --low {nan, 50}
invalid_value  azimuth            bench simulate3d ROS --azimuths 0
too_large      log                bench starts LOG --reach {nan, inf}
usage          --split            bench carmen LOG --split half
invalid_value  --map-topic        ros --map-topic {x, /}
invalid_value  --scan             ros --scan x
invalid_value  --odom             ros --odom /
invalid_value  --publish          ros --publish poses
conflict       --publish          ros --publish tf --any-attitude
conflict       --replay           ros -o OUT.mcap
unavailable    --router           ros --connect tcp/localhost:9
invalid_value  --memory           serve --library OUT.site --memory {-5, nan}
invalid_value  --workers          serve --library OUT.site --workers 0
missing        --token-file       serve --library OUT.site {--host 0.0.0.0, --zenoh tcp/far:7447}
"""


def lines():
    """Code, what is named, and command line of every row."""
    for row in TABLE.strip().splitlines():
        code, named, line = row.split(maxsplit=2)
        before, _, rest = line.partition("{")
        several, _, after = rest.partition("}")
        for value in several.split(", "):
            yield code, named, f"{before}{value}{after}"


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
    (home / "links.yaml").write_text("- {a: [1, 2, 0.5], b: [3, 4, 0]}")
    names = {
        "PLAN": "room.geojson", "ROS": "room.yaml", "SCAN": "scan.json", "ATLAS": "atlas",
        "LOG": "drive.log", "NPZ": "set.npz", "DIR": "folder", "OUT": "out", "NO": "no",
        "LINKS": "links.yaml", "LONG": 300 * "x",
    }  # fmt: skip
    return {word: str(home / name) for word, name in names.items()}


def words_of(line, files):
    """The words of a command line, with paths for the names in capitals."""
    return [re.sub(r"^[A-Z]+\b", lambda m: files.get(m[0], m[0]), word) for word in line.split()]


@pytest.mark.parametrize(("code", "named", "line"), list(lines()))
def test_a_command_line_that_cannot_work_is_one_line(code, named, line, files):
    told = one_line(*words_of(line, files))
    assert told.out == "" or line.startswith("bench")
    assert told.reason == code
    assert named in told.err


@pytest.mark.parametrize(
    "line",
    ["simulate PLAN NO.yaml", "simulate3d ROS NO.yaml", "carmen LOG NO.log", "starts LOG NO.log",
     "cross LOG NO.log"],
)  # fmt: skip
def test_all_files_are_there_before_the_first_is_worked_on(line, files):
    """Rows are printed as soon as they are there."""
    told = one_line("bench", *words_of(line, files))
    assert told.reason == "not_found"
    assert "| room" not in told.out
    assert "| drive" not in told.out
