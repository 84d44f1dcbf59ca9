"""Reflectance in the plane: what ranges cannot tell apart, intensities can."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import gap

import isovist as iv
from isovist import BeamModel, Descriptor, FileError, Pose, read_map, write_map
from isovist.atlas import most_gloss
from isovist.poses import unit_vectors

SIDES = np.array(
    [[0, 0, 9, 0], [9, 0, 9, 2], [9, 2, 0, 2], [0, 2, 0, 0]], dtype=np.float64
)  # a corridor
REFLECTANCE = [0.2, 0.5, 0.9, 0.5]
TRUTH = Pose(2.6, 0.8, 0.3)
LIDAR = iv.Lidar(beams=360, noise=0.01)


def corridor():
    return iv.SegmentMap.from_segments(SIDES, reflectance=REFLECTANCE)


def seen(world=None):
    return LIDAR.scan(world or corridor(), TRUTH, np.random.default_rng(0))


@pytest.mark.slow
def test_a_corridor_whose_sides_differ_in_reflectance_alone_is_unique_with_intensities():
    atlas, scan = iv.build(corridor()), seen()
    assert scan.intensities is not None
    alone = iv.locate(atlas, replace(scan, ranges=_with_gaps(scan), intensities=None))
    assert alone.verdict is iv.Verdict.AMBIGUOUS
    both = iv.locate(atlas, scan)
    assert both.verdict is iv.Verdict.UNIQUE
    away, turn = gap(both.best.pose, TRUTH)
    assert away < 0.05
    assert turn < 0.02


def _with_gaps(scan):
    return np.where(scan.valid, scan.ranges, np.nan)


@pytest.mark.slow
def test_an_atlas_with_reflectances_comes_back_from_disk(tmp_path):
    atlas, scan = iv.build(corridor()), seen()
    iv.write_atlas(atlas, tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    np.testing.assert_array_equal(again.world.reflectance, atlas.world.reflectance)
    np.testing.assert_array_equal(again.gleam, atlas.gleam)
    assert iv.locate(again, scan).best.pose == iv.locate(atlas, scan).best.pose


@pytest.mark.slow
def test_intensities_in_other_units_are_left_out_and_said_so():
    atlas, scan = iv.build(corridor()), seen()
    loud = replace(scan, ranges=_with_gaps(scan), intensities=scan.intensities * 255.0)
    answer = iv.locate(atlas, loud)
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    assert "Intensities were left out: their median is" in answer.advice
    assert "the walls of the map have 0.2 to 0.9." in answer.advice


@pytest.mark.slow
def test_a_map_without_reflectances_does_not_mind_intensities():
    plain = iv.SegmentMap.from_segments(SIDES)
    atlas, scan = iv.build(plain), seen()
    quiet = replace(scan, ranges=_with_gaps(scan), intensities=None)
    told, untold = iv.locate(atlas, scan), iv.locate(atlas, quiet)
    assert told.best.pose == untold.best.pose
    assert told.best.score == untold.best.score


def test_cells_have_the_reflectance_of_the_nearest_wall():
    cells = iv.build(corridor()).world
    for x, y, value in ((4.0, 0.0, 0.2), (4.0, 2.0, 0.9), (9.0, 1.0, 0.5)):
        row, column = cells.index([x, y])
        assert cells.reflectance.reshape(cells.shape)[row, column] == value


@pytest.mark.slow
def test_a_proof_allows_for_what_intensities_add():
    best = most_gloss(BeamModel())
    assert best == pytest.approx(np.log(0.8 / (np.sqrt(2.0 * np.pi) * 0.2) + 0.2))
    atlas, scan = iv.build(corridor()), seen()
    answer = iv.locate(atlas, scan, prove=True, budget_s=0.0)
    margin = iv.LocalizationSettings().refuted[1]
    assert answer.proof.floor == pytest.approx(answer.best.score - margin - best)


def test_a_descriptor_takes_the_intensities_of_a_scan():
    world = corridor()
    bearings = 2.0 * np.pi * np.arange(4096) / 4096
    hits = world.cast(TRUTH.position, unit_vectors(bearings))
    scan = iv.Scan(bearings, hits.ranges, intensities=world.reflectance[hits.walls])
    descriptor = Descriptor(iv.Rose.circle(12), iv.Intensity())
    F, _ = descriptor.at(world, TRUTH.position)
    np.testing.assert_allclose(descriptor.of_scan(scan).F, F, atol=2e-3)


def test_reflectances_of_a_plan_are_kept_in_its_file(tmp_path):
    write_map(corridor(), tmp_path / "plan.geojson")
    again = read_map(tmp_path / "plan.geojson")
    middle = again.walls.reshape(-1, 2, 2).mean(axis=1)
    for (x, y), value in zip(middle, again.reflectance, strict=True):
        expected = {0.0: 0.2, 2.0: 0.9}.get(float(y), 0.5)
        assert value == expected, (x, y)


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ('{"reflectance": "dark"}', "plan.geojson: `reflectance` must be a number, got 'dark'."),
        (
            "{}",
            "plan.geojson: 1 of 4 walls have no `reflectance`; give it for all of them or for "
            "none.",
        ),
    ],
)
def test_odd_reflectances_are_one_line(properties, text, tmp_path):
    lines = [[[0, 0], [4, 0]], [[4, 0], [4, 3]], [[4, 3], [0, 3]], [[0, 3], [0, 0]]]
    told = ['{"reflectance": 0.5}'] * 3 + [properties]
    features = ", ".join(
        f'{{"type": "Feature", "properties": {p}, "geometry": '
        f'{{"type": "LineString", "coordinates": {line}}}}}'
        for p, line in zip(told, lines, strict=True)
    )
    path = tmp_path / "plan.geojson"
    path.write_text(f'{{"type": "FeatureCollection", "features": [{features}]}}')
    with pytest.raises(FileError) as caught:
        read_map(path)
    assert str(caught.value) == text
