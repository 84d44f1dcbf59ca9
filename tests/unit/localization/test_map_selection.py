"""Of many maps some are looked at: the others are excluded by a bound, or the answer says so."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import SITES, gap

import isovist as iv
from isovist import InputError, Library, LocalizationSettings, hints
from isovist.localization import choice, several
from isovist.localization.choice import Choice, Glances
from isovist.localization.maps import _Dearest, site_of
from isovist.localization.search import Candidates, best_headings

both = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
USUAL = LocalizationSettings()


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A library with the map that has the places among others, all of which are many."""
    monkeypatch.setattr(choice, "FEW", 2)
    monkeypatch.setattr(choice, "FIRST", 1)

    def make(site, **limits):
        iv.write_atlas(site.twin_atlas, tmp_path / "first")
        iv.write_atlas(site.atlas, tmp_path / "second")
        iv.write_atlas(site.twin_atlas, tmp_path / "third")
        return iv.read_library(tmp_path, **limits)

    return make


@pytest.mark.slow
@both
def test_the_place_is_found_as_when_all_maps_are_looked_at(site, shelf):
    library = shelf(site)
    for truth in site.places[:2]:
        scan = site.look(truth)
        answer = iv.locate(library, scan)
        every = iv.locate(dict(library), scan)
        assert gap(answer.best.pose, every.best.pose)[0] < 0.05
        assert answer.verdict is every.verdict is iv.Verdict.UNIQUE
        assert answer.map == "second"
        assert gap(answer.best.pose, truth)[0] < 0.1
        assert answer.timing_ms["total"] >= answer.timing_ms["search"]


@both
def test_a_whole_map_is_searched_once_for_a_look(site, shelf, monkeypatch):
    library, asked = shelf(site), []
    real = several.search

    def counted(atlas, scan, *given, **how):
        if how.get("only") is None:
            asked.append((id(atlas), id(scan), how["thorough"], how["limit"]))
        return real(atlas, scan, *given, **how)

    monkeypatch.setattr(several, "search", counted)
    iv.locate(library, site.look(site.places[0]))
    assert asked
    assert len(asked) == len(set(asked))


@both
def test_floors_of_maps_are_below_what_their_nodes_cost(site, shelf):
    library = shelf(site)
    scan = site.look(site.places[0])
    window = site.atlas.window(scan, USUAL.seen_share[site.atlas.dimension - 2])
    under = Glances.of(library).under(window, USUAL.short)
    for name, floors in zip(library, under, strict=True):
        atlas = library[name]
        assert floors.shape == (len(atlas.nodes),)
        every = np.arange(len(atlas.nodes))
        costs, _ = best_headings(atlas.descriptors, every, window.rough, 1, USUAL.short)
        assert (floors <= costs[:, 0]).all()
    assert Glances.of(library) is Glances.of(library)


@both
def test_what_is_left_out_costs_at_least_what_is_said(site, shelf):
    library = shelf(site)
    scan = site.look(site.places[0])
    chosen = Choice.of(site_of(library), scan, USUAL)
    assert chosen.site.names[chosen.order[0]] == "second"
    for limit in (0.0, 1.0, 3.0, np.inf):
        part, left = chosen.part(limit)
        assert part.names[0] in library
        for k, name in enumerate(chosen.site.names):
            out = np.ones(len(chosen.under[k]), dtype=bool)
            if name in part.only:
                out[part.only[name]] = False
            elif name in part.names:
                out[:] = False
            assert (chosen.under[k][out] >= left).all()
    alone, least = replace(chosen, most=1).part(np.inf)
    assert alone.names == ("second",)
    assert least == min(chosen.under[k].min() for k in (0, 2))


def test_no_more_maps_are_tried_when_one_is_far_ahead(shelf, monkeypatch):
    tried = []
    rated = choice._rated
    monkeypatch.setattr(choice, "_rated", lambda *given: tried.append(0) or rated(*given))
    library = shelf(SITES["plane"])
    scan = SITES["plane"].look(SITES["plane"].places[0])
    monkeypatch.setattr(choice, "AHEAD", (2, 0.0))
    assert Choice.of(site_of(library), scan, USUAL).order[0] == 1
    assert len(tried) == 2
    monkeypatch.setattr(choice, "AHEAD", (2, np.inf))
    assert Choice.of(site_of(library), scan, USUAL).order[0] == 1
    assert len(tried) == 5
    assert not choice._is_ahead(np.array([5.0]))


@pytest.mark.slow
@both
def test_maps_that_may_not_be_looked_at_are_told(site, shelf, monkeypatch):
    """A place that was not looked at is never counted as absent."""
    library = shelf(site, most=1)
    monkeypatch.setattr(Choice, "limit", lambda *_: np.inf)  # as if no bound excluded them
    answer = iv.locate(library, site.look(site.places[0]))
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    assert answer.map == "second"
    assert answer.advice == (
        "One place explains the scan, and no other comes near. Only 1 of 3 maps were looked at; "
        "some of the others may explain the scan as well."
    )


@pytest.mark.slow
@both
def test_a_scan_of_elsewhere_is_lost_on_every_map(site, shelf):
    library = shelf(site)
    scan = site.elsewhere()
    answer = iv.locate(library, scan)
    assert answer.verdict is iv.locate(dict(library), scan).verdict
    assert answer.verdict is not iv.Verdict.UNIQUE
    assert "maps were looked at" not in answer.advice
    assert isinstance(hints(library, scan, answer), tuple)


def test_a_limit_of_maps_is_checked_and_kept(shelf):
    library = shelf(SITES["plane"], most=2)
    assert pickle.loads(pickle.dumps(library)).most == 2
    assert Library(library.paths, 1.0).most is None
    with pytest.raises(InputError) as error:
        shelf(SITES["plane"], most=0)
    assert str(error.value) == "`most` must be a number of maps, 1 or more, got 0."


@both
def test_the_channels_of_a_scan_are_found_once_for_many_maps(site):
    scan = site.look(site.places[0])
    share = USUAL.seen_share[site.atlas.dimension - 2]
    assert site.atlas.window(scan, share) is site.twin_atlas.window(scan, share)
    assert site.atlas.window(scan, share) is not site.atlas.window(site.look(site.places[0]), share)


def test_the_dearest_of_many_maps_is_that_of_all_costs_together():
    random = np.random.default_rng(0)
    dearest, costs, left_out = _Dearest(10), [], np.inf
    for _ in range(12):
        own = np.sort(random.random(random.integers(0, 6)))
        left = float(random.uniform(0.5, 3.0))
        found = Candidates(np.zeros((len(own), 3)), own, left, None, np.inf)
        costs, left_out = sorted([*costs, *own]), min(left_out, left)
        wanted = min(costs[10] if len(costs) > 10 else np.inf, left_out)
        assert dearest.after(found) == wanted
