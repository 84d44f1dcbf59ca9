"""Of many maps some are looked at: the others are excluded by a bound, or the answer says so.

A few nodes of each of many maps are searched at once, as by a search of each map.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.fits import USUAL, candidates, sought
from tests.support.sites import PLANE, SITES, SPACE, gap
from tests.support.sizes import count_as_large

import isovist as iv
from isovist import localization
from isovist.atlas import MultiMap
from isovist.localization import MapSelection, best_headings, search_node_subsets, search_space_of
from isovist.poses import wrap_angle

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
UNSEARCHED = iv.Reason.MAPS_NOT_SEARCHED


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A library with the map that has the places among others, all of which are many."""
    count_as_large(monkeypatch, maps=2, first=1)

    def make(site, **limits):
        iv.write_atlas(site.twin_atlas, tmp_path / "first")
        iv.write_atlas(site.atlas, tmp_path / "second")
        iv.write_atlas(site.twin_atlas, tmp_path / "third")
        return iv.read_library(tmp_path, **limits)

    return make


@pytest.mark.slow
@BOTH
def test_the_place_is_found_as_when_all_maps_are_looked_at(site, shelf):
    library = shelf(site)
    for truth in site.places[:2]:
        scan = site.look(truth)
        answer, every = iv.locate(library, scan), iv.locate(dict(library), scan)
        assert gap(answer.best.pose, every.best.pose)[0] < 0.05
        assert answer.verdict is every.verdict is iv.Verdict.UNIQUE
        assert answer.map == "second"
        assert gap(answer.best.pose, truth)[0] < 0.1
        assert answer.timing_ms["total"] >= answer.timing_ms["search"]


@pytest.mark.nightly
@pytest.mark.slow
@BOTH
def test_a_scan_of_elsewhere_is_lost_on_every_map(site, shelf):
    library, scan = shelf(site), site.elsewhere()
    answer = iv.locate(library, scan)
    assert answer.verdict is iv.locate(dict(library), scan).verdict
    assert answer.verdict is not iv.Verdict.UNIQUE
    assert UNSEARCHED not in answer.reasons
    assert isinstance(iv.hints(library, scan, answer), tuple)


@pytest.mark.slow
@BOTH
def test_maps_that_may_not_be_looked_at_are_told(site, tmp_path, monkeypatch):
    """A place that was not looked at is never counted as absent."""
    count_as_large(monkeypatch, maps=2, first=1)
    for name in ("first", "second", "third"):
        iv.write_atlas(site.atlas, tmp_path / name)
    answer = iv.locate(iv.read_library(tmp_path, max_maps=1), site.look(site.places[0]))
    assert (answer.verdict, answer.reasons) == ("ambiguous", (UNSEARCHED,))
    assert (answer.facts["maps_searched"], answer.facts["maps_given"]) == (1, 3)
    assert gap(answer.best.pose, site.places[0])[0] < 0.1


def test_a_limit_of_maps_is_checked_and_kept(shelf):
    library = shelf(PLANE, max_maps=2)
    assert pickle.loads(pickle.dumps(library)).max_maps == 2
    assert iv.Library(library.paths, 1.0).max_maps is None
    with refused("max_maps"):
        shelf(PLANE, max_maps=0)


@BOTH
def test_lower_bounds_of_maps_are_below_what_their_nodes_cost(site, shelf):
    library = shelf(site)
    window = site.atlas.window(
        site.look(site.places[0]), USUAL.search.min_seen_share(site.atlas.dimension)
    )
    bounds = localization.CoarseBounds.of(library).bound_costs(window, USUAL.search.max_short_cost)
    for name, costs_below in zip(library, bounds, strict=True):
        F = library[name].descriptors
        costs, _ = best_headings(F, np.arange(len(F)), window.rough, 1, USUAL.search.max_short_cost)
        assert costs_below.shape == (len(F),)
        assert (costs_below <= costs[:, 0]).all()


@pytest.mark.parametrize(("rated", "margin"), [(32, 0.3), (2, 0.0), (2, np.inf)])
@BOTH
def test_what_is_left_out_costs_at_least_what_is_said(site, rated, margin, shelf, monkeypatch):
    """Whether two maps are tried at a time or all, the right one comes first."""
    count_as_large(monkeypatch, rated=rated, margin=margin)
    library = shelf(site)
    chosen = MapSelection.of(search_space_of(library), site.look(site.places[0]), USUAL)
    assert chosen.space.names[chosen.order[0]] == "second"
    assert sorted(chosen.order) == [0, 1, 2]
    for limit in (0.0, 1.0, 3.0, np.inf):
        part, left = chosen.part(limit)
        assert part.names[0] in library
        for k, name in enumerate(chosen.space.names):
            out = np.ones(len(chosen.bounds[k]), dtype=bool)
            if name in part.only:
                out[part.only[name]] = False
            elif name in part.names:
                out[:] = False
            assert (chosen.bounds[k][out] >= left).all()
    alone, least = replace(chosen, max_maps=1).part(np.inf)
    assert alone.names == ("second",)
    assert least == min(chosen.bounds[k].min() for k in (0, 2))


# A few nodes of each.


def laid_out(site, share=0.05):
    """Three maps side by side, of each of which a few nodes are to be searched."""
    maps = {"a": site.twin_atlas, "b": site.atlas, "c": site.atlas}
    random = np.random.default_rng(0)
    only = {name: np.flatnonzero(random.random(atlas.size) < share) for name, atlas in maps.items()}
    return replace(MultiMap.of(maps), only=only)


def one_by_one(site, scan, numbers):
    """Costs and poses when each map is searched by itself, in order."""
    found = []
    for k in numbers:
        name = site.names[k]
        one = candidates(site.maps[name], scan, only=site.only[name])
        rows = one.poses.copy()
        rows[:, 0] += site.shifts[k]
        found.append(np.column_stack([one.costs, rows]))
    return in_order(np.concatenate(found))


def in_order(rows):
    return rows[np.lexsort(rows.T[::-1])]


@BOTH
@pytest.mark.parametrize(("share", "wider"), [(1.0, 1.0), (0.6, 1.0), (1.0, 2.0)])
def test_the_candidates_are_those_of_each_map(site, share, wider):
    """What is alike depends on the distance of the nodes."""
    wide, together = replace(site.atlas, spacing=wider * site.atlas.spacing), laid_out(site)
    together = replace(together, maps={**together.maps, "c": wide})
    for place in site.places[:2]:
        scan = site.look(place)
        slow = one_by_one(together, scan, (0, 1, 2))
        limit = float(np.quantile(slow[:, 0], share)) if share < 1.0 else np.inf
        slow = slow[slow[:, 0] <= limit]
        found = search_node_subsets(together, (0, 1, 2), scan, USUAL, 10_000, limit)
        rows = in_order(np.column_stack([found.costs, found.poses]))
        np.testing.assert_allclose(rows, slow, atol=1e-12)
        assert found.remaining_cost == np.inf
        none = search_node_subsets(together, (0, 1, 2), scan, USUAL, 25, -1.0)
        assert none.poses.shape == (0, found.poses.shape[1])
        if wider == 1.0:
            first = search_node_subsets(together, (0, 1, 2), scan, USUAL, 25, limit)
            np.testing.assert_array_equal(first.costs, slow[:25, 0])
            assert first.remaining_cost == first.costs[-1]


@BOTH
def test_what_leads_is_the_same_as_when_each_map_is_searched(site):
    """One map is searched wholly, of the others a few nodes."""
    few, less = (
        laid_out(site),
        USUAL.with_values(
            {
                "search.first_candidates": 20,
                "search.full_candidates": 40,
                "search.max_nodes": 60,
                "search.headings_per_node": 4,
            }
        ),
    )
    together = replace(few, only={name: few.only[name] for name in "ac"})
    most = less.share(site.atlas, less.search.first_candidates)
    for place, number in ((site.places[0], 1), (site.places[1], 2)):
        scan = site.look(place)
        found, whole = sought(together, scan, less), candidates(site.atlas, scan, less)
        own = np.column_stack([whole.costs, whole.poses])
        own[:, 1] += together.shifts[1]
        rows = in_order(np.concatenate([own, one_by_one(together, scan, (0, 2))]))
        assert sorted(map(tuple, found.poses)) == sorted(map(tuple, rows[:most, 1:]))
        sensor = np.array((place @ scan.T_level_robot.inverse).vector)
        glance = whole.costs_at(sensor, 1.0, 0.5)[1]
        sensor[0] += together.shifts[number]
        near = np.linalg.norm(rows[:, 1:3] - sensor[:2], axis=1) < 1.0
        near &= np.abs(wrap_angle(rows[:, 3] - sensor[2])) < 0.5
        cost = rows[near, 0].min(initial=np.inf)
        glance = glance if number == 1 else cost
        remaining = min(whole.remaining_cost, rows[most, 0])
        lead = min(remaining / cost, whole.remaining_coarse_cost / glance)
        handed_on = cost <= rows[most - 1, 0]
        assert found.cost_ratio(sensor, 1.0, 0.5) == pytest.approx(lead if handed_on else 0.0)
        assert handed_on or number == 2


@pytest.mark.parametrize(
    ("site", "scan"),
    [
        (PLANE, iv.Scan(np.array([0.0, 0.001, 0.002]), np.full(3, 2.0), 0.0, 20.0)),
        (SPACE, iv.CloudScan(np.linspace([-0.1, 0.0, 2.0], [0.1, 0.1, 2.1], 60))),
    ],
)
def test_a_scan_that_sees_nothing_has_no_candidates(site, scan):
    found = search_node_subsets(laid_out(site), (0, 1, 2), scan, USUAL, 10)
    assert len(found.poses) == len(found.costs) == 0
    assert found.remaining_cost == np.inf
