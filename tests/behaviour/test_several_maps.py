"""Several maps at once: which one, where, and what is said when they look alike."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES, SPACE, gap

import isovist as iv
import isovist.localization.locate as locate_module
import isovist.localization.look as look_module
from isovist import InputError, LocalizationSettings
from isovist.localization.contrast import contrast
from isovist.localization.maps import prior_of, seek, site_of
from isovist.sensing.joined import joined

both = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


def pair(site):
    """The site beside another."""
    return {"here": site.atlas, "elsewhere": site.twin_atlas}


@pytest.mark.slow
@both
def test_the_answer_says_which_map(site):
    maps = pair(site)
    for order in (maps, dict(reversed(maps.items()))):
        for truth in site.places:
            answer = iv.locate(order, site.look(truth))
            assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "here")
            assert answer.best.map == "here"
            away, turn = gap(answer.best.pose, truth)
            assert away < 0.1
            assert turn < 0.05
            assert 0.0 <= answer.none < 0.5


@pytest.mark.slow
@both
def test_places_are_found_as_on_the_map_alone(site):
    scan = site.look(site.places[1])
    alone = iv.locate(site.atlas, scan)
    together = iv.locate(dict(reversed(pair(site).items())), scan)
    gaps = gap(together.best.pose, alone.best.pose)
    np.testing.assert_allclose(gaps, 0.0, atol=0.04)  # fits begin elsewhere
    np.testing.assert_allclose(
        np.diag(together.best.covariance)[:3], np.diag(alone.best.covariance)[:3], rtol=0.1
    )
    assert alone.map is None
    assert alone.best.map is None


@pytest.mark.slow
@both
def test_one_map_by_name_gives_the_bits_of_the_map_alone(site):
    for truth in site.places:
        scan = site.look(truth)
        alone = iv.locate(site.atlas, scan, certificate=True)
        named = iv.locate({"only": site.atlas}, scan, certificate=True)
        assert named.map == "only"
        assert (named.verdict, named.advice) == (alone.verdict, alone.advice)
        assert named.certificate == alone.certificate
        for a, b in zip(named.estimates, alone.estimates, strict=True):
            assert a.pose == b.pose
            assert (a.probability, a.score) == (b.probability, b.score)
            np.testing.assert_array_equal(a.covariance, b.covariance)


@pytest.mark.slow
@both
def test_two_floors_alike_are_ambiguous_between_floors(site):
    maps = {"floor 1": site.atlas, "floor 2": site.atlas}
    answer = iv.locate(maps, site.look(site.places[0]))
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    assert answer.advice == (
        "1 other place would explain the scan about as well. Move and look again. "
        "The maps look alike from here: it may be floor 1 or floor 2."
    )
    first, second = (answer.best, answer.rivals[0])
    assert {first.map, second.map} == {"floor 1", "floor 2"}
    assert gap(first.pose, second.pose)[0] < 0.01
    assert first.probability == pytest.approx(second.probability, abs=0.02)


@pytest.mark.slow
@both
def test_faint_places_of_other_maps_do_not_count(site):
    scan, every = site.look(site.places[1]), replace(LocalizationSettings(), listed=1000)
    answer = iv.locate(pair(site), scan, settings=every)
    best = answer.best
    others = [e for e in answer.estimates if e.map != answer.map]
    faint = [e for e in others if e.refuted and e.probability < 0.03 * best.probability]
    assert len(faint) >= 3
    assert not any(e.probability for e in faint)
    own = [e for e in answer.estimates if e.map == answer.map]
    assert all(e.probability > 0.0 for e in own[:2])
    listed = sum(e.probability for e in answer.estimates)
    assert listed + answer.none == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
@both
def test_a_place_of_any_map_that_was_not_looked_at_is_not_absent(site):
    """One candidate is handed on, and the same place of the other map is left out."""
    maps = {"floor 1": site.atlas, "floor 2": site.atlas}
    few = replace(iv.LocalizationSettings(), seeds=(2, 2))
    scan = site.look(site.places[0])
    answer = iv.locate(maps, scan, settings=few)
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    together = site_of(maps)
    found = seek(together, scan, None, few)
    own = found.poses[0]
    radius, turn = few.candidates_apart(together)
    alone = seek(site.atlas, scan, None, few)
    assert found.lead(own, radius, turn) <= alone.lead(own, radius, turn)


@pytest.mark.slow
@both
def test_where_candidates_crowd_each_other_out_each_map_has_as_many(site, monkeypatch):
    look, asked = look_module.look_once, []

    def crowded(site, scan, prior, settings, *rest, thorough=False, **more):
        asked.append(settings.seeds[thorough])
        answer, _ = look(site, scan, prior, settings, *rest, thorough=thorough, **more)
        return answer, len(asked) == 3

    for module in (locate_module, look_module):
        monkeypatch.setattr(module, "look_once", crowded)
    answer = iv.locate(pair(site), site.look(site.places[0]))
    few, many = iv.LocalizationSettings().seeds
    assert asked == [few, many, 2 * many]
    assert answer.verdict is iv.Verdict.UNIQUE


@both
def test_as_many_candidates_are_handed_on_as_of_one_map(site):
    chosen, maps = LocalizationSettings(), pair(site)
    together, scan = site_of(maps), site.look(site.places[0])
    most = chosen.share(site.atlas, chosen.seeds[0])
    found = seek(together, scan, None, chosen)
    assert len(found.poses) <= most
    assert len(found.poses) == sum(len(one.poses) for one in found.each.values())
    cheapest = np.sort(
        np.concatenate([seek(atlas, scan, None, chosen).costs for atlas in maps.values()])
    )
    kept = np.concatenate([one.costs for one in found.each.values()])
    np.testing.assert_array_equal(np.sort(kept), cheapest[: len(kept)])


@pytest.mark.slow
@both
def test_a_prior_says_which_map(site):
    maps = {"floor 1": site.atlas, "floor 2": site.atlas}
    truth = site.places[0]
    scan = site.look(truth)
    for region in (None, iv.Region.around(truth, 1.0)):
        answer = iv.locate(maps, scan, prior={"floor 2": region})
        assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "floor 2")
        assert gap(answer.best.pose, truth)[0] < 0.1
        assert all(estimate.map == "floor 2" for estimate in answer.estimates)
    away = iv.Region.circle([truth.x + 500.0, truth.y], 1.0)
    answer = iv.locate(maps, scan, prior={"floor 1": away, "floor 2": None})
    assert answer.map == "floor 2"


@both
def test_the_prior_of_a_mirrored_trial_is_of_its_maps(site):
    maps = site_of(pair(site))
    held = prior_of(maps, {"here": None})
    rows = np.stack([maps.placed(name, site.places[0]).vector for name in maps.names])
    assert held.holds(rows).tolist() == [True, False]


@pytest.mark.slow
@both
def test_a_scan_of_neither_map_is_lost(site):
    answer = iv.locate({"a": site.atlas, "b": site.atlas}, site.elsewhere())
    assert answer.verdict is not iv.Verdict.UNIQUE


@pytest.mark.slow
@both
def test_several_scans_on_several_maps(site):
    a, b = site.places[0], site.places[0] @ type(site.places[0])(0.4, 0.1, 0.2)
    scans, motion = [site.look(a), site.look(b, seed=4)], a.inverse @ b
    answer = iv.locate(dict(reversed(pair(site).items())), scans, motions=[motion])
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "here")
    assert gap(answer.best.pose, b)[0] < 0.1
    seen = joined(scans, [motion])
    assert contrast(pair(site), seen, answer) is None or len(answer.estimates) > 1


@pytest.mark.slow
@both
def test_a_sensor_on_a_mount_and_several_maps(site):
    truth = site.places[1]
    maps = dict(reversed(pair(site).items()))
    answer = iv.locate(maps, site.look(truth, mount=site.mount))
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "here")
    assert gap(answer.best.pose, truth)[0] < 0.1


@pytest.mark.slow
def test_maps_far_from_the_origin_are_as_good():
    """Some maps lie in the coordinates of a country."""
    world = PLANE.world
    far = iv.OccupancyMap(world.cells, world.resolution, iv.Pose(4.5e5, 5.2e6, 0.3))
    maps = {"near": PLANE.twin_atlas, "far": iv.build(far)}
    truth = far.origin @ world.origin.inverse @ PLANE.places[0]
    answer = iv.locate(maps, PLANE.look(PLANE.places[0]))
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "far")
    assert gap(answer.best.pose, truth)[0] < 0.1


@pytest.mark.slow
@both
def test_why_and_hints_know_several_maps(site):
    maps = {"floor 1": site.twin_atlas, "floor 2": site.atlas, "floor 3": site.atlas}
    scan = site.look(site.places[0])
    answer = iv.locate(maps, scan)
    told = contrast(maps, scan, answer)
    assert told.numbers == (1, 2)
    np.testing.assert_allclose(told.favour, 0.0, atol=0.2)
    over = scan.mirrored()
    hints = iv.hints(maps, over, iv.locate(maps, over), prior={"floor 2": None})
    assert [(hint.cause, hint.map) for hint in hints][:1] == [("mirror", "floor 2")]
    assert " would fit at floor 2, x " in hints[0].text


def test_bad_input_is_one_line():
    atlas, scan = PLANE.atlas, PLANE.look(PLANE.places[0])
    coarse = iv.build(PLANE.world, settings=iv.AtlasSettings(reach=10.0, spacing=1.0))
    region = iv.Region.circle([0.0, 0.0], 1.0)
    two = {"a": atlas, "b": atlas}
    cases = [
        ({}, {}, "There must be at least one map, got none."),
        (
            {1: atlas},
            {},
            "Several maps are atlases by name, e.g. {'floor 1': atlas}, got 1: PlaneAtlas.",
        ),
        (
            {"a": PLANE.world},
            {},
            "Several maps are atlases by name, e.g. {'floor 1': atlas}, got 'a': OccupancyMap.",
        ),
        (
            {"a": SPACE.atlas, "b": atlas},
            {},
            "Maps must all be of the plane or all in space: 'b' is of the plane, and 'a' is in "
            "space.",
        ),
        (
            {"a": atlas, "b": coarse},
            {},
            "'a' was built with `reach` 30, and 'b' with 10. Build both with the same settings.",
        ),
        (
            two,
            {"prior": region},
            "On several maps `prior` must say which map a Region is of, e.g. {'a': "
            "Region.around(pose, 2.0)}, got Region.",
        ),
        (
            two,
            {"prior": {}},
            "On several maps `prior` must say which map a Region is of, e.g. {'a': "
            "Region.around(pose, 2.0)}, got none.",
        ),
        (two, {"prior": {"c": region}}, "`prior` is of 'c', and the maps are 'a', 'b'."),
        (two, {"prior": {"a": 3}}, "`prior` of 'a' must be a Region or None, got int."),
        (
            two,
            {"prove": True},
            "A proof is of one map, got 2 by name. Prove it on the map of the answer alone.",
        ),
        (two, {"tilt": True}, "`tilt` is for maps in space; this atlas is of the plane."),
    ]
    for maps, given, text in cases:
        with pytest.raises(InputError) as error:
            iv.locate(maps, scan, **given)
        assert str(error.value) == text
    with pytest.raises(InputError, match=r"^`prior` must be a Region, e\.g\. "):
        iv.locate(atlas, scan, prior={"a": region})


@pytest.mark.slow
def test_maps_may_have_cells_of_different_size():
    room = iv.SegmentMap.room(9.0, 7.0).walls.reshape(-1, 2, 2)
    maps = {"coarse": iv.build(iv.OccupancyMap.from_segments(room, 0.1)), "here": PLANE.atlas}
    together, truth = site_of(maps), PLANE.places[0]
    rows = np.stack([together.placed(name, truth).vector for name in maps])
    np.testing.assert_array_equal(together.cell(rows), [0.1, PLANE.world.resolution])
    answer = iv.locate(maps, PLANE.look(truth))
    alone = iv.locate(PLANE.atlas, PLANE.look(truth))
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "here")
    ratio = np.diag(answer.best.covariance) / np.diag(alone.best.covariance)
    np.testing.assert_allclose(ratio, 1.0, atol=0.3)
