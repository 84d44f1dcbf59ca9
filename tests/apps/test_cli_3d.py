"""Maps and scans in space by file, at the command line, and in pictures."""

import json

import numpy as np
import pytest
from tests.support.reference_space import LIDAR, at, house, house_atlas, symmetric_room
from typer.testing import CliRunner

import isovist as iv
from isovist import Answer, CloudScan, FileError, InputError, MeshMap, Pose3, Verdict, VoxelMap
from isovist.apps import app
from isovist.maps import Cloud
from isovist.report import answer_json, answer_text, draw_answer, slice_of
from isovist.simulation import office_floor

pytestmark = pytest.mark.slow

TRUTH = at(5.0, 0.0, 0.7)


def taken():
    return LIDAR.scan(house(), TRUTH, np.random.default_rng(1))


def write_ply(path, points, faces=()):
    """A PLY file in text."""
    head = f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n"
    head += "".join(f"property float {name}\n" for name in "xyz")
    head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\n" if faces else ""
    rows = [f"{x:.6f} {y:.6f} {z:.6f}" for x, y, z in points]
    rows += [f"3 {a} {b} {c}" for a, b, c in faces]
    path.write_text(head + "end_header\n" + "\n".join(rows) + "\n")


def walls():
    """Centres of the walls of the house, a map as a surveyor delivers it."""
    return house().centres(np.flatnonzero(house().cells.ravel() == 1))


def test_the_suffix_and_the_faces_say_what_a_map_in_space_is(tmp_path):
    write_ply(tmp_path / "cloud.ply", walls())
    box = MeshMap.box((0, 0, 0), (4, 3, 2))
    write_ply(tmp_path / "mesh.ply", box.vertices, box.faces.tolist())
    np.savetxt(tmp_path / "cloud.xyz", np.concatenate([walls(), np.zeros((40, 3))]))
    cloud, mesh, text = (
        iv.read_map(tmp_path / name) for name in ("cloud.ply", "mesh.ply", "cloud.xyz")
    )
    assert isinstance(cloud, VoxelMap)
    assert cloud.resolution == 0.2
    assert set(np.unique(cloud.cells)) == {0, 1}
    assert isinstance(mesh, MeshMap)
    assert mesh.free == "inside"
    assert isinstance(text, VoxelMap)
    np.testing.assert_array_equal(text.cells, cloud.cells)


def test_points_at_the_origin_are_missing_returns():
    cloud = Cloud(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([5.0, 6.0])).returns()
    np.testing.assert_array_equal(cloud.points, [[1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(cloud.intensities, [6.0])


def test_maps_in_space_are_not_written(tmp_path):
    with pytest.raises(FileError, match="and other maps are not written"):
        iv.write_map(house(), tmp_path / "house.yaml")


def test_scans_in_space_come_back_from_files(tmp_path):
    scan = CloudScan(taken().points, np.arange(float(len(taken().points))), 0.1, 20.0, roll=0.01)
    iv.write_scan(scan, tmp_path / "scan.npz")
    again = iv.read_scan(tmp_path / "scan.npz")
    np.testing.assert_array_equal(again.points, scan.points)
    np.testing.assert_array_equal(again.intensities, scan.intensities)
    assert (again.range_min, again.range_max, again.roll, again.pitch) == (0.1, 20.0, 0.01, 0.0)
    write_ply(tmp_path / "scan.ply", scan.points)
    np.testing.assert_allclose(iv.read_scan(tmp_path / "scan.ply").points, scan.points, atol=1e-6)
    rows = np.column_stack([scan.points, scan.intensities]).astype("<f4")
    (tmp_path / "scan.bin").write_bytes(rows.tobytes())
    kitti = iv.read_scan(tmp_path / "scan.bin")
    np.testing.assert_allclose(kitti.points, scan.points, atol=1e-5)
    np.testing.assert_allclose(kitti.intensities, scan.intensities)


def test_bad_files_of_points_are_one_line(tmp_path):
    path = tmp_path / "scan.npz"
    for points, words in (
        (np.zeros((0, 3)), "scan.npz: A scan in space needs at least 50 returns, got 0 among 0"),
        (np.full((80, 3), np.nan), "scan.npz: A scan in space needs at least 50 returns, got 0"),
        (np.ones((3, 3)), "scan.npz: A scan in space needs at least 50 returns, got 3 among 3"),
        (np.ones((80, 2)), "scan.npz: `points` must have shape (any, 3), got (80, 2)."),
        (np.array(["a", "b"]), "scan.npz: `points` must be numbers, got '<U1'."),
    ):
        np.savez(path, points=points)
        with pytest.raises(FileError) as error:
            iv.read_scan(path)
        assert str(error.value).startswith(words)
    with pytest.raises(InputError, match=r"A scan in space is written as \.npz, got 'scan.json'"):
        iv.write_scan(taken(), tmp_path / "scan.json")


def test_the_command_line_builds_tells_and_locates_in_space(tmp_path):
    write_ply(tmp_path / "house.ply", walls())
    iv.write_scan(taken(), tmp_path / "scan.npz")
    runner = CliRunner()
    atlas = str(tmp_path / "atlas")
    built = runner.invoke(
        app,
        ["build", str(tmp_path / "house.ply"), "-o", atlas, "--height", "1", "--spacing", "0.4"],
    )
    assert built.exit_code == 0, built.output
    told = runner.invoke(app, ["info", atlas, "--check"])
    assert "cells of 0.2 m" in told.output
    assert "768 directions" in told.output
    figure = tmp_path / "answer.png"
    found = runner.invoke(
        app, ["locate", atlas, str(tmp_path / "scan.npz"), "--json", "--figure", str(figure)]
    )
    answer = json.loads(found.output)
    assert found.exit_code == (0 if answer["verdict"] == "unique" else 1)
    best = answer["estimates"][0]
    np.testing.assert_allclose(
        [best["x"], best["y"], best["z"], best["yaw"]], [5.0, 0.0, 1.5, 0.7], atol=0.15
    )
    assert set(best) >= {"roll", "pitch", "probability", "covariance", "inliers"}
    assert answer["certificate"]["holds"] is False
    assert figure.stat().st_size > 10_000


def test_the_command_line_refuses_what_does_not_fit(tmp_path):
    write_ply(tmp_path / "house.ply", walls())
    plan = tmp_path / "room.geojson"
    iv.write_map(iv.SegmentMap.room(6, 4), plan)
    out = str(tmp_path / "atlas")
    for arguments, words in (
        (["build", str(plan), "-o", out, "--height", "1"],
         "`--height` is for maps in space; this map is of the plane."),
        (["build", str(tmp_path / "house.ply"), "-o", out, "--highest", "2"],
         "`--highest` needs `--height`, the lowest height of the sensor."),
        (["bench", "simulate", str(tmp_path / "house.ply")],
         "A map in space needs a spinning lidar, one of the plane a planar one."),
        (["bench", "simulate3d", str(plan)],
         "A map in space needs a spinning lidar, one of the plane a planar one."),
    ):  # fmt: skip
        result = CliRunner().invoke(app, arguments)
        assert str(result.exception) == words


def test_bench_in_space_prints_the_rows_of_the_plane(tmp_path):
    box = MeshMap.joined([MeshMap.box((0, 0, 0), (5, 4, 2.5)), MeshMap.box((1, 1, 0), (2, 1.5, 2))])
    write_ply(tmp_path / "room.ply", box.vertices, box.faces.tolist())
    result = CliRunner().invoke(
        app,
        ["bench", "simulate3d", str(tmp_path / "room.ply"), "--count", "2", "--azimuths", "180",
         "--json"],
    )  # fmt: skip
    (row,) = json.loads(result.output)
    assert row["queries"] == 2
    assert row["success"] == 1.0
    assert row["false_confident"] == 0.0
    assert row["area_m2"] == pytest.approx(19.0, rel=0.15)


def test_the_demonstration_in_space_is_right(tmp_path, monkeypatch):
    """In the shortest building there is, which takes half as long."""
    small = lambda seed, **_: office_floor(seed, length=15.0, rows=2)  # noqa: E731
    monkeypatch.setattr("isovist.bench.demonstration.office_floor", small)
    figure = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--3d", "--json", "--figure", str(figure)])
    shown = json.loads(result.output)
    assert shown["right"]
    assert shown["truth"]["z"] == 1.0
    assert figure.stat().st_size > 10_000


def test_words_and_pictures_show_the_height():
    answer = iv.locate(house_atlas(), taken())
    assert " z   1." in answer_text(answer)
    assert answer_json(answer)["estimates"][0]["z"] == pytest.approx(1.5, abs=0.06)
    figure = draw_answer(house_atlas(), taken(), answer, TRUTH)
    above, oblique = figure.axes
    assert above.get_title() == "The place on the map"
    assert "2 m" in {text.get_text() for text in oblique.texts}
    lost = draw_answer(house_atlas(), taken(), Answer(Verdict.LOST, "", ()))
    assert len(lost.axes) == 1
    with pytest.raises(InputError, match="The scan is of the plane, and the atlas is of a map in"):
        draw_answer(house_atlas(), iv.Scan([0.0, 0.1], [1.0, 1.0]), answer)


def test_a_slice_shows_the_walls_at_a_height():
    plan = slice_of(symmetric_room(False), 1.2)
    assert plan.shape == (42, 62)
    assert not plan.contains([1.2, 1.0])
    assert plan.contains([3.0, 2.0])
    assert Pose3.lifted(iv.Pose(1.0, 2.0)).z == 0.0
