"""Atlases: built, written, read back; damaged ones are noticed before they answer."""

import numpy as np
import pytest
from tests.support.atlas_parts import change_part
from tests.support.command_line import one_line, run
from tests.support.errors import refused
from tests.support.reference_space import house, symmetric_room
from tests.support.sites import PLANE, SPACE

import isovist as iv
from isovist import FileError, OccupancyMap, SegmentMap, VoxelMap

WORLDS = {
    "plane": (lambda: PLANE.world, 0.25, 64),
    "space": (lambda: symmetric_room(False), 1.0, 768),
    "shiny": (lambda: symmetric_room(True), 1.0, 768),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS)
def test_an_atlas_read_back_is_the_same_bit_for_bit(kind, tmp_path):
    make, spacing, channels = WORLDS[kind]
    world, told = make(), []
    atlas = iv.build(world, spacing=spacing, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    iv.write_atlas(atlas, tmp_path / "site")
    again = iv.read_atlas(tmp_path / "site")
    assert type(again) is type(atlas)
    assert again.meta() == atlas.meta()
    assert atlas.arrays().keys() == again.arrays().keys()
    for name, array in atlas.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
        assert again.arrays()[name].dtype == array.dtype
    info = run("info", tmp_path / "site", "--check", "--json").json
    assert (tuple(info["shape"]), info["nodes"]) == (world.shape, len(atlas.nodes))
    assert (info["channels"], info["spacing"], info["version"]) == (channels, spacing, 2)
    assert info["free_area"] == pytest.approx(atlas.area)


@pytest.mark.slow
def test_an_atlas_whose_map_changed_is_refused(tmp_path):
    iv.write_atlas(iv.build(symmetric_room(True), spacing=1.0), tmp_path / "room")
    change_part(tmp_path / "room", "reflectance", lambda values: values + 0.1)
    assert one_line("info", tmp_path / "room", "--check").reason == "invalid_file"
    with refused(kind=FileError, code="outdated_file"):
        iv.read_atlas(tmp_path / "room")


@pytest.mark.slow
def test_the_command_line_builds_tells_and_locates_until_it_is_damaged(tmp_path):
    world, folder, scan = tmp_path / "plan.yaml", tmp_path / "plan.atlas", tmp_path / "scan.json"
    truth = PLANE.places[0]
    iv.write_map(PLANE.world, world)
    iv.write_scan(PLANE.look(truth), scan)
    for asked, more in (("0.5", 0), ("0.12", 1)):  # nodes lie on whole cells of 0.05 m
        first, *notes = run("build", world, "-o", folder, "--spacing", asked).out.splitlines()
        assert f" {round(float(asked) / 0.05) * 0.05:g} m " in first
        assert len(notes) == more
    told = run("info", folder, "--check", "--json").json
    assert (told["checked"], told["nodes"]) == (True, len(iv.read_atlas(folder).nodes))
    line = run("locate", folder, scan, "--json", "--figure", tmp_path / "answer.png")
    assert (line.code, line.json["verdict"]) == (0, "unique")
    np.testing.assert_allclose(line.pose.vector, truth.vector, atol=0.05)
    assert (tmp_path / "answer.png").read_bytes()[:4] == b"\x89PNG"
    (path,) = folder.glob("descriptors.*.npy")
    path.write_bytes(path.read_bytes()[:-100])
    for words in (("info", folder, "--check"), ("locate", folder, scan)):
        line = one_line(*words)
        assert line.out == ""
        assert path.name in line.err


ROOM, OPEN = SegmentMap.room(4.0, 3.0), OccupancyMap(np.zeros((20, 20), np.uint8), 0.1)


@pytest.mark.parametrize(
    ("world", "options", "field", "code"),
    [
        (lambda: ROOM, {"spacing": 0.0}, "spacing", "invalid_value"),
        (house, {"spacing": -1.0}, "spacing", "invalid_value"),
        (lambda: OPEN, {}, None, "empty"),
        (lambda: VoxelMap.from_array(np.zeros((4, 4, 4), np.uint8), 0.1), {}, None, "empty"),
        (lambda: OPEN, {"height": 1.0}, "height", "wrong_dimension"),
        (house, {"height": 9.0}, "height", "empty"),
        (house, {"height": (2.0, 1.0)}, "height", "invalid_value"),
        (lambda: "a", {}, "world", "invalid_value"),
        (lambda: ROOM, {"basis": iv.DirectionalBasis.fibonacci(12)}, "basis", "wrong_dimension"),
        (lambda: ROOM, {"basis": 64}, "basis", "invalid_value"),
        (house, {"basis": iv.DirectionalBasis.circle(12)}, "basis", "wrong_dimension"),
    ],
)
def test_what_cannot_be_built_is_refused(world, options, field, code):
    with refused(field, code):
        iv.build(world(), **options)


@pytest.mark.parametrize(
    ("world", "per_cell", "more", "nodes"),
    [(PLANE.world, 12, 0.0, 1450), (SPACE.world, 60, 0.0, 0), (SPACE.world, 60, 1e5, None)],
)
def test_a_map_that_no_memory_holds_is_refused(world, per_cell, more, nodes, monkeypatch):
    """Before any is taken; where the cells alone would fit, its nodes count too."""
    cells = world.cells
    have = per_cell * cells.size + more if more else 1e6
    monkeypatch.setattr("isovist.arrays.memory", lambda: have)
    with refused(code="too_large") as caught:
        iv.build(world)
    said = str(caught.value)
    assert f" {cells.size} cells" in said
    assert (" 406 nodes" in said) == (nodes is None)
    if nodes is not None:
        need = per_cell * cells.size + nodes * ((cells == 0).sum() // 25)
        assert f" {need / 1e9:.1f} GB " in said
