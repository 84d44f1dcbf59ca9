"""Atlases of large maps, which come by blocks, against those of small ones, which are whole."""

import numpy as np
import pytest
from tests.support.atlas_parts import change_part, write_as
from tests.support.command_line import run
from tests.support.errors import refused
from tests.support.large_maps import counted_as_large, is_by_blocks
from tests.support.sites import SPACE

import isovist as iv
from isovist import VoxelMap


@pytest.fixture(scope="module")
def atlas():
    """That of the site in space, as if it were large."""
    with counted_as_large():
        world = VoxelMap.from_array(
            SPACE.world.cells, SPACE.world.resolution, SPACE.world.corner,
            reflectance=SPACE.world.reflectance,
        )  # fmt: skip
        return iv.build(world)


@pytest.fixture
def written(atlas, tmp_path):
    iv.write_atlas(atlas, tmp_path / "atlas")
    return tmp_path / "atlas"


def same(one, other, off=0.0):
    """Whether two answers are the same, their poses but for so much, in m and rad."""
    assert one.verdict == other.verdict
    a, b = one.estimates[0], other.estimates[0]
    np.testing.assert_allclose(a.pose.vector, b.pose.vector, rtol=0.0, atol=off)
    assert a.probability == pytest.approx(b.probability, abs=off)


@pytest.mark.slow
def test_answers_are_those_of_the_whole_grid(atlas):
    assert is_by_blocks(atlas.world)
    assert not is_by_blocks(SPACE.atlas.world)
    np.testing.assert_array_equal(atlas.nodes, SPACE.atlas.nodes)
    np.testing.assert_array_equal(atlas.descriptors, SPACE.atlas.descriptors)
    for place in SPACE.places:
        scan = SPACE.look(place)
        same(iv.locate(atlas, scan), iv.locate(SPACE.atlas, scan), 1e-3)


@pytest.mark.slow
def test_what_is_written_comes_back(atlas, written):
    info = run("info", written, "--check", "--json").json
    assert (info["version"], tuple(info["shape"])) == (3, SPACE.world.shape)
    back = iv.read_atlas(written)
    assert is_by_blocks(back.world)
    scan = SPACE.look(SPACE.places[0])
    same(iv.locate(back, scan), iv.locate(atlas, scan))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("walls_table", lambda a: a.astype(np.float32)),
        ("walls_index", lambda a: a + np.int32(1 << 20)),  # a block that is not there
        ("clear_index", lambda a: a[:, :, :-1]),
        ("clear_table", lambda a: a[:, 1:]),
        ("cells_index", lambda a: np.where(a < 2, a, np.int32(2))),  # a block twice
        ("near", lambda _: 182),
        ("near", lambda _: 0),
        ("shape", lambda a: [9 * n for n in a]),
    ],
)
def test_an_atlas_whose_parts_do_not_fit_is_refused(written, name, change):
    change_part(written, name, change)
    with refused(kind=iv.FileError, code="invalid_file") as caught:
        iv.read_atlas(written)
    assert f"`{'cells_index' if name == 'shape' else name}`" in str(caught.value)


def test_a_later_format_and_a_box_in_space_are_refused(written):
    with refused("box", "wrong_dimension", iv.FileError):
        iv.read_atlas(written, box=(0.0, 0.0, 1.0, 1.0))
    write_as(written, version=4, old=written)
    with refused(kind=iv.FileError, code="outdated_file"):
        iv.read_atlas(written)
