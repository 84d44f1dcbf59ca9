"""Several maps at once: which one, where, and what is said when they look alike."""

import shutil
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.answers import bits
from tests.support.errors import known_fault
from tests.support.reference_space import LIDAR, at, atlas_of, house, house_atlas, symmetric_room
from tests.support.reports import near
from tests.support.sites import PLANE, SITES, SPACE, gap
from tests.support.worlds import TALL, tilt_between, untold

import isovist as iv

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
USUAL = iv.LocalizationSettings()


def pair(site):
    """The site after another."""
    return {"elsewhere": site.twin_atlas, "here": site.atlas}


def alike(site):
    return {"floor 1": site.atlas, "floor 2": site.atlas}


@BOTH
@pytest.mark.parametrize("mounted", [False, True])
def test_the_answer_says_which_map(site, mounted):
    maps = pair(site)
    for order in (maps, dict(reversed(maps.items()))):
        for truth in site.places:
            answer = iv.locate(order, site.look(truth, mount=site.mount if mounted else None))
            assert (answer.verdict, answer.map, answer.best.map) == ("unique", "here", "here")
            assert near(answer.best.pose, truth)
            assert answer.frame == ("robot" if mounted else "sensor")
            assert 0.0 <= answer.none < 0.5


@BOTH
def test_places_are_found_as_on_the_map_alone(site):
    scan = site.look(site.places[1])
    alone, together = iv.locate(site.atlas, scan), iv.locate(pair(site), scan)
    assert gap(together.best.pose, alone.best.pose) == pytest.approx((0.0, 0.0), abs=0.04)
    widths = [np.diag(each.best.covariance)[:3] for each in (together, alone)]
    np.testing.assert_allclose(*widths, rtol=0.1)
    assert (alone.map, alone.best.map) == (None, None)


@BOTH
def test_one_map_by_name_gives_the_numbers_of_the_map_alone(site):
    for truth in site.places:
        alone = iv.locate(site.atlas, site.look(truth))
        named = iv.locate({"only": site.atlas}, site.look(truth))
        assert named.map == "only"
        unnamed = tuple(replace(one, map=None) for one in named.estimates)
        assert bits(replace(named, estimates=unnamed)) == bits(alone)


@BOTH
def test_two_floors_alike_are_ambiguous_between_floors(site):
    answer = iv.locate(alike(site), site.look(site.places[0]))
    assert answer.verdict == "ambiguous"
    assert answer.reasons[:2] == ("competitors", "several_maps")
    assert set(answer.facts["maps"]) == {"floor 1", "floor 2"}
    first, second = answer.best, answer.rivals[0]
    assert {first.map, second.map} == {"floor 1", "floor 2"}
    assert gap(first.pose, second.pose)[0] < 0.01
    assert first.probability == pytest.approx(second.probability, abs=0.02)


@BOTH
def test_faint_places_of_other_maps_do_not_count(site):
    scan, every = site.look(site.places[1]), USUAL.with_values({"decision.max_estimates": 1000})
    answer = iv.locate(pair(site), scan, settings=every)
    others = [e for e in answer.estimates if e.map != answer.map]
    faint = [e for e in others if e.refuted and e.probability < 0.03 * answer.best.probability]
    assert len(faint) >= 2
    assert not any(e.probability for e in faint)
    own = [e for e in answer.estimates if e.map == answer.map]
    assert all(e.probability > 0.0 for e in own[:2])
    listed = sum(e.probability for e in answer.estimates)
    assert listed + answer.none == pytest.approx(1.0, abs=1e-9)


@BOTH
def test_a_place_of_any_map_that_was_not_looked_at_is_not_absent(site):
    """One candidate is handed on, and the same place of the other map is left out."""
    scan = site.look(site.places[0])
    few = iv.locate(
        alike(site),
        scan,
        settings=USUAL.with_values({"search.first_candidates": 2, "search.full_candidates": 2}),
    )
    assert few.verdict == "ambiguous"


def test_what_is_not_ahead_of_all_that_was_left_out_is_not_unique():
    ahead = USUAL.with_values(
        {
            "search.first_candidates": 20,
            "search.full_candidates": 40,
            "decision.min_cost_ratio": 1000.0,
        }
    )
    answer = iv.locate(pair(PLANE), PLANE.look(PLANE.places[0]), settings=ahead)
    assert answer.map == "here"
    assert (answer.verdict, answer.reasons) == ("ambiguous", (iv.Reason.SEARCH_INCOMPLETE,))


@BOTH
def test_a_prior_says_which_map(site):
    truth = site.places[0]
    scan = site.look(truth)
    for region in (None, iv.Region.around(truth, 1.0)):
        answer = iv.locate(alike(site), scan, region={"floor 2": region})
        assert (answer.verdict, answer.map) == ("unique", "floor 2")
        assert gap(answer.best.pose, truth)[0] < 0.1
        assert all(estimate.map == "floor 2" for estimate in answer.estimates)
    away = iv.Region.circle([truth.x + 500.0, truth.y], 1.0)
    answer = iv.locate(alike(site), scan, region={"floor 1": away, "floor 2": None})
    assert answer.map == "floor 2"


@BOTH
def test_a_scan_of_no_map_is_not_unique(site):
    answer = iv.locate({"a": site.atlas, "b": site.atlas}, site.elsewhere())
    assert answer.verdict != "unique"


@BOTH
def test_several_scans_on_several_maps(site):
    a, b = site.places[0], site.places[0] @ type(site.places[0])(0.4, 0.1, 0.2)
    scans, motion = [site.look(a), site.look(b, seed=4)], a.inverse @ b
    answer = iv.locate(pair(site), scans, motions=[motion])
    assert (answer.verdict, answer.map) == ("unique", "here")
    assert gap(answer.best.pose, b)[0] < 0.1


def test_maps_far_from_the_origin_are_as_good():
    """Some maps lie in the coordinates of a country."""
    world = PLANE.world
    far = iv.OccupancyMap(world.cells, world.resolution, iv.Pose(4.5e5, 5.2e6, 0.3))
    maps = {"near": PLANE.twin_atlas, "far": iv.build(far)}
    truth = far.origin @ world.origin.inverse @ PLANE.places[0]
    answer = iv.locate(maps, PLANE.look(PLANE.places[0]))
    assert (answer.verdict, answer.map) == ("unique", "far")
    assert gap(answer.best.pose, truth)[0] < 0.1


def test_maps_may_have_cells_of_different_size():
    room = iv.SegmentMap.room(9.0, 7.0).walls.reshape(-1, 2, 2)
    maps = {"coarse": iv.build(iv.OccupancyMap.from_segments(room, 0.1)), "here": PLANE.atlas}
    scan = PLANE.look(PLANE.places[0])
    answer, alone = iv.locate(maps, scan), iv.locate(PLANE.atlas, scan)
    assert (answer.verdict, answer.map) == ("unique", "here")
    ratio = np.diag(answer.best.covariance) / np.diag(alone.best.covariance)
    np.testing.assert_allclose(ratio, 1.0, atol=0.3)


@BOTH
def test_hints_know_several_maps(site):
    maps = {**alike(site), "floor 0": site.twin_atlas}
    over = site.look(site.places[0]).mirrored()
    hints = iv.hints(maps, over, iv.locate(maps, over), region={"floor 2": None})
    assert (hints[0].cause, hints[0].map) == ("mirror", "floor 2")
    assert "floor 2" in hints[0].text


@lru_cache
def shining(name):
    """A map that only reflectance makes unique, and a scan of it with intensities."""
    if name == "plane":
        sides = np.array([[0, 0, 9, 0], [9, 0, 9, 2], [9, 2, 0, 2], [0, 2, 0, 0]], dtype=float)
        world = iv.SegmentMap.from_segments(sides, reflectance=[0.2, 0.5, 0.9, 0.5])
        lidar, truth = iv.Lidar(beams=360, noise=0.01), iv.Pose(2.6, 0.8, 0.3)
    else:
        world, lidar, truth = symmetric_room(True), LIDAR, iv.Pose3(2.2, 2.9, 0.4, 1.1)
    return iv.build(world), lidar.scan(world, truth, np.random.default_rng(0)), truth


@BOTH
def test_intensities_count_on_one_map_and_are_left_out_on_several(site):
    atlas, scan, truth = shining(site.name)
    one = iv.locate({"only": atlas}, scan)
    assert (one.verdict, one.map) == ("unique", "only")
    maps = {"lit": atlas, "other": site.atlas}
    several = iv.locate(maps, scan)
    assert (several.verdict, several.map) == ("ambiguous", "lit")
    assert several.reasons[0] == "competitors"
    assert several.facts["ignored_intensities"] == ()
    assert min(gap(e.pose, truth)[0] for e in several.estimates[:2]) < 0.1
    told = iv.check(maps, scan, truth, map="lit")
    assert (told.verdict, told.reasons) == ("cannot tell", several.reasons)
    assert told.facts["ignored_intensities"] == ()
    bare = iv.locate(maps, site.look(site.places[0]))
    assert "ignored_intensities" not in bare.facts


def test_a_tilt_is_fitted_on_the_right_map_of_several():
    truth = at(5.0, 0.0, 0.7, roll=0.03, pitch=-0.04)
    scan = untold(TALL.scan(house(), truth, np.random.default_rng(4)))
    maps = {"room": atlas_of(symmetric_room(False)), "house": house_atlas()}
    answer, alone = iv.locate(maps, scan, tilt=True), iv.locate(house_atlas(), scan, tilt=True)
    assert (answer.verdict, answer.map) == (alone.verdict, "house")
    for best in (answer.best, alone.best):
        assert tilt_between(best.pose, truth) < 1.0  # in a small house cells leave up to 0.7°
        assert best.covariance.shape == (6, 6)
        assert gap(best.pose, truth)[0] < 0.1


# Many maps.


@lru_cache
def alike_maps():
    """Maps of one building, more than an answer lists estimates, each with a box of its own."""
    world = PLANE.world
    free = np.argwhere(world.cells == 0)
    random, maps = np.random.default_rng(0), {}
    for k in range(14):
        cells = world.cells.copy()
        row, column = free[random.integers(len(free))]
        cells[row : row + 2, column : column + 2] = 1
        maps[f"floor {k + 1}"] = iv.build(replace(world, cells=cells))
    return maps


@pytest.mark.parametrize("name", ["floor 3", "floor 9", "floor 14"])
def test_check_judges_a_right_pose_among_more_alike_maps_than_are_listed(name):
    for pose in PLANE.places:
        check = iv.check(alike_maps(), PLANE.look(pose), pose, map=name)
        assert check.verdict != "disagrees", check.reasons
        assert check.map == check.fit.map == name


def test_all_maps_that_may_be_right_are_named_however_few_estimates_are_listed():
    few = iv.LocalizationSettings().with_values({"decision.max_estimates": 3})
    answer = iv.locate(alike_maps(), PLANE.look(PLANE.places[0]), settings=few)
    assert len(answer.estimates) == 3
    assert iv.Reason.SEVERAL_MAPS in answer.reasons
    assert len(answer.facts["maps"]) == answer.facts["competitors"] + 1 > 3


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The floor of the site among rooms that are nothing like it: too many to search each."""
    folder = tmp_path_factory.mktemp("floors")
    for k in range(20):
        iv.write_atlas(iv.build(iv.SegmentMap.room(3.0 + 0.1 * k, 2.5)), folder / f"room {k}")
    iv.write_atlas(PLANE.atlas, folder / "floor")
    return folder


@known_fault("only one scan without a region is compared with all maps", iv.FileError)
@pytest.mark.parametrize("verb", ["check", "several scans", "region"])
def test_maps_that_cannot_be_right_are_not_opened(library, tmp_path, verb):
    """All maps were compared with a scan, and then the rooms cannot be read any more."""
    pose = PLANE.places[0]
    scan, folder = PLANE.look(pose), shutil.copytree(library, tmp_path / "floors")
    maps = iv.read_library(folder, memory=1)
    assert iv.locate(maps, scan).map == "floor"
    for path in folder.glob("room */descriptors*"):
        path.unlink()
    assert iv.locate(maps, scan).map == "floor"
    if verb == "check":
        assert iv.check(maps, scan, pose, map="floor").verdict == "agrees"
    elif verb == "several scans":
        assert iv.locate(maps, [scan, scan], motions=[iv.Pose()]).map == "floor"
    else:
        assert iv.locate(maps, scan, region=dict.fromkeys(maps)).map == "floor"


def test_a_leaning_scan_is_located_among_many_maps(tmp_path):
    room = atlas_of(symmetric_room(False))
    for k in range(17):
        iv.write_atlas(room, tmp_path / f"room {k}")
    iv.write_atlas(house_atlas(), tmp_path / "house")
    truth = iv.Pose3(5.0, 0.0, 0.7, 1.5, 0.03, 0.06)
    scan = replace(SPACE.look(truth), roll=0.0, pitch=0.0)
    answer = iv.locate(iv.read_library(tmp_path), scan)
    assert answer.map == "house"
    assert gap(answer.best.pose, truth)[0] < 0.1
