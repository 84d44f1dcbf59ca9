"""Storeys of a building in space: cut apart, described each, and told apart."""

import json

import numpy as np
import pytest
from tests.support.reference_space import house
from tests.support.sites import PLANE, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError, Pose3, SpinningLidar, Tracker, VoxelMap, write_scan
from isovist.apps import app
from isovist.bench.demonstration import HEIGHT
from isovist.maps.storeys import storeys
from isovist.simulation import shared, somewhere, tower
from isovist.simulation import storeys as drawn

pytestmark = pytest.mark.slow

LIDAR = SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)


@pytest.fixture(scope="module")
def site():
    return tower(0, 3, length=15.0, rows=2, cell=0.14)  # a twentieth of a storey


@pytest.fixture(scope="module")
def atlases(site):
    parts = storeys(site.plan).items()
    return {name: iv.build(part, height=HEIGHT, spacing=0.56) for name, part in parts}


def test_a_building_is_cut_where_its_slabs_are():
    site = tower(0, 3, length=15.0, rows=2)
    parts = storeys(site.plan)
    assert list(parts) == ["floor 1", "floor 2", "floor 3"]
    for part, z in zip(parts.values(), site.heights, strict=True):
        low, high = part.bounds[:, 2]
        assert low == pytest.approx(z, abs=0.11)
        assert high == pytest.approx(z + 2.8, abs=0.16)
        np.testing.assert_array_equal(part.bounds[:, :2], site.plan.bounds[:, :2])
        level = round((part.corner[2] - site.plan.corner[2]) / part.resolution)
        np.testing.assert_array_equal(part.cells, site.plan.cells[level : level + len(part.cells)])
    floors = drawn(0, 3, length=15.0, rows=2)
    assert 0.5 < shared(floors[0], floors[1]) < 1.0


def test_one_storey_is_one_and_reflectances_go_along():
    cells = house().cells
    whole = VoxelMap.from_array(cells, 0.1, (3.0, -2.0, 0.4), reflectance=np.arange(cells.size))
    (only,) = storeys(whole).values()
    np.testing.assert_array_equal(only.cells, whole.cells)
    np.testing.assert_array_equal(only.reflectance, whole.reflectance)


def test_what_has_no_storey_is_one_line():
    with pytest.raises(InputError) as error:
        storeys(PLANE.world)
    assert str(error.value) == ("Storeys are of a map in space, a VoxelMap, got OccupancyMap.")
    poles = np.zeros((40, 20, 20), np.uint8)
    poles[:, ::5, ::5] = 1
    poles[0] = poles[10] = 1
    with pytest.raises(InputError) as error:
        storeys(VoxelMap.from_array(poles[:11], 0.1))
    assert str(error.value) == (
        "The map has no storey: nowhere is half of the ground covered with 1.8 m of room above it. "
        "Describe it as one."
    )
    with pytest.raises(InputError) as error:
        storeys(VoxelMap.from_array(np.zeros((5, 5, 5), np.uint8), 0.1))
    assert str(error.value) == "The map has no occupied cell, so it has no floor."


def test_an_answer_says_the_storey_and_never_the_wrong_one(site, atlases):
    rng = np.random.default_rng(1)
    right = 0
    for k in (0, 1, 2, 1):
        at = somewhere(site.grounds[k], rng)
        truth = Pose3(at.x, at.y, at.yaw, site.heights[k] + HEIGHT)
        answer = iv.locate(atlases, LIDAR.scan(site.reality[k], truth, rng))
        if answer.verdict == "unique":
            assert answer.map == f"floor {k + 1}"
            assert gap(answer.best.pose, truth)[0] < 0.2
            right += 1
    assert right >= 2


def test_a_tracker_says_the_storey(site, atlases):
    rng, tracker = np.random.default_rng(3), Tracker(atlases)
    at = somewhere(site.grounds[2], rng)
    truth = Pose3(at.x, at.y, at.yaw, site.heights[2] + HEIGHT)
    for k in range(3):
        belief = tracker.update(Pose3(), LIDAR.scan(site.reality[2], truth, rng), time=0.1 * k)
    assert belief.map in atlases
    if belief.verdict == "unique":
        assert belief.map == "floor 3"


def test_the_command_builds_an_atlas_for_each_storey(tmp_path, site, atlases, monkeypatch):
    """Those of the fixture, so that they are described once."""
    told = []

    def built(_part, **options):
        told.append({name: options[name] for name in ("spacing", "height")})
        return atlases[f"floor {len(told)}"]

    read = "isovist.io.maps.read.read_map"
    given = {".bt": site.plan}
    monkeypatch.setattr(read, lambda path, **_: given.get(path.suffix, PLANE.world))
    monkeypatch.setattr("isovist.atlas.build.build", built)
    out = tmp_path / "new" / "tower"
    words = ["build", "tower.bt", "--storeys", "--height", "1", "--spacing", "0.56", "-o", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.exception
    assert told == [{"spacing": 0.56, "height": 1.0}] * 3
    names = ["floor 1.atlas", "floor 2.atlas", "floor 3.atlas"]
    lines = result.output.strip().splitlines()
    assert [line.split(":")[0] for line in lines] == [str(out / name) for name in names]
    assert list(iv.read_library(out)) == ["floor 1", "floor 2", "floor 3"]
    rng = np.random.default_rng(1)
    at = somewhere(site.grounds[1], rng)
    truth = Pose3(at.x, at.y, at.yaw, site.heights[1] + HEIGHT)
    write_scan(LIDAR.scan(site.reality[1], truth, rng), tmp_path / "scan.npz")
    result = CliRunner().invoke(app, ["locate", str(out), str(tmp_path / "scan.npz"), "--json"])
    report = json.loads(result.output)
    assert (report["verdict"] == "unique") <= (report["map"] == "floor 2")
    assert "floor 2" in {estimate["map"] for estimate in report["estimates"]}
    (tmp_path / "file").write_text("")
    cases = [
        ("plan.yaml", "x", "`--storeys` is for maps in space; this map is of the plane."),
        ("tower.bt", "file", f"{tmp_path / 'file'} cannot be written: File exists."),
    ]
    for name, folder, text in cases:
        words = ["build", name, "--storeys", "-o", str(tmp_path / folder)]
        assert str(CliRunner().invoke(app, words).exception) == text
