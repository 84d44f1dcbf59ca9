"""The benchmarks as they are called: what they ask, and rows with the documented keys."""

import numpy as np
import pytest
from tests.support.command_line import run
from tests.support.corridor_drive import BEARINGS, corridor_drive, seen_from
from tests.support.reference_locate import building
from tests.support.worlds import office

import isovist as iv

pytestmark = pytest.mark.slow


def logs_of_offices(folder):
    """CARMEN logs of a robot that turns and creeps along in two offices, a map, and its scans."""
    floors = office(2, 15.0), office(5, 16.0)
    poses = np.array([[3.0 + 0.02 * k, 2.0, 0.35 * k] for k in range(40)])
    for name, floor, count in (("a", floors[0], 40), ("b", floors[1], 40), ("c", floors[0], 2)):
        lines = []
        for k, pose in enumerate(poses[:count]):
            numbers = " ".join(f"{r:.3f}" for r in seen_from(floor, pose[None], BEARINGS)[0])
            x = "{:.4f} {:.4f} {:.5f}".format(*pose)
            lines.append(f"FLASER 180 {numbers} {x} {x} {k}.0 host {k}.0\n")
        (folder / f"{name}.log").write_text("".join(lines))
    iv.write_map(floors[0], folder / "office.yaml")
    three = np.array([[3.0, 2.0, 0.3], [3.4, 2.2, -2.0], [2.8, 1.7, 1.2]])
    np.savez(
        folder / "scans.npz", ranges_m=seen_from(floors[0], three, np.deg2rad(np.arange(360.0))),
        pose=three, angle_min=0.0, angle_inc=np.deg2rad(1.0), range_max=30.0,
        in_map_split=np.array([True, False, False]),
    )  # fmt: skip
    np.savez(folder / "some.npz", index=np.array([1]))


def drive_in_a_building(folder):
    poses, ranges, odometry = corridor_drive()
    iv.write_map(building(), folder / "map.yaml")
    np.savez(
        folder / "drive.npz", ranges_m=ranges, pose=poses, odom=odometry,
        t=0.3 * np.arange(len(poses)), angle_min=BEARINGS[0],
        angle_inc=BEARINGS[1] - BEARINGS[0], range_max=30.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    logs_of_offices(folder)
    drive_in_a_building(folder)
    return folder


@pytest.fixture
def bench(files, monkeypatch):
    """What a benchmark prints, as JSON."""
    monkeypatch.chdir(files)
    return lambda words: run("bench", *words.split(), "--json").json


@pytest.mark.parametrize(
    ("words", "queries"),
    [
        ("carmen a.log --prove --every 2", 4),
        ("carmen a.log --split revisit", 20),
        ("carmen a.log c.log", 8),  # the second is too short, and left out
        ("scans office.yaml scans.npz", 3),
        ("scans office.yaml scans.npz --held-out", 2),
        ("scans office.yaml scans.npz --index some.npz", 1),
        ("simulate office.yaml --count 6 --prove", 6),
    ],
)
def test_scans_are_asked_alone_and_found(bench, words, queries):
    (row,) = bench(words)
    assert row["queries"] == queries
    assert row["success"] >= 0.75
    assert row["false_confident"] == 0.0
    if "prove" in words:
        assert row["proved_unique"] > 0.0
        assert (row["proof_wrong"], row["listed_complete"]) == (0, 1.0)


def test_a_robot_is_followed_and_a_kidnapped_one_is_noticed(bench):
    (row,) = bench("follow map.yaml drive.npz")
    assert row["wrong"] == 0
    assert row["rmse_m"] < 0.05
    (row,) = bench("kidnap map.yaml drive.npz --count 3")
    assert (row["kidnaps"], row["noticed"]) == (3, 1.0)


def test_scans_of_each_site_are_asked_on_the_map_of_the_other(bench):
    assert bench("cross a.log b.log --count 3")["asked"] == 6


def test_one_log_has_no_map_of_another(files, monkeypatch):
    monkeypatch.chdir(files)
    line = run("bench", "cross", "a.log")
    assert (line.code, line.reason) == (2, "missing")
