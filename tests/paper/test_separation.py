"""A basis for one building, its file, and the metric of a map."""

import numpy as np
import pytest
from tests.support.command_line import one_line, run
from tests.support.errors import refused
from tests.support.reference_locate import twin_rooms
from tests.support.sites import PLANE

import isovist as iv
from isovist import FileError, write_map, write_scan
from isovist.paper import (
    PaperLocalizer,
    fit_to_map,
    map_metric,
    paper_room,
    read_basis,
    write_basis,
)

pytestmark = pytest.mark.slow

ROOM = paper_room()


def test_a_fitted_basis_tells_far_places_apart_better():
    found = fit_to_map(ROOM, 8, count=20, steps=25)
    assert found.fitted[1] > 1.05 * found.fitted[0]
    assert len(found.basis) == 8


def test_a_basis_comes_back_from_its_file_and_knows_its_map(tmp_path):
    path = tmp_path / "basis.json"
    basis = iv.DirectionalBasis.from_directions([[1.0, 0.1], [0.0, 1.0], [-1.0, -1.0]], 0.3)
    write_basis(basis, path, ROOM)
    again = read_basis(path, ROOM)
    np.testing.assert_allclose(again.directions, basis.directions)
    assert again.profile == basis.profile
    for world, code in (
        (iv.SegmentMap.room(5.0, 4.0), "outdated_file"),
        (iv.MeshMap.box((0, 0, 0), (1, 1, 1)), "wrong_dimension"),
    ):
        with refused(code=code, kind=FileError):
            read_basis(path, world)
    path.write_text("{}")
    with refused(code="unknown_format", kind=FileError):
        read_basis(path)


def test_a_basis_is_fitted_and_used_by_the_commands(tmp_path):
    plan, basis, scan = (tmp_path / n for n in ("room.geojson", "basis.json", "scan.json"))
    write_map(ROOM, plan)
    seen = iv.Lidar(noise=0.005).scan(ROOM, iv.Pose(1.3, 1.7, 0.4), np.random.default_rng(0))
    write_scan(seen, scan)
    told = run(
        "paper", "fit-basis", plan, "-o", basis, "--channels", 12, "--count", 12, "--json"
    ).json
    assert set(told) == {"fitted", "held_out", "lowest"}
    paper = ("--basis", basis, "--heading", 22.918, 1, "--json")
    row = run("paper", "locate", plan, scan, *paper).json
    assert abs(row["x"] - 1.3) + abs(row["y"] - 1.7) < 0.1
    other, atlas = tmp_path / "other.geojson", tmp_path / "room.atlas"
    write_map(iv.SegmentMap.room(6.0, 5.0), other)
    assert run("build", plan, "-o", atlas, "--basis", basis).code == 0
    np.testing.assert_allclose(iv.read_atlas(atlas).basis.directions, read_basis(basis).directions)
    best = run("locate", atlas, scan, "--json").pose
    assert abs(best.x - 1.3) + abs(best.y - 1.7) < 0.1
    for verb in (["paper", "locate", other, scan], ["build", other, "-o", atlas]):
        assert one_line(*verb, "--basis", basis).reason == "outdated_file"


def test_no_place_is_fitted_to_that_stands_before_something_thin():
    rng = np.random.default_rng(0)
    cells = (rng.random((60, 60)) < 0.15).astype(np.uint8)
    cells[[0, -1]] = cells[:, [0, -1]] = 1
    world = iv.OccupancyMap(cells, 0.05)
    found = fit_to_map(world, 8, far=0.5, count=30, steps=1)
    assert len(found.basis) == 8


def test_the_metric_finds_the_twin_of_every_place_and_none_where_there_is_none():
    basis, signal = iv.DirectionalBasis.circle(16), iv.Range(20.0)
    twins = map_metric(PaperLocalizer(twin_rooms(), basis, signal, spacing=0.4))
    assert twins.unique_share < 0.2
    alone = map_metric(PaperLocalizer(PLANE.world, basis, signal, spacing=0.4))
    assert alone.unique_share > 0.9
    assert (alone.resolution > 0.0).all()


def test_the_slope_of_the_metric_is_that_of_the_whitened_jacobian():
    localizer = PaperLocalizer(ROOM, iv.DirectionalBasis.circle(8, 0.5), spacing=0.1)
    found = map_metric(localizer)
    k = int(np.argmin(np.linalg.norm(found.places - [1.5, 1.5], axis=1)))
    _, J = localizer.descriptors[0].at(ROOM, found.places[k], jacobian=True)
    Z = localizer.gram.whiten(J.T).T
    assert found.slopes[k] == pytest.approx(np.linalg.svd(Z)[1][-1], rel=0.05)


def test_the_metric_is_told_and_drawn(tmp_path):
    write_map(PLANE.world, tmp_path / "map.yaml")
    told = ("paper", "metric", tmp_path / "map.yaml", "--channels", 16, "--spacing", 0.5)
    row = run(*told, "--json").json
    assert set(row) == {"nodes", "spacing", "resolution", "without_alias", "aliases"}
    picture = tmp_path / "metric.png"
    assert run(*told, "--figure", picture).code == 0
    assert picture.stat().st_size > 5000
