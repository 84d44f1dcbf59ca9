"""A few nodes of each of many maps, searched at once, against a search of each map."""

import weakref
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import SITES

import isovist as iv
from isovist.atlas import SideBySide
from isovist.localization import few
from isovist.localization.few import search_few
from isovist.localization.maps import seek, site_of
from isovist.localization.search import Candidates, search

both = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
USUAL = iv.LocalizationSettings()


def laid_out(site, share=0.05, seed=0):
    """Three maps side by side, of each of which a few nodes are to be searched."""
    maps = {"a": site.twin_atlas, "b": site.atlas, "c": site.atlas}
    random = np.random.default_rng(seed)
    only = {name: np.flatnonzero(random.random(atlas.size) < share) for name, atlas in maps.items()}
    return replace(SideBySide.of(maps), only=only)


def one_by_one(site, scan, numbers, limit):
    """Poses and costs when each map is searched by itself, all that may be handed on."""
    found = []
    for k in numbers:
        name = site.names[k]
        one = search(site.maps[name], scan, None, USUAL, only=site.only[name])
        rows = one.poses.copy()
        rows[:, 0] += site.shifts[k]
        found.append(np.column_stack([one.costs, rows]))
    rows = np.concatenate(found)
    rows = rows[rows[:, 0] <= limit]
    return rows[np.lexsort(rows.T[::-1])]


@both
@pytest.mark.parametrize("limit", [np.inf, 0.6])
def test_the_candidates_are_those_of_each_map(site, limit):
    together = laid_out(site)
    for place in site.places[:2]:
        scan = site.look(place)
        slow = one_by_one(together, scan, (0, 1, 2), np.inf)
        most = float(np.quantile(slow[:, 0], limit)) if limit < 1.0 else np.inf
        slow = slow[slow[:, 0] <= most]
        found = search_few(together, (0, 1, 2), scan, USUAL, 10_000, most)
        rows = np.column_stack([found.costs, found.poses])
        np.testing.assert_allclose(rows[np.lexsort(rows.T[::-1])], slow, atol=1e-12)
        assert found.left_out == np.inf
        none = search_few(together, (0, 1, 2), scan, USUAL, 25, -1.0)
        assert none.poses.shape == (0, found.poses.shape[1])
        first = search_few(together, (0, 1, 2), scan, USUAL, 25, most)
        np.testing.assert_array_equal(first.costs, slow[:25, 0])
        assert first.left_out == first.costs[-1]


@both
def test_maps_of_other_spacing_are_told_apart(site):
    """What is alike depends on the distance of the nodes."""
    together = laid_out(site)
    wide = replace(site.atlas, spacing=2.0 * site.atlas.spacing)
    mixed = replace(together, maps={**together.maps, "c": wide})
    scan = site.look(site.places[0])
    slow = one_by_one(mixed, scan, (1, 2), np.inf)
    found = search_few(mixed, (1, 2), scan, USUAL, 10_000)
    rows = np.column_stack([found.costs, found.poses])
    np.testing.assert_allclose(rows[np.lexsort(rows.T[::-1])], slow, atol=1e-12)
    assert len(slow) < len(one_by_one(together, scan, (1, 2), np.inf))


@both
def test_what_leads_is_the_same_as_when_each_map_is_searched(site, monkeypatch):
    """One map is searched wholly, of the others a few nodes."""
    together = laid_out(site)
    together = replace(together, only={k: v for k, v in together.only.items() if k != "b"})
    less = replace(USUAL, seeds=(20, 40), finalists=(60, 4))

    def slow(maps, numbers, scan, _settings, _most, limit):
        rows = one_by_one(maps, scan, numbers, limit)
        return Candidates(rows[:, 1:], rows[:, 0], np.inf, None, np.inf)

    for place, number in ((site.places[0], 1), (site.places[1], 2)):
        scan = site.look(place)
        at_once = seek(together, scan, None, less)
        with monkeypatch.context() as patch:
            patch.setattr("isovist.localization.maps.search_few", slow)
            each = seek(together, scan, None, less)
        assert sorted(map(tuple, at_once.poses)) == sorted(map(tuple, each.poses))
        sensor = np.array((place @ scan.T_level_robot.inverse).vector)
        sensor[0] += together.shifts[number]
        lead = at_once.lead(sensor, 1.0, 0.5)
        assert lead == each.lead(sensor, 1.0, 0.5)
        assert lead > 0.0 or number == 2
    assert list(at_once.each) == [1]
    assert at_once.others is not None


@both
def test_no_atlas_of_a_library_is_held_open(site, tmp_path, monkeypatch):
    """A library closes one to open another: whoever holds it takes memory beyond the limit."""
    for name in "abc":
        iv.write_atlas(site.atlas, tmp_path / name)
    library = iv.read_library(tmp_path, memory=1.0)
    together = replace(site_of(library), only={name: np.arange(5) for name in library})
    seen, alive = [], []
    tried, add = few.best_headings, few._Alike.add
    monkeypatch.setattr(
        few._Alike,
        "add",
        lambda kind, atlas, *given: seen.append(weakref.ref(atlas)) or add(kind, atlas, *given),
    )
    monkeypatch.setattr(
        few,
        "best_headings",
        lambda *given: alive.append(sum(one() is not None for one in seen)) or tried(*given),
    )
    found = search_few(together, (0, 1, 2), site.look(site.places[0]), USUAL, 10)
    assert len(found.poses)
    assert len(seen) == 3
    assert alive == [1]


@both
def test_a_scan_that_sees_nothing_has_no_candidates(site, monkeypatch):
    together = laid_out(site)
    scan = site.look(site.places[0])
    window = site.atlas.window(scan, 0.3)
    blind = replace(window, seen=np.zeros_like(window.seen))
    monkeypatch.setattr(type(site.atlas), "window", lambda *_: blind)
    found = search_few(together, (0, 1, 2), scan, USUAL, 10)
    assert len(found.poses) == len(found.costs) == 0
    assert found.left_out == np.inf
