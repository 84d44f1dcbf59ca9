"""An atlas can be built with a rose of one's own."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import AtlasSettings, InputError, Lidar, read_library
from isovist.atlas import windows
from isovist.basis import Bump, CosinePower
from isovist.localization.choice import Glances
from isovist.localization.search import search
from isovist.paper import fit_to_map
from isovist.poses import unit_vectors

TURNS = 2.0 * np.pi * np.arange(40) / 40
ROSES = {
    "softmax": iv.Rose.circle(48, 0.01),
    "bump": iv.Rose.circle(48, profile=Bump(0.2)),
    "cosine": iv.Rose.circle(32, profile=CosinePower(60.0)),
    "crowded": iv.Rose.from_directions(unit_vectors(TURNS + 0.4 * np.sin(2.0 * TURNS)), 0.02),
    "fitted": fit_to_map(PLANE.world, 24, count=8, steps=8).rose,
}
UNEVEN = ("crowded", "fitted")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROSES)
def test_a_rose_of_ones_own_describes_locates_and_comes_back(name, tmp_path):
    rose = ROSES[name]
    atlas = iv.build(PLANE.world, rose=rose)
    assert atlas.descriptors[0].size == len(rose) == atlas.settings.channels
    assert atlas.signal == "range"
    iv.write_atlas(atlas, tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    np.testing.assert_array_equal(again.rose.directions, rose.directions)
    assert again.rose.profile == rose.profile
    for truth in PLANE.places[: 1 if name in UNEVEN else None]:
        scan = PLANE.look(truth)
        answer = iv.locate(atlas, scan)
        assert answer.verdict is iv.Verdict.UNIQUE
        assert gap(answer.best.pose, truth)[0] < 0.05
        assert iv.locate(again, scan).best.pose == answer.best.pose


@pytest.mark.slow
def test_in_space_a_rose_of_ones_own_describes_locates_and_comes_back(tmp_path):
    rose = iv.Rose.fibonacci(48)
    atlas = iv.build(SPACE.world, spacing=0.6, rose=rose)
    assert atlas.descriptors.shape[1:] == (48, 1)
    iv.write_atlas(atlas, tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    np.testing.assert_array_equal(again.rose.directions, rose.directions)
    truth = SPACE.places[0]
    scan = SPACE.look(truth)
    answer = iv.locate(atlas, scan)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert gap(answer.best.pose, truth)[0] < 0.1
    assert iv.locate(again, scan).best.pose == answer.best.pose


@pytest.mark.slow
def test_in_space_rings_are_searched_alike_shifted_or_heading_by_heading():
    settings = replace(AtlasSettings(), spacing=1.0, rings=8, channels=32)
    rose = windows.search_rings(settings.rings, settings.channels)
    usual, atlas = (iv.build(SPACE.world, rose=r, settings=settings) for r in (None, rose))
    scan = SPACE.look(SPACE.places[0])
    kept = windows.kept_rings(settings)
    rows = (len(atlas.nodes), settings.rings, settings.channels)
    own = atlas.descriptors.reshape(rows)[:, kept]
    both = (own < 100.0) & (usual.descriptors < 100.0)
    assert both.mean() > 0.9 * (usual.descriptors < 100.0).mean()
    assert np.median(np.abs(own - usual.descriptors)[both]) < 1e-3
    each = search(atlas, scan, None, iv.LocalizationSettings())
    shifted = search(usual, scan, None, iv.LocalizationSettings())
    assert np.hypot(*(each.poses[0] - shifted.poses[0])[:2]) < 0.5


@pytest.mark.slow
def test_the_usual_rose_is_what_it_was():
    usual = iv.build(PLANE.world)
    assert usual.rose is None
    told = iv.build(PLANE.world, rose=iv.Rose.circle(64, 0.5 * (np.pi / 64) ** 2))
    np.testing.assert_array_equal(told.descriptors, usual.descriptors)


@pytest.mark.slow
def test_a_rose_of_equal_steps_is_searched_alike_shifted_or_heading_by_heading(monkeypatch):
    rose, scan = ROSES["softmax"], PLANE.look(PLANE.places[0])
    shifted = search(iv.build(PLANE.world, rose=rose), scan, None, iv.LocalizationSettings())
    monkeypatch.setattr(windows, "is_even", lambda _rose: False)
    windows.window_of_scan.cache_clear()
    windows._beam_weights.cache_clear()
    atlas = iv.build(PLANE.world, rose=rose)
    assert atlas.descriptors.shape[1:] == (48, 1)
    assert atlas.window(scan, 0.5).values.shape == (96, 48, 1)
    each = search(atlas, scan, None, iv.LocalizationSettings())
    windows.window_of_scan.cache_clear()
    windows._beam_weights.cache_clear()
    np.testing.assert_allclose(each.poses[:5], shifted.poses[:5], atol=1e-9)
    np.testing.assert_allclose(each.costs[:5], shifted.costs[:5], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNEVEN)
def test_a_rose_of_unequal_steps_keeps_to_a_prior_a_part_and_several_maps(name, tmp_path):
    atlas, truth = iv.build(PLANE.world, rose=ROSES[name]), PLANE.places[1]
    scan, place = PLANE.look(truth), np.asarray(truth.position)
    near = iv.Region.around(truth, 1.0, 0.3)
    answer = iv.locate(atlas, scan, prior=near)
    assert gap(answer.best.pose, truth)[0] < 0.05
    iv.write_atlas(atlas, tmp_path / "a")
    part = iv.read_atlas(tmp_path / "a", box=[*(place - 3.0), *(place + 3.0)])
    assert part.descriptors.shape[1:] == atlas.descriptors.shape[1:]
    assert gap(iv.locate(part, scan).best.pose, truth)[0] < 0.05
    assert gap(iv.locate({"one": atlas, "two": atlas}, scan).best.pose, truth)[0] < 0.05
    assert gap(iv.check(atlas, scan, truth).pose, truth)[0] < 0.05
    with pytest.raises(InputError) as caught:
        Glances.of(read_library(tmp_path))
    assert str(caught.value) == (
        "Among many maps scans are compared by roses of equal steps; 'a' has another. "
        "Build it without `rose`."
    )
    with pytest.raises(InputError) as caught:
        iv.survey(atlas, Lidar())
    assert str(caught.value) == (
        "A survey compares views by a rose of equal steps; build the atlas without `rose`."
    )


@pytest.mark.parametrize(
    ("world", "rose", "text"),
    [
        (
            PLANE.world,
            iv.Rose.fibonacci(12),
            "A rose of dimension 3 cannot describe a map of dimension 2.",
        ),
        (PLANE.world, 64, "`rose` must be a Rose, got int."),
        (
            SPACE.world,
            iv.Rose.circle(12),
            "A rose of dimension 2 cannot describe a map of dimension 3.",
        ),
    ],
)
def test_other_roses_are_refused(world, rose, text):
    with pytest.raises(InputError) as caught:
        iv.build(world, rose=rose)
    assert str(caught.value) == text
