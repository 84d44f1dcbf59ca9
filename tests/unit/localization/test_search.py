"""Nodes that are dropped by lower bounds are those that trying every node would drop."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.support.fits import USUAL, candidates, sought
from tests.support.paths import ROOT
from tests.support.shining import BOTH as BOTH_SIGNALS
from tests.support.shining import described, rooms, seen, with_strengths
from tests.support.sites import PLANE, SITES, SPACE
from tests.support.sizes import count_as_large

import isovist as iv
from isovist import localization
from isovist.atlas import FAR, PHASES, RAYS, Window, search_basis
from isovist.localization import LowerBounds, NodeSearch, best_headings, distinct_indices
from isovist.localization.candidates.coarse_search import coarse_candidates
from isovist.localization.settings import ProofSettings
from isovist.poses import unit_vectors, wrap_angle

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
SHORT = USUAL.search.max_short_cost
FEW = USUAL.with_values(
    {
        "search.max_nodes": 60,
        "search.headings_per_node": 4,
        "search.first_candidates": 20,
        "search.full_candidates": 40,
    }
)
NEVER = 10**9


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Bounds are used on small sites, too."""
    count_as_large(monkeypatch, bounds=0)


def window_of(site, place, scan=None):
    scan = site.look(place) if scan is None else scan
    return site.atlas.window(scan, USUAL.search.min_seen_share(site.atlas.dimension))


# Candidates.


def everywhere(atlas, scan, settings, is_full):
    """Poses and costs of the candidates when every node is tried, at a glance or in full."""
    window = atlas.window(scan, settings.search.min_seen_share(atlas.dimension))
    n, minima = atlas.settings.channels, settings.search.headings_per_node
    active = np.arange(len(atlas.nodes))
    finalists = settings.share(atlas, settings.search.max_nodes)
    if not is_full and len(active) > finalists:
        costs, _ = best_headings(
            atlas.descriptors, active, window.rough, 1, settings.search.max_short_cost
        )
        active = np.sort(np.argpartition(costs[:, 0], finalists - 1)[:finalists])
    costs, turns = best_headings(
        atlas.descriptors, active, window, minima, settings.search.max_short_cost
    )
    flat = costs.ravel()
    best = np.argsort(flat, kind="stable")[: int(np.isfinite(flat).sum())]
    yaws = 2.0 * np.pi * (turns.ravel()[best] / PHASES - window.first) / n + atlas.heading
    poses = atlas.seeds(active[best // minima], yaws)
    most = settings.share(atlas, settings.search.candidates(is_full=is_full))
    chosen = distinct_indices(poses, *settings.candidates_apart(atlas), most)
    return poses[chosen], flat[best[chosen]]


@pytest.mark.parametrize("floors", [0, NEVER])
@pytest.mark.parametrize("is_full", [False, True])
@BOTH
def test_the_candidates_are_those_of_trying_every_node(site, is_full, floors, monkeypatch):
    count_as_large(monkeypatch, bounds=floors)
    for place in site.places:
        scan, atlas = site.look(place), site.atlas
        found = candidates(atlas, scan, FEW, is_full=is_full)
        poses, costs = everywhere(atlas, scan, FEW, is_full)
        np.testing.assert_array_equal(found.poses, poses)
        np.testing.assert_array_equal(found.costs, costs)
        assert found.remaining_cost == costs[-1]
        rough, all_nodes = window_of(site, place).rough, np.arange(len(atlas.nodes))
        every, _ = best_headings(atlas.descriptors, all_nodes, rough, 1, SHORT)
        assert (every <= found.remaining_coarse_cost).sum() >= FEW.share(
            atlas, FEW.search.max_nodes
        )
        sensor = (place @ scan.T_level_robot.inverse).vector
        assert (
            found.cost_ratio(np.asarray(sensor), 1.0, 0.5)
            <= found.remaining_coarse_cost / every.min()
        )


@pytest.mark.parametrize("floors", [0, NEVER])
@BOTH
def test_a_search_that_goes_on_has_the_candidates_of_one_that_begins_anew(
    site, floors, monkeypatch
):
    count_as_large(monkeypatch, bounds=floors)
    for place in site.places:
        scan, bound = site.look(place), 0.0
        nodes = NodeSearch(site.atlas, scan, None, FEW)
        nodes.coarse(20)
        for count in (3, 10, 40, 10**6):
            found = nodes.full(count)
            alone = NodeSearch(site.atlas, scan, None, FEW).full(count)
            np.testing.assert_array_equal(found.poses, alone.poses)
            np.testing.assert_array_equal(found.costs, alone.costs)
            assert found.remaining_cost >= bound
            bound = found.remaining_cost
        assert bound == np.inf


@BOTH
def test_a_coarse_search_finds_what_it_finds_with_every_node_tried(site, monkeypatch):
    for place in site.places:
        scan, found = site.look(place), []
        for large in (0, NEVER):
            count_as_large(monkeypatch, bounds=large, shortlist=40)
            found.append(coarse_candidates(site.atlas, scan, USUAL))
        np.testing.assert_array_equal(*found)


@pytest.mark.slow
@BOTH
def test_what_other_maps_have_cheaper_is_not_tried_and_the_candidates_stay(site, monkeypatch):
    """Of several maps as many candidates are handed on as of one: the first ones set a limit."""
    maps = {"a": site.twin_atlas, "b": site.atlas, "c": site.atlas}
    for place in site.places:
        scan, found = site.look(place), []
        for large in (0, NEVER):
            count_as_large(monkeypatch, bounds=large)
            found.append(sought(maps, scan, FEW, thorough=True))
        np.testing.assert_array_equal(found[0].poses, found[1].poses)
        leads = [one.cost_ratio(found[0].poses[0], 0.4, 0.2) for one in found]
        assert leads[0] == leads[1]


def test_a_prior_asks_only_the_rows_that_it_reaches():
    turned = iv.OccupancyMap(PLANE.world.cells, 0.05, iv.Pose(3.0, -2.0, 0.7))
    atlas, middle = iv.build(turned), turned.bounds.mean(axis=0)
    square = middle + np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    circles = [(middle, 1.5), (middle, 1e6), (middle + 1e4, 2.0)]
    priors = [iv.Region.polygon(square), iv.Region.facing(0.0, 0.5)]
    for prior in (*priors, *(iv.Region.circle(*circle) for circle in circles)):
        asked = atlas.nodes_in(*prior.box(0.3))
        inside = np.flatnonzero(prior.contains(atlas.positions, 0.3))
        assert np.isin(inside, asked).all()
        assert (np.diff(asked) == 1).all()
    few = atlas.nodes_in(*iv.Region.circle(middle, 0.5).box())
    assert 0 < len(few) < 0.6 * len(atlas.nodes)


@pytest.mark.slow
def test_a_search_of_some_headings_leaves_out_no_pose_that_rates_high():
    atlas, world, yaws = PLANE.atlas, PLANE.world, np.array([0.7, 2.1])
    beams = atlas.beams(PLANE.look(PLANE.places[0]), (40, 0.2), USUAL.scoring.group)
    boxes = ProofSettings(max_ray_box_m=0.0, min_box_m=0.2, max_boxes=400_000)
    found = localization.search_pose_boxes(
        localization.PoseProblem(atlas, beams, atlas.model(USUAL.model), 1.0), boxes, yaws=yaws
    )
    assert found.complete
    turned = np.abs(wrap_angle(found.boxes[:, 2, None] - yaws)).min(axis=1)
    assert (turned <= found.boxes[:, 4] + 1e-9).all()
    rng = np.random.default_rng(5)
    places = rng.uniform(*world.bounds, (40_000, 2))
    poses = np.column_stack([places, rng.choice(yaws, len(places))])[world.contains(places)]
    good = atlas.to_cells(poses[atlas.rate(beams, poses, USUAL.model)[0].mean(axis=1) >= 1.0])
    assert len(good) > 20
    inside = np.abs(good[:, None, :2] - found.boxes[:, :2]) <= found.boxes[:, 3, None] + 1e-9
    assert inside.all(axis=2).any(axis=1).all()


# Lower bounds.


def noise():
    """An atlas whose descriptors are noise, a third of them unknown, and a scan of noise."""
    random = np.random.default_rng(2)
    settings = replace(PLANE.atlas.settings, channels=16)
    F = random.uniform(0.0, np.log(31.0), (700, 1, 16)).astype(np.float32)
    F[random.random(F.shape) < 0.3] = FAR
    nodes = PLANE.atlas.nodes[:700]
    atlas = replace(PLANE.atlas, nodes=nodes, descriptors=F, settings=settings)
    values = random.uniform(0.0, np.log(31.0), (PHASES, 1, 13)).astype(np.float32)
    return atlas, Window(values, random.random(values.shape) < 0.8)


@pytest.mark.parametrize(
    ("of", "short", "tight"),
    [
        (PLANE, SHORT, 0.8),
        (SPACE, SHORT, 0.8),
        *((None, short, 0.0) for short in (0.02, 0.25, 3.0)),
    ],
)
def test_a_lower_bound_lies_under_the_cost_and_not_far(of, short, tight):
    """Whatever the settings, and where channels are unknown."""
    atlas, window = noise() if of is None else (of.atlas, window_of(of, of.places[0]))
    some = np.arange(atlas.settings.channels * PHASES) % 3 != 0
    every = np.arange(len(atlas.nodes))
    costs, _ = best_headings(atlas.descriptors, every, window, 1, short, some)
    bounds = LowerBounds.of(atlas).bound_costs(window, some, short)
    assert (bounds <= costs[:, 0]).all()
    assert np.median(bounds / costs[:, 0]) > tight


@pytest.mark.parametrize(
    ("site", "absurd", "levels"),
    [
        (PLANE, (np.nan, np.inf, -np.inf, 3e38, -3e38, -1.0), (127, 127, -128, 127, -128, -128)),
        (SPACE, (np.nan, np.inf, -np.inf, 3e38, -3e38, -1.0), (127, 127, -128, 127, -128, -128)),
    ],
)
def test_absurd_descriptors_of_a_damaged_atlas_are_no_error(site, absurd, levels):
    damaged = site.atlas.descriptors.copy()
    damaged.reshape(-1)[: len(absurd)] = absurd
    table = LowerBounds.of(replace(site.atlas, descriptors=damaged)).table
    assert table.transpose(0, 2, 1).reshape(-1)[: len(levels)].tolist() == list(levels)


# Answers.


# Ranges and intensities together.


@pytest.mark.slow
def test_the_second_ring_is_the_brightness_of_the_walls_that_rays_meet():
    world, both = rooms(), described(BOTH_SIGNALS)
    n, dull, bright = both.settings.channels, both.reflectances.dull, both.reflectances.bright
    rays = unit_vectors(2.0 * np.pi * np.arange(RAYS * n) / (RAYS * n))
    W = search_basis(n).weights(rays)
    worst = []
    for k in np.flatnonzero((both.descriptors < FAR).all(axis=(1, 2)))[::97]:
        hits = world.cast(both.positions[k], rays)
        b = np.clip((world.reflectance[hits.walls] - dull) / (bright - dull), 0.0, 1.0)
        worst.append(np.abs(both.descriptors[k, 1] - b @ W / W.sum(axis=0)))
    assert np.median(worst) < 1e-5
    assert np.quantile(worst, 0.9) < 0.02  # the rest look at corners, where cells err by one


def test_a_scan_without_intensities_or_in_other_units_is_searched_by_ranges():
    for strengths in (None, 255.0 * seen().intensities):
        quiet = with_strengths(seen(), strengths)
        one, two = (candidates(described(s), quiet) for s in ("range", BOTH_SIGNALS))
        np.testing.assert_array_equal(one.poses, two.poses)
        np.testing.assert_array_equal(one.costs, two.costs)


# What a closer look needs besides.

FIRST_SCANS = """
import isovist as iv
from isovist.compute import KERNELS
from tests.support.sites import SITES

site = SITES["plane"]
assert iv.locate(site.atlas, site.look(site.places[0])).verdict == "unique"
before = {name for name, kernel in KERNELS.items() if kernel.ready}
alike = site.look(site.lonely, world=site.twins, seed=6)
assert iv.locate(site.twin_atlas, alike).verdict == "ambiguous"
print(*sorted({name for name, kernel in KERNELS.items() if kernel.ready} - before))
"""


@pytest.mark.slow
def test_a_first_ambiguous_scan_compiles_nothing_that_a_unique_one_has_not():
    words = [sys.executable, "-c", FIRST_SCANS]
    assert subprocess.check_output(words, text=True, cwd=ROOT).split() == []
