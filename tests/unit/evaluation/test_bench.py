"""`isovist bench` on small logs made here."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isovist import OccupancyMap, Pose, write_map
from isovist.apps import app
from isovist.poses import unit_vectors
from isovist.simulation import office_floor

pytestmark = pytest.mark.slow

KEYS = {
    "site", "queries", "area_m2", "nodes", "success", "unique", "false_confident",
    "median_error_m", "median_error_deg", "p95_error_m", "coverage95", "median_ms", "p95_ms",
    "build_s",
}  # fmt: skip


@pytest.fixture(scope="module")
def floor():
    return office_floor(2, length=15.0, rows=2).plan


def drive(floor, path, count=40, turn=0.35):
    """A CARMEN log of a robot that turns and creeps along, with true poses."""
    rng = np.random.default_rng(0)
    bearings = np.deg2rad(-90.0 + np.arange(180))
    lines = []
    for k in range(count):
        pose = Pose(3.0 + 0.02 * k, 2.0, turn * k)
        hits = floor.cast([pose.x, pose.y], unit_vectors(bearings + pose.yaw))
        ranges = hits.ranges + rng.normal(0.0, 0.01, 180)
        numbers = " ".join(f"{r:.3f}" for r in ranges)
        x = f"{pose.x:.4f} {pose.y:.4f} {pose.yaw:.5f}"
        lines.append(f"FLASER 180 {numbers} {x} {x} {k}.0 host {k}.0")
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(*arguments):
    result = CliRunner().invoke(app, ["bench", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_log_gives_one_row_with_all_keys(floor, tmp_path):
    (row,) = rows("carmen", drive(floor, tmp_path / "office.log"))
    assert set(row) >= KEYS
    assert row["site"] == "office"
    assert row["queries"] == 8
    assert row["success"] >= 0.75
    assert row["false_confident"] == 0.0


def test_a_row_with_proofs_says_how_many_hold(floor, tmp_path):
    (row,) = rows("carmen", "--prove", "--every", 2, drive(floor, tmp_path / "office.log"))
    assert row["queries"] == 4
    assert row["proved_unique"] > 0.0
    assert row["proof_wrong"] == 0
    assert row["listed_complete"] == 1.0
    assert row["prove_ms"] > 0.0
    assert set(row["calibration"]) == {"ellipses", "probabilities"}


def test_the_later_half_asks_on_the_map_of_the_first(floor, tmp_path):
    (row,) = rows("carmen", "--split", "revisit", drive(floor, tmp_path / "office.log"))
    assert 10 <= row["queries"] <= 20


def test_scans_with_poses_ask_on_a_given_map(floor, tmp_path):
    world = OccupancyMap.from_segments(floor.walls.reshape(-1, 2, 2), 0.05)
    write_map(world, tmp_path / "office.yaml")
    bearings = np.deg2rad(np.arange(360.0))
    poses = np.array([[3.0, 2.0, 0.3], [3.4, 2.2, -2.0], [2.8, 1.7, 1.2]])
    ranges = [world.cast(pose[:2], unit_vectors(bearings + pose[2])).ranges for pose in poses]
    np.savez(
        tmp_path / "scans.npz", ranges_m=np.array(ranges), pose=poses, angle_min=0.0,
        angle_inc=np.deg2rad(1.0), range_max=30.0, in_map_split=np.array([True, False, False]),
    )  # fmt: skip
    np.savez(tmp_path / "some.npz", index=np.array([1]))
    both = [tmp_path / "office.yaml", tmp_path / "scans.npz"]
    assert rows("scans", *both)[0]["queries"] == 3
    assert rows("scans", *both, "--held-out")[0]["queries"] == 2
    (row,) = rows("scans", *both, "--index", tmp_path / "some.npz")
    assert row["queries"] == 1
    assert row["success"] == 1.0


def test_simulated_scans_and_foreign_maps(floor, tmp_path):
    world = OccupancyMap.from_segments(floor.walls.reshape(-1, 2, 2), 0.05)
    write_map(world, tmp_path / "office.yaml")
    (row,) = rows("simulate", tmp_path / "office.yaml", "--count", "6", "--prove")
    assert row["queries"] == 6
    assert row["prove_ms"] > 0.0
    assert row["false_confident"] == 0.0
    other = office_floor(5, length=16.0, rows=2).plan
    logs = [drive(floor, tmp_path / "a.log"), drive(other, tmp_path / "b.log")]
    crossed = rows("cross", *logs, "--count", "3")
    assert crossed["asked"] == 6


def test_a_site_without_queries_is_left_out(floor, tmp_path):
    log = drive(floor, tmp_path / "short.log", count=2)
    result = CliRunner().invoke(app, ["bench", "carmen", str(log)])
    assert result.exit_code == 0
    assert "short has no query under this protocol; it is left out." in result.output


def test_storeys_share_most_of_their_walls():
    from isovist.simulation import shared, storeys

    floors = storeys(1, 3, length=30.0)
    common = [shared(a, b) for a, b in zip(floors, [*floors[1:], floors[0]], strict=True)]
    assert 0.75 < min(common) <= max(common) < 0.85
    assert shared(floors[0], floors[0]) == 1.0
    floors, again = (storeys(1, 3, length=15.0, rows=2) for _ in range(2))
    assert all((a.plan.walls == b.plan.walls).all() for a, b in zip(floors, again, strict=True))
