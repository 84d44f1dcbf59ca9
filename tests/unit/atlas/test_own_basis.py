"""An atlas can be built with a basis of one's own."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.angles import unit_vectors
from tests.support.atlas_parts import search_rings
from tests.support.errors import refused
from tests.support.fits import candidates
from tests.support.paper_parts import Bump, CosinePower, fit_to_map
from tests.support.sites import PLANE, SITES, SPACE, gap

import isovist as iv
from isovist import AtlasSettings, DirectionalBasis, Lidar

TURNS = 2.0 * np.pi * np.arange(40) / 40
BASES = {
    "softmax": DirectionalBasis.circle(48, 0.01),
    "bump": DirectionalBasis.circle(48, profile=Bump(0.2)),
    "cosine": DirectionalBasis.circle(32, profile=CosinePower(60.0)),
    "crowded": DirectionalBasis.from_directions(
        unit_vectors(TURNS + 0.4 * np.sin(2.0 * TURNS)), 0.02
    ),
    "fitted": fit_to_map(PLANE.world, 24, count=8, steps=8).basis,
    "sphere": DirectionalBasis.fibonacci(48),
}
UNEVEN = ("crowded", "fitted")


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_a_basis_of_ones_own_describes_locates_and_comes_back(name, tmp_path):
    basis, site = BASES[name], SITES["space" if name == "sphere" else "plane"]
    atlas = iv.build(site.world, spacing=0.6 if site is SPACE else None, basis=basis)
    assert atlas.descriptors[0].size == len(basis)
    if site is PLANE:
        assert (atlas.signal, atlas.settings.channels) == ("range", len(basis))
    iv.write_atlas(atlas, tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    np.testing.assert_array_equal(again.basis.directions, basis.directions)
    assert again.basis.profile == basis.profile
    for truth in site.places[: 1 if name in (*UNEVEN, "sphere") else None]:
        scan = site.look(truth)
        answer = iv.locate(atlas, scan)
        assert answer.verdict is iv.Verdict.UNIQUE
        assert gap(answer.best.pose, truth)[0] < (0.1 if site is SPACE else 0.05)
        assert iv.locate(again, scan).best.pose == answer.best.pose


@pytest.mark.slow
def test_in_space_rings_are_searched_alike_shifted_or_heading_by_heading():
    settings = replace(AtlasSettings(), spacing=1.0, rings=8, channels=32)
    basis = search_rings(settings.rings, settings.channels)
    usual, atlas = (iv.build(SPACE.world, basis=r, settings=settings) for r in (None, basis))
    scan = SPACE.look(SPACE.places[0])
    rows = (len(atlas.nodes), settings.rings, settings.channels)
    own = atlas.descriptors.reshape(rows)[:, 1:7]
    both = (own < 100.0) & (usual.descriptors < 100.0)
    assert both.mean() > 0.9 * (usual.descriptors < 100.0).mean()
    assert np.median(np.abs(own - usual.descriptors)[both]) < 1e-3
    each, shifted = (candidates(one, scan) for one in (atlas, usual))
    assert np.hypot(*(each.poses[0] - shifted.poses[0])[:2]) < 0.5


@pytest.mark.slow
def test_the_usual_basis_is_what_it_was():
    usual = iv.build(PLANE.world)
    assert usual.basis is None
    told = iv.build(PLANE.world, basis=DirectionalBasis.circle(64, 0.5 * (np.pi / 64) ** 2))
    np.testing.assert_array_equal(told.descriptors, usual.descriptors)


@pytest.mark.slow
def test_a_basis_of_equal_steps_is_searched_alike_shifted_or_heading_by_heading():
    """Steps that are equal but for a millionth are not equal."""
    even, scan = BASES["softmax"], PLANE.look(PLANE.places[0])
    turns = 2.0 * np.pi * np.arange(48) / 48 + 1e-6 * np.sin(np.arange(48))
    uneven = DirectionalBasis.from_directions(unit_vectors(turns), 0.01)
    whole, atlas = (iv.build(PLANE.world, basis=basis) for basis in (even, uneven))
    assert (whole.descriptors.shape[1:], atlas.descriptors.shape[1:]) == ((1, 48), (48, 1))
    assert atlas.window(scan, 0.5).values.shape == (96, 48, 1)
    each, shifted = (candidates(one, scan) for one in (atlas, whole))
    np.testing.assert_allclose(each.poses[:5], shifted.poses[:5], atol=1e-4)
    np.testing.assert_allclose(each.costs[:5], shifted.costs[:5], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNEVEN)
def test_a_basis_of_unequal_steps_keeps_to_a_prior_a_part_and_several_maps(name, tmp_path):
    atlas, truth = iv.build(PLANE.world, basis=BASES[name]), PLANE.places[1]
    scan, place = PLANE.look(truth), np.asarray(truth.position)
    near = iv.Region.around(truth, 1.0, 0.3)
    iv.write_atlas(atlas, tmp_path / "a")
    part = iv.read_atlas(tmp_path / "a", box=[*(place - 3.0), *(place + 3.0)])
    assert part.descriptors.shape[1:] == atlas.descriptors.shape[1:]
    for found in (
        iv.locate(atlas, scan, region=near).best,
        iv.locate(part, scan).best,
        iv.locate({"one": atlas, "two": atlas}, scan).best,
        iv.check(atlas, scan, truth),
    ):
        assert gap(found.pose, truth)[0] < 0.05
    with refused(code="conflict"):
        iv.survey(atlas, Lidar())


def test_among_many_maps_bases_of_equal_steps_are_needed(tmp_path):
    atlas = iv.build(iv.SegmentMap.room(3.0, 2.0), spacing=0.5, basis=BASES["crowded"])
    iv.write_atlas(atlas, tmp_path / "00")
    for k in range(1, 17):
        (tmp_path / f"{k:02}").symlink_to(tmp_path / "00")
    with refused("basis", "conflict"):
        iv.locate(iv.read_library(tmp_path), PLANE.look(PLANE.places[0]))
