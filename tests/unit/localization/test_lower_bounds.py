"""Nodes that are dropped by floors of costs are those that trying every node would drop."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_locate import spread_out
from tests.support.sites import SITES

import isovist as iv
from isovist.atlas import FAR, PHASES, SideBySide, Window
from isovist.localization import glance as glancing
from isovist.localization import search as searching
from isovist.localization.floors import Floors
from isovist.localization.glance import glance
from isovist.localization.maps import seek
from isovist.localization.search import best_headings, search, unlike

SHORT = iv.LocalizationSettings().short


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Floors are asked on small sites, too."""
    monkeypatch.setattr("isovist.localization.floors.LARGE", 0)


def everywhere(atlas, scan, settings, thorough):
    """Poses and costs of the candidates when every node is tried, at a glance or in full."""
    window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
    n, minima = atlas.settings.channels, settings.finalists[1]
    active = np.arange(len(atlas.nodes))
    finalists = settings.share(atlas, settings.finalists[0])
    if not thorough and len(active) > finalists:
        costs, _ = best_headings(atlas.descriptors, active, window.rough, 1, settings.short)
        active = np.sort(np.argpartition(costs[:, 0], finalists - 1)[:finalists])
    costs, turns = best_headings(atlas.descriptors, active, window, minima, settings.short)
    flat = costs.ravel()
    best = np.argsort(flat, kind="stable")[: int(np.isfinite(flat).sum())]
    yaws = 2.0 * np.pi * (turns.ravel()[best] / PHASES - window.first) / n + atlas.heading
    poses = atlas.seeds(active[best // minima], yaws)
    most = settings.share(atlas, settings.seeds[thorough])
    chosen = unlike(poses, *settings.candidates_apart(atlas), most)
    return poses[chosen], flat[best[chosen]]


@pytest.mark.parametrize("large", [0, 10**9])
@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_candidates_are_those_of_trying_every_node(site, thorough, large, monkeypatch):
    monkeypatch.setattr("isovist.localization.floors.LARGE", large)
    few = replace(iv.LocalizationSettings(), finalists=(60, 4), seeds=(20, 40))
    for place in site.places:
        scan = site.look(place)
        found = search(site.atlas, scan, None, few, thorough=thorough)
        poses, costs = everywhere(site.atlas, scan, few, thorough)
        np.testing.assert_array_equal(found.poses, poses)
        np.testing.assert_array_equal(found.costs, costs)
        assert found.left_out == costs[-1]


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_closer_look_at_a_large_site_has_more_finalists_and_knows_what_it_left_out(
    site, monkeypatch
):
    usual = iv.LocalizationSettings()
    few = replace(usual, finalists=(12, 4), seeds=(20, 40))
    more = replace(usual, finalists=(12 * searching.CLOSER, 4), seeds=(40, 40))
    atlas = site.atlas
    for place in site.places:
        scan = site.look(place)
        poses, costs = everywhere(atlas, scan, more, thorough=False)
        with monkeypatch.context() as patch:
            patch.setattr("isovist.localization.floors.MANY", 0)
            found = search(atlas, scan, None, few, thorough=True)
        np.testing.assert_array_equal(found.poses, poses)
        np.testing.assert_array_equal(found.costs, costs)
        window = atlas.window(scan, few.seen_share[atlas.dimension - 2])
        every, _ = best_headings(
            atlas.descriptors, np.arange(len(atlas.nodes)), window.rough, 1, few.short
        )
        assert (every <= found.cut).sum() >= few.share(atlas, few.finalists[0]) * searching.CLOSER
        sensor = (place @ scan.T_level_robot.inverse).vector
        lead = found.lead(np.asarray(sensor), 1.0, 0.5)
        assert lead <= found.cut / every.min()


def test_floors_that_are_asked_twice_are_reckoned_once(monkeypatch):
    monkeypatch.setattr("isovist.localization.floors.MANY", 0)
    atlas, (here, there, *_) = SITES["plane"].atlas, SITES["plane"].places
    floors, turned = Floors.make(atlas), np.zeros(atlas.settings.channels * PHASES, dtype=np.bool_)
    turned[:3] = True
    windows = [atlas.window(SITES["plane"].look(place), 0.5) for place in (here, there)]
    asked = [(w, some, s) for w in windows for some in (turned, ~turned) for s in (SHORT, 0.3)]
    fresh = [Floors.make(atlas).under(*one) for one in asked]
    for one, told in zip(asked, fresh, strict=True):
        first = floors.under(*one)
        np.testing.assert_array_equal(first, told)
        assert floors.under(*one) is first


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_most_nodes_are_never_tried(site, monkeypatch):
    tried = []

    def counted(nodes, active, *rest):
        tried.append(len(active))
        return best_headings(nodes, active, *rest)

    monkeypatch.setattr(searching, "best_headings", counted)
    few = replace(iv.LocalizationSettings(), finalists=(20, 4), seeds=(8, 16))
    scan = site.look(site.places[0])
    for thorough in (False, True):
        tried.clear()
        search(site.atlas, scan, None, few, thorough=thorough)
        assert sum(tried) < 0.5 * len(site.atlas.nodes)


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_glance_finds_what_it_finds_with_every_node_tried(site, monkeypatch):
    tried = []

    def counted(nodes, active, *rest):
        tried.append(len(active))
        return best_headings(nodes, active, *rest)

    monkeypatch.setattr(glancing, "best_headings", counted)
    monkeypatch.setattr(glancing, "GLIMPSED", 40)
    usual = iv.LocalizationSettings()
    for place in site.places:
        scan, found, counts = site.look(place), [], []
        for large in (0, 10**9):
            monkeypatch.setattr("isovist.localization.floors.LARGE", large)
            tried.clear()
            found.append(glance(site.atlas, scan, usual))
            counts.append(sum(tried))
        np.testing.assert_array_equal(*found)
        assert counts[0] < 0.5 * counts[1]


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_floor_lies_under_the_cost_and_not_far(site):
    atlas = site.atlas
    window = atlas.window(site.look(site.places[0]), 0.3)
    n = atlas.settings.channels
    some = np.arange(n * PHASES) % 3 != 0
    every = np.arange(len(atlas.nodes))
    costs, _ = best_headings(atlas.descriptors, every, window, 1, SHORT, some)
    floors = Floors.of(atlas).under(window, some, SHORT)
    assert (floors <= costs[:, 0]).all()
    assert np.median(floors / costs[:, 0]) > 0.8
    assert Floors.of(atlas) is Floors.of(atlas)


@pytest.mark.parametrize("short", [0.02, 0.25, 3.0])
def test_floors_hold_for_any_settings_and_for_unknown_channels(site_of_noise, short):
    atlas, window = site_of_noise
    headings = np.ones(atlas.settings.channels * PHASES, dtype=np.bool_)
    every = np.arange(len(atlas.nodes))
    costs, _ = best_headings(atlas.descriptors, every, window, 1, short)
    floors = Floors.of(atlas).under(window, headings, short)
    assert (floors <= costs[:, 0]).all()


@pytest.fixture(scope="module")
def site_of_noise():
    """An atlas whose descriptors are noise, a third of them unknown, and a scan of noise."""
    random = np.random.default_rng(2)
    plain = SITES["plane"].atlas
    settings = replace(plain.settings, channels=16)
    F = random.uniform(0.0, np.log(31.0), (700, 1, 16)).astype(np.float32)
    F[random.random(F.shape) < 0.3] = FAR
    atlas = replace(plain, nodes=plain.nodes[:700], descriptors=F, settings=settings)
    values = random.uniform(0.0, np.log(31.0), (PHASES, 1, 13)).astype(np.float32)
    return atlas, Window(values, random.random(values.shape) < 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 7, 200])
@pytest.mark.parametrize(("radius", "turn"), [(0.4, 0.2), (3.0, 4.0), (0.0, 0.2)])
def test_chains_choose_like_comparing_with_all(most, radius, turn):
    random = np.random.default_rng(6)
    poses = random.uniform(-4.0, 4.0, (600, 3))
    assert list(unlike(poses, radius, turn, most)) == spread_out(poses, radius, turn, most)


def test_a_prior_asks_only_the_rows_that_it_reaches():
    turned = iv.OccupancyMap(SITES["plane"].world.cells, 0.05, iv.Pose(3.0, -2.0, 0.7))
    atlas = iv.build(turned)
    middle = turned.bounds.mean(axis=0)
    square = middle + np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    for prior in (
        iv.Region.circle(middle, 1.5),
        iv.Region.polygon(square),
        iv.Region.circle(middle, 1e6),
        iv.Region.circle(middle + 1e4, 2.0),
        iv.Region.facing(0.0, 0.5),
    ):
        asked = atlas.nodes_in(*prior.box(0.3))
        inside = np.flatnonzero(prior.contains(atlas.positions, 0.3))
        assert np.isin(inside, asked).all()
        assert (np.diff(asked) == 1).all()
    few = atlas.nodes_in(*iv.Region.circle(middle, 0.5).box())
    assert 0 < len(few) < 0.6 * len(atlas.nodes)


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_absurd_descriptors_of_a_damaged_atlas_are_no_error(site):
    damaged = site.atlas.descriptors.copy()
    damaged.reshape(-1)[:6] = np.nan, np.inf, -np.inf, 3e38, -3e38, -1.0
    table = Floors.of(replace(site.atlas, descriptors=damaged)).table
    rings, n = damaged.shape[1:]
    flat = table.transpose(0, 2, 1).reshape(-1, rings * n)[: len(damaged)].reshape(-1)
    assert flat[:6].tolist() == [127, 127, -128, 127, -128, -128]


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_what_other_maps_have_cheaper_is_not_tried_and_the_candidates_stay(site, monkeypatch):
    """Of several maps as many candidates are handed on as of one: the first ones set a limit."""
    few = replace(iv.LocalizationSettings(), finalists=(60, 4), seeds=(20, 40))
    maps = SideBySide.of({"a": site.twin_atlas, "b": site.atlas, "c": site.atlas})
    counts = []
    tried = searching._View.tried
    monkeypatch.setattr(
        searching._View,
        "tried",
        lambda view, active: counts.append(len(active)) or tried(view, active),
    )
    for place in site.places:
        scan, found, asked = site.look(place), [], []
        for large in (0, 10**9):
            monkeypatch.setattr("isovist.localization.floors.LARGE", large)
            counts.clear()
            found.append(seek(maps, scan, None, few, thorough=True))
            asked.append(sum(counts[-2:]))
        np.testing.assert_array_equal(found[0].poses, found[1].poses)
        leads = [one.lead(found[0].poses[0], 0.4, 0.2) for one in found]
        assert leads[0] == leads[1]
        assert asked[0] < 0.8 * asked[1]


@pytest.mark.parametrize("enough", [1, 2, 10**6])
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_look_at_the_cheapest_alone_chooses_the_same(site, enough, monkeypatch):
    few = replace(iv.LocalizationSettings(), finalists=(60, 4), seeds=(20, 40))
    scan = site.look(site.places[1])
    usual = search(site.atlas, scan, None, few, thorough=True)
    monkeypatch.setattr(searching, "ENOUGH", enough)
    other = search(site.atlas, scan, None, few, thorough=True)
    np.testing.assert_array_equal(usual.poses, other.poses)
    np.testing.assert_array_equal(usual.costs, other.costs)
