"""Outlines: what they cost by a slow twin, who is likely, and that answers stay as they are."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_locate import building
from tests.support.sites import SITES, gap

import isovist as iv
from isovist.atlas import FAR, PHASES
from isovist.compute import computing
from isovist.localization import look as looking
from isovist.localization import outlines
from isovist.localization import search as searching
from isovist.localization.floors import Floors, mean_of
from isovist.localization.outlines import TOGETHER, likely, outlined
from isovist.localization.search import search

USUAL = iv.LocalizationSettings()
FEW = replace(USUAL, finalists=(30, 4))
PLANE = SITES["plane"]


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Small sites are large ones."""
    monkeypatch.setattr("isovist.localization.floors.LARGE", 0)
    monkeypatch.setattr("isovist.localization.floors.MANY", 0)
    monkeypatch.setattr(outlines, "MANY", 0)


def window_of(site, place, scan=None):
    scan = site.look(place) if scan is None else scan
    return site.atlas.window(scan, USUAL.seen_share[site.atlas.dimension - 2])


def slow_costs(atlas, outline, short):
    """What the outline of a scan costs at the best of all headings, node by node."""
    n = atlas.descriptors.shape[2] // TOGETHER
    costs = []
    for node in atlas.descriptors[:, 0].astype(float):
        parts = [[f for f in part if f < FAR] for part in node.reshape(n, TOGETHER)]
        f = np.array([np.mean(p) if 2 * len(p) >= TOGETHER else np.inf for p in parts])
        seen = np.flatnonzero(outline.seen[0, 0])
        o = outline.values[0, 0, seen]
        costs.append(
            min(np.abs(np.clip(o - f[(seen + k) % n], -short, 2.0 * short)).sum() for k in range(n))
        )
    return np.array(costs)


@pytest.mark.parametrize("place", PLANE.places)
def test_outlines_cost_what_means_of_channels_cost(place):
    atlas, outline = PLANE.atlas, outlined(window_of(PLANE, place))
    floors = Floors.of(atlas, 1, TOGETHER)
    allowed = np.ones(floors.n, dtype=np.bool_)
    steps, over = floors.least(outline, allowed, USUAL.short)
    slow, told = slow_costs(atlas, outline, USUAL.short), steps * floors.step
    assert np.abs(told - slow).max() <= over * floors.step
    assert np.corrcoef(told, slow)[0, 1] > 0.99


def test_means_are_of_what_is_seen():
    values = np.array([[1.0, 2.0, 3.0, 50.0, 7.0, 8.0, 9.0, 9.0]], dtype=np.float32)
    seen = np.array([[True, True, True, False, True, False, False, False]])
    means, known = mean_of(values, seen, 4)
    assert means[0].tolist() == [2.0, 7.0]
    assert known[0].tolist() == [True, False]


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_floors_of_some_nodes_are_those_of_all(site, every):
    window = window_of(site, site.places[0])
    n = site.atlas.descriptors.shape[2]
    allowed = np.arange(n * PHASES) % 5 != 1
    every_floor = Floors.make(site.atlas, every).under(window, allowed, USUAL.short)
    random = np.random.default_rng(1)
    for share in (0.0, 0.003, 0.1, 0.7, 1.0):
        some = np.flatnonzero(random.random(len(every_floor)) < share)
        few = Floors.make(site.atlas, every).under(window, allowed, USUAL.short, some)
        np.testing.assert_array_equal(few, every_floor[some])


def test_a_share_of_the_nodes_is_likely_the_true_place_among_them():
    atlas = PLANE.atlas
    for place in PLANE.places:
        for share in (2, 8):
            some = likely(atlas, 1, window_of(PLANE, place), USUAL.short, share)
            assert 0.5 < share * len(some) / atlas.size < 2.0
            near = np.linalg.norm(atlas.positions[some] - place.position, axis=1).min()
            assert near < 1.5 * atlas.spacing


def test_no_node_is_dropped_where_outlines_say_little(monkeypatch):
    atlas, place = PLANE.atlas, PLANE.places[0]
    scan = PLANE.look(place)
    half = iv.Scan(scan.bearings[:180], scan.ranges[:180], 0.0, scan.range_max)
    for one, few in ((scan, False), (half, True)):
        assert (likely(atlas, 1, window_of(PLANE, place, one), USUAL.short, 4) is None) == few
    space = SITES["space"]
    assert likely(space.atlas, 1, window_of(space, space.places[0]), USUAL.short, 4) is None
    with monkeypatch.context() as patch:
        patch.setattr(type(computing()), "exhaustive", True)
        assert likely(atlas, 1, window_of(PLANE, place), USUAL.short, 4) is None
    monkeypatch.setattr(outlines, "MANY", atlas.size)
    assert likely(atlas, 1, window_of(PLANE, place), USUAL.short, 4) is None


def test_channels_that_are_no_multiple_of_four_have_no_outline():
    odd = iv.build(building(), settings=replace(PLANE.atlas.settings, channels=62))
    window = odd.window(PLANE.look(PLANE.places[0]), USUAL.seen_share[0])
    assert likely(odd, 1, window, USUAL.short, 4) is None


def test_a_first_look_glances_at_likely_nodes_and_a_closer_one_at_all(monkeypatch):
    asked = []
    under = Floors.under

    def counted(floors, window, allowed, short, some=None):
        asked.append(floors.count if some is None else len(some))
        return under(floors, window, allowed, short, some)

    monkeypatch.setattr(Floors, "under", counted)
    atlas, scan = PLANE.atlas, PLANE.look(PLANE.places[0])
    search(atlas, scan, None, FEW)
    search(atlas, scan, None, FEW, thorough=True)
    search(atlas, scan, iv.Region.circle([5.0, 5.0], 100.0), FEW)
    assert asked[0] < 2 * atlas.size / searching.LIKELY
    assert asked[1:] == [atlas.size, atlas.size]


def test_answers_are_those_without_outlines(monkeypatch):
    for place in PLANE.places:
        scan = PLANE.look(place)
        quick = iv.locate(PLANE.atlas, scan, settings=FEW)
        with monkeypatch.context() as patch:
            patch.setattr(searching, "LIKELY", 1)
            whole = iv.locate(PLANE.atlas, scan, settings=FEW)
        assert quick.verdict is whole.verdict is iv.Verdict.UNIQUE
        assert gap(quick.best.pose, place)[0] < 0.1
        assert gap(quick.best.pose, whole.best.pose)[0] < 1e-6


def test_several_maps_and_several_scans_have_outlines_too(monkeypatch):
    asked = []
    real = outlines.likely
    monkeypatch.setattr(searching, "likely", lambda *given: asked.append(real(*given)) or asked[-1])
    place, step = PLANE.places[0], iv.Pose(0.3, 0.0, 0.2)
    scan, later = PLANE.look(place), PLANE.look(place @ step)
    maps = {"there": PLANE.twin_atlas, "here": PLANE.atlas}
    answer = iv.locate(maps, scan, settings=FEW)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert answer.map == "here"
    assert gap(answer.best.pose, place)[0] < 0.1
    assert sum(some is not None for some in asked) >= len(maps)
    asked.clear()
    answer = iv.locate(PLANE.atlas, [scan, later], motions=[step], settings=FEW)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert gap(answer.best.pose, place @ step)[0] < 0.1
    assert sum(some is not None for some in asked) >= 2


def test_a_twin_is_found_by_its_outline():
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    answer = iv.locate(PLANE.twin_atlas, scan, settings=FEW)
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    for place in (PLANE.lonely, PLANE.twin):
        assert min(gap(one.pose, place)[0] for one in answer.estimates) < 0.2


def test_absurd_descriptors_are_no_error():
    damaged = PLANE.atlas.descriptors.copy()
    damaged.reshape(-1)[:8] = np.nan, np.inf, -np.inf, 3e38, -3e38, -3e38, -3e38, -3e38
    table = Floors.of(replace(PLANE.atlas, descriptors=damaged), 1, TOGETHER).table
    assert table[0, :2, 0].tolist() == [127, -128]


def test_nothing_is_lost_on_a_large_site_before_all_nodes_were_looked_at(monkeypatch):
    scan, known = PLANE.asked()
    lost, asked = replace(known, verdict=iv.Verdict.LOST), []

    def look(site, _scan, _prior, settings, *_given, **_how):
        asked.append(settings.finalists[0])
        return (known, True) if settings.finalists[0] >= site.size else (lost, False)

    monkeypatch.setattr(looking, "look_once", look)
    for large in (False, True):
        monkeypatch.setattr(looking, "MANY", 0 if large else PLANE.atlas.size)
        asked.clear()
        answer = looking.look_closer(PLANE.atlas, scan, None, FEW, False, (lost, False))
        assert answer.verdict is (known if large else lost).verdict
        assert asked == [30, 2 * PLANE.atlas.size][: 1 + large]
