"""Reflectance: what ranges cannot tell apart, intensities can, in ratings and in searches."""

from functools import lru_cache

import numpy as np
import pytest
from tests.support.answers import bits
from tests.support.errors import refused
from tests.support.reference_space import LIDAR as RINGS
from tests.support.reference_space import atlas_of, symmetric_room
from tests.support.reports import near
from tests.support.shining import BOTH, HERE, described, rooms, seen, with_strengths

import isovist as iv

SIDES = np.array([[0, 0, 9, 0], [9, 0, 9, 2], [9, 2, 0, 2], [0, 2, 0, 0]], dtype=float)
"""A corridor."""
TRUTH = iv.Pose(2.6, 0.8, 0.3)
LIDAR = iv.Lidar(beams=360, noise=0.01)


@lru_cache
def corridor():
    return iv.SegmentMap.from_segments(SIDES, reflectance=[0.2, 0.5, 0.9, 0.5])


@lru_cache
def lit():
    return iv.build(corridor())


@lru_cache
def case(name):
    """An atlas, a scan and its place that ranges alone do not tell."""
    if name == "plane":
        return lit(), LIDAR.scan(corridor(), TRUTH, np.random.default_rng(0)), TRUTH
    rng = np.random.default_rng(int(name[-1]))
    truth = iv.Pose3(*rng.uniform((1.8, 0.7, -3.0, 1.05), (4.4, 3.5, 3.0, 1.15)))
    room = symmetric_room(True)
    return atlas_of(room), RINGS.scan(room, truth, rng), truth


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plane", "space 0", "space 1"])
def test_places_that_differ_in_reflectance_alone_are_told_by_intensities(name):
    atlas, scan, truth = case(name)
    alone = iv.locate(atlas, with_strengths(scan, None))
    assert alone.verdict == "ambiguous"
    assert "ignored_intensities" not in alone.facts
    both = iv.locate(atlas, scan)
    assert both.verdict == "unique"
    assert near(both.best.pose, truth, 0.1 if name != "plane" else 0.05)
    # In other units they are left out, and this is said.
    loud = iv.locate(atlas, with_strengths(scan, 255.0 * scan.intensities))
    assert loud.verdict == "ambiguous"
    median, dull, bright = loud.facts["ignored_intensities"]
    assert median == pytest.approx(255.0 * np.median(scan.intensities), rel=0.2)
    assert (dull, bright) == (0.2, 0.9)


@pytest.mark.slow
def test_an_atlas_with_reflectances_comes_back_from_disk(tmp_path):
    _, scan, _ = case("plane")
    iv.write_atlas(lit(), tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    np.testing.assert_array_equal(again.world.reflectance, lit().world.reflectance)
    np.testing.assert_array_equal(again.nearest_reflectance, lit().nearest_reflectance)
    assert iv.locate(again, scan).best.pose == iv.locate(lit(), scan).best.pose


@pytest.mark.slow
def test_a_map_without_reflectances_does_not_mind_intensities():
    atlas, (_, scan, _) = iv.build(iv.SegmentMap.from_segments(SIDES)), case("plane")
    heard, quiet = iv.locate(atlas, scan).best, iv.locate(atlas, with_strengths(scan, None)).best
    assert (heard.pose, heard.score) == (quiet.pose, quiet.score)


def test_cells_have_the_reflectance_of_the_nearest_wall():
    cells = lit().world
    for x, y, value in ((4.0, 0.0, 0.2), (4.0, 2.0, 0.9), (9.0, 1.0, 0.5)):
        row, column = cells.index([x, y])
        assert cells.reflectance.reshape(cells.shape)[row, column] == value


@pytest.mark.slow
def test_a_proof_allows_for_what_intensities_add():
    best = np.log(0.8 / (np.sqrt(2.0 * np.pi) * 0.2) + 0.2)
    answer = iv.locate(lit(), case("plane")[1], prove=True, budget_s=0.0)
    margin = iv.LocalizationSettings().refutation.min_lead_nats
    assert answer.proof.floor == pytest.approx(answer.best.score - margin - best)


def test_a_descriptor_takes_the_intensities_of_a_scan():
    bearings = 2.0 * np.pi * np.arange(4096) / 4096
    directions = np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
    hits = corridor().cast(TRUTH.position, directions)
    scan = iv.Scan(bearings, hits.ranges, intensities=corridor().reflectance[hits.walls])
    descriptor = iv.Descriptor(iv.DirectionalBasis.circle(12), iv.Intensity())
    F, _ = descriptor.at(corridor(), TRUTH.position)
    np.testing.assert_allclose(descriptor.of_scan(scan).F, F, atol=2e-3)


def test_reflectances_of_a_plan_are_kept_in_its_file(tmp_path):
    iv.write_map(corridor(), tmp_path / "plan.geojson")
    again = iv.read_map(tmp_path / "plan.geojson")
    middle = again.walls.reshape(-1, 2, 2).mean(axis=1)
    for (x, y), value in zip(middle, again.reflectance, strict=True):
        assert value == {0.0: 0.2, 2.0: 0.9}.get(float(y), 0.5), (x, y)


@pytest.mark.parametrize("properties", ['{"reflectance": "dark"}', "{}"])
def test_odd_reflectances_of_a_file_are_named(properties, tmp_path):
    lines = [[[0, 0], [4, 0]], [[4, 0], [4, 3]], [[4, 3], [0, 3]], [[0, 3], [0, 0]]]
    given = ['{"reflectance": 0.5}'] * 3 + [properties]
    features = ", ".join(
        f'{{"type": "Feature", "properties": {p}, "geometry": '
        f'{{"type": "LineString", "coordinates": {line}}}}}'
        for p, line in zip(given, lines, strict=True)
    )
    path = tmp_path / "plan.geojson"
    path.write_text(f'{{"type": "FeatureCollection", "features": [{features}]}}')
    with pytest.raises(iv.FileError) as caught:
        iv.read_map(path)
    assert (caught.value.code, caught.value.field) == ("invalid_file", "reflectance")


# An atlas that is searched by both.


@pytest.mark.slow
def test_the_first_ring_is_that_of_ranges_and_a_few_candidates_will_do():
    plain, both = described(), described(BOTH)
    assert (plain.signal, both.signal) == ("range", BOTH)
    np.testing.assert_array_equal(both.descriptors[:, :1], plain.descriptors)
    assert both.descriptors.shape[1] == 2
    few = iv.LocalizationSettings().with_values(
        {"search.first_candidates": 2, "search.full_candidates": 2}
    )
    assert near(iv.locate(both, seen(), settings=few).best.pose, HERE, 0.05)


@pytest.mark.slow
def test_on_several_maps_ranges_are_compared():
    plain, both = described(), described(BOTH)
    one, two = (iv.locate({"a": atlas, "b": plain}, seen()) for atlas in (plain, both))
    assert bits(one) == bits(two)


@pytest.mark.slow
def test_a_library_may_hold_atlases_of_either_signal(tmp_path):
    answers = []
    for name, atlas in (("one", described()), ("two", described(BOTH))):
        (tmp_path / name).mkdir()
        for k in range(17):  # more than are all looked at
            iv.write_atlas(atlas if k % 2 else described(), tmp_path / name / f"map {k}")
        answers.append(iv.locate(iv.read_library(tmp_path / name), seen()))
    assert bits(answers[0]) == bits(answers[1])


@pytest.mark.slow
def test_the_command_builds_with_a_signal_that_comes_back_from_disk(tmp_path, typed):
    iv.write_map(rooms(), tmp_path / "rooms.geojson")
    words = ["build", tmp_path / "rooms.geojson", "-o", tmp_path / "a", "--signal", BOTH]
    assert not typed(*words)[0]
    again, both = iv.read_atlas(tmp_path / "a"), described(BOTH)
    assert again.signal == BOTH
    np.testing.assert_array_equal(again.descriptors, both.descriptors)
    assert iv.locate(again, seen()).best.pose == iv.locate(both, seen()).best.pose
    assert BOTH in typed("info", tmp_path / "a")[1]


def test_walls_that_are_all_alike_make_no_signal():
    grey = np.full(len(rooms().walls), 0.5)
    alike = iv.SegmentMap.from_segments(rooms().walls, reflectance=grey)
    for world in (iv.SegmentMap.room(4, 3), alike):
        with refused("signal", "missing"):
            iv.build(world, signal=BOTH)


def test_channels_that_meet_no_wall_are_unknown():
    lines = np.array([[[0, 0], [8, 0]], [[0, 3], [8, 3]]], dtype=float)
    shine = np.array([0.2, 0.8])
    world = iv.OccupancyMap.from_segments(lines, 0.05, outside=0, reflectance=shine)
    atlas = iv.build(world, signal=BOTH)
    middle = int(np.argmin(np.hypot(*(atlas.positions - [4.0, 1.5]).T)))
    along = atlas.descriptors[middle, 1]
    assert along[0] == atlas.descriptors.max() > 10.0
    assert (along[16], along[48]) == pytest.approx((1.0, 0.0))
