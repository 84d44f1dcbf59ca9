"""Atlases: built, written, read back; damaged ones are noticed before they answer."""

import json

import numpy as np
import pytest
from tests.support.reference_locate import building
from tests.support.sites import PLANE, SPACE
from typer.testing import CliRunner

from isovist import (
    FileError,
    InputError,
    Lidar,
    OccupancyMap,
    Pose,
    Scan,
    Verdict,
    build,
    locate,
    read_atlas,
    write_atlas,
    write_map,
    write_scan,
)
from isovist.apps import app
from isovist.atlas import atlas_info, check_atlas
from isovist.maps import Cell
from isovist.simulation import office_floor

TRUTH = Pose(3.5, 2.0, 0.7)


@pytest.fixture(scope="module")
def world():
    walls = office_floor(2, length=15.0, rows=2).plan.walls.reshape(-1, 2, 2)
    return OccupancyMap.from_segments(walls, 0.05)


@pytest.fixture(scope="module")
def atlas(world):
    return build(world)


@pytest.fixture
def folder(atlas, tmp_path):
    write_atlas(atlas, tmp_path / "office.atlas")
    return tmp_path / "office.atlas"


@pytest.fixture
def scan(world):
    return Lidar(beams=180).scan(world, TRUTH, np.random.default_rng(0))


@pytest.mark.slow
def test_an_atlas_read_back_is_the_same_bit_for_bit(atlas, folder, scan):
    again = read_atlas(folder)
    assert atlas.arrays().keys() == again.arrays().keys()
    for name, array in atlas.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
        assert again.arrays()[name].dtype == array.dtype
    assert again.world.origin == atlas.world.origin
    assert again.spacing == atlas.spacing
    first, second = locate(atlas, scan), locate(again, scan)
    assert first.best.pose == second.best.pose
    assert first.verdict is second.verdict


@pytest.mark.slow
def test_building_reports_progress_up_to_the_end(world):
    told = []
    build(world, spacing=0.5, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.slow
def test_info_tells_what_is_inside(atlas, folder):
    info = atlas_info(folder)
    assert info.shape == atlas.world.shape
    assert info.nodes == len(atlas.nodes)
    assert info.spacing == 0.25
    assert info.free_area == pytest.approx(atlas.world.free_area)
    shown = CliRunner().invoke(app, ["info", str(folder), "--check", "--json"])
    assert json.loads(shown.output)["checked"] is True


def test_a_flipped_byte_anywhere_is_found_and_never_answers(folder, scan, tmp_path):
    write_scan(scan, tmp_path / "scan.json")
    rng = np.random.default_rng(1)
    for path in sorted(folder.iterdir()):
        data = bytearray(path.read_bytes())
        at = int(rng.integers(len(data)))
        data[at] ^= 1 << int(rng.integers(8))
        original = path.read_bytes()
        path.write_bytes(data)
        assert check_atlas(folder), path.name
        with pytest.raises(FileError):
            read_atlas(folder)
        path.write_bytes(original)
    assert check_atlas(folder) == []


@pytest.mark.slow
def test_a_damaged_atlas_is_one_line_and_exit_code_2(folder, scan, tmp_path, typed):
    write_scan(scan, tmp_path / "scan.json")
    (path,) = folder.glob("descriptors.*.npy")
    path.write_bytes(path.read_bytes()[:-100])
    for arguments in (("info", folder, "--check"), ("locate", folder, tmp_path / "scan.json")):
        code, out, err = typed(*arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert path.name in err


@pytest.mark.slow
def test_build_locate_and_info_work_from_the_command_line(world, scan, tmp_path):
    write_map(world, tmp_path / "office.yaml")
    write_scan(scan, tmp_path / "scan.json")
    runner = CliRunner()
    folder = str(tmp_path / "office.atlas")
    built = runner.invoke(app, ["build", str(tmp_path / "office.yaml"), "-o", folder])
    assert built.exit_code == 0
    picture = tmp_path / "answer.png"
    shown = runner.invoke(
        app, ["locate", folder, str(tmp_path / "scan.json"), "--json", "--figure", str(picture)]
    )
    answer = json.loads(shown.output)
    assert shown.exit_code == (0 if answer["verdict"] == "unique" else 1)
    assert answer["estimates"][0]["x"] == pytest.approx(TRUTH.x, abs=0.1)
    assert answer["estimates"][0]["y"] == pytest.approx(TRUTH.y, abs=0.1)
    assert answer["estimates"][0]["yaw"] == pytest.approx(TRUTH.yaw, abs=0.03)
    assert set(answer["estimates"][0]) >= {"probability", "covariance", "inliers"}
    assert set(answer["certificate"]) >= {"mu", "bound", "holds", "assumptions"}
    assert set(answer["timing_ms"]) >= {"search", "refine", "judge", "total"}
    assert picture.read_bytes()[:4] == b"\x89PNG"
    words = runner.invoke(app, ["locate", folder, str(tmp_path / "scan.json")])
    assert words.output.startswith(answer["verdict"])


@pytest.mark.slow
def test_a_scan_of_nothing_like_the_map_is_not_unique(atlas):
    ring = Scan(np.linspace(-np.pi, np.pi, 181), np.full(181, 0.8))
    assert locate(atlas, ring).verdict is not Verdict.UNIQUE


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["info", "nothing.atlas"], "nothing.atlas: there is no such folder."),
        (["locate", "nothing.yaml", "scan.json"], "nothing.yaml: there is no such file."),
        (["build", "nothing.yaml", "-o", "x.atlas"], "nothing.yaml: there is no such file."),
    ],
)
def test_what_is_not_there_is_one_line(arguments, text, tmp_path, scan, typed):
    write_scan(scan, tmp_path / "scan.json")
    placed = [str(tmp_path / a) if "." in a else a for a in arguments]
    assert typed(*placed) == (2, "", f"isovist: {tmp_path / text}\n")


def test_bad_questions_are_refused(world):
    with pytest.raises(InputError) as caught:
        build(world, spacing=0.0)
    assert str(caught.value) == "`spacing` must be a positive length in m, got 0.0."
    open_field = OccupancyMap.from_array(np.full((20, 20), Cell.FREE), 0.1)
    with pytest.raises(InputError) as caught:
        build(open_field)
    assert str(caught.value) == (
        "The map has no wall that borders free space, so no scan can fit it."
    )


@pytest.mark.slow
def test_the_command_says_which_spacing_it_took(tmp_path):
    write_map(building(), tmp_path / "map.yaml")
    runner = CliRunner()
    for asked, said in (("0.5", []), ("0.12", ["A spacing of 0.12 m was asked for; nodes lie on "
                                               "whole cells of 0.05 m."])):  # fmt: skip
        out = str(tmp_path / f"atlas{asked}")
        done = runner.invoke(
            app, ["build", str(tmp_path / "map.yaml"), "-o", out, "--spacing", asked]
        )
        assert done.exit_code == 0, done.exception
        first, *more = done.output.strip().splitlines()
        assert f"nodes every {round(float(asked) / 0.05) * 0.05:g} m" in first
        assert more == said


@pytest.mark.parametrize(
    ("site", "text"),
    [
        (
            PLANE,
            "Describing a map of {cells} cells with about {nodes} nodes takes about {need:.1f} GB "
            "of memory, and this machine has 0.0 GB. Take a larger `spacing`, make the cells "
            "larger, or crop the map.",
        ),
        (
            SPACE,
            "Describing a map of {cells} cells takes about {need:.1f} GB of memory, and this "
            "machine has 0.0 GB. Take a larger `spacing` or larger cells, or cut the map.",
        ),
    ],
    ids=["plane", "space"],
)
def test_a_map_that_no_memory_holds_is_refused_before_any_is_taken(site, text, monkeypatch):
    monkeypatch.setattr("isovist.types.memory", lambda: 1e6)
    cells = site.world.cells
    nodes = int((cells == 0).sum()) // 25
    need = (12 * cells.size + 1450 * nodes if site is PLANE else 60 * cells.size) / 1e9
    with pytest.raises(InputError) as caught:
        build(site.world)
    assert str(caught.value) == text.format(cells=cells.size, nodes=nodes, need=need)


def test_nodes_in_space_count_too(monkeypatch):
    cells = SPACE.world.cells
    monkeypatch.setattr("isovist.types.memory", lambda: 60.0 * cells.size + 1e5)
    with pytest.raises(InputError) as caught:
        build(SPACE.world)
    assert f"Describing a map of {cells.size} cells with 406 nodes takes about" in str(caught.value)
