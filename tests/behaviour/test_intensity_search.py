"""An atlas of the plane can be searched by ranges and intensities together."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import SPACE, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError, Pose, write_map
from isovist.apps import app
from isovist.atlas import FAR, RAYS, search_rose
from isovist.localization import choice
from isovist.localization.floors import Floors
from isovist.localization.search import search
from isovist.maps import Cell
from isovist.poses import unit_vectors

BOTH = "range+intensity"
LIDAR = iv.Lidar(beams=360, noise=0.01)
CELLS, SIDE = 5, 3.0
"""Closed rooms in a row, all of one shape, m wide."""


def rooms():
    """Rooms of which ranges say nothing; the first two walls of each differ in reflectance."""
    walls, shine = [], []
    for k in range(CELLS):
        x = 4.0 * k
        corners = np.array([(x, 0), (x + SIDE, 0), (x + SIDE, 2), (x, 2)], dtype=np.float64)
        walls += np.stack([corners, np.roll(corners, -1, axis=0)], axis=1).tolist()
        shine += [0.1 + 0.2 * k, 0.9 - 0.2 * k, 0.5, 0.5]
    return iv.SegmentMap.from_segments(np.array(walls), reflectance=shine)


WORLD = rooms()
TRUTH = Pose(5.1, 0.8, 0.4)
SCAN = LIDAR.scan(WORLD, TRUTH, np.random.default_rng(0))


@pytest.fixture(scope="module")
def plain():
    return iv.build(WORLD)


@pytest.fixture(scope="module")
def both():
    return iv.build(WORLD, signal=BOTH)


@pytest.mark.slow
def test_the_first_ring_is_what_it_was(plain, both):
    assert (plain.signal, both.signal) == ("range", BOTH)
    np.testing.assert_array_equal(both.descriptors[:, :1], plain.descriptors)
    assert both.descriptors.shape[1] == 2


@pytest.mark.slow
def test_the_second_ring_is_the_brightness_of_the_walls_that_rays_meet(both):
    n, dull, bright = both.settings.channels, *both.shine
    turns = 2.0 * np.pi * np.arange(RAYS * n) / (RAYS * n)
    W = search_rose(n).weights(unit_vectors(turns))
    worst = []
    for k in np.flatnonzero((both.descriptors < FAR).all(axis=(1, 2)))[::97]:
        hits = WORLD.cast(both.positions[k], unit_vectors(turns))
        b = np.clip((WORLD.reflectance[hits.walls] - dull) / (bright - dull), 0.0, 1.0)
        worst.append(np.abs(both.descriptors[k, 1] - b @ W / W.sum(axis=0)))
    assert np.median(worst) < 1e-5
    assert np.quantile(worst, 0.9) < 0.02  # the rest look at corners, where cells err by one


@pytest.mark.slow
def test_a_search_tells_rooms_of_one_shape_apart_by_intensities_alone(plain, both):
    settings = iv.LocalizationSettings()
    room = lambda pose: int(pose[0] // 4.0)  # noqa: E731
    alone = search(plain, SCAN, None, settings)
    assert len({room(pose) for pose in alone.poses[:20]}) == CELLS
    together = search(both, SCAN, None, settings)
    assert {room(pose) for pose in together.poses[:2]} == {room(TRUTH.position)}
    elsewhere = [room(pose) != room(TRUTH.position) for pose in together.poses]
    assert together.costs[elsewhere].min() > 2.0 * together.costs[0]
    assert gap(iv.locate(both, SCAN).best.pose, TRUTH)[0] < 0.05


def test_a_scan_without_intensities_or_in_other_units_is_searched_by_ranges(plain, both):
    ranges = np.where(SCAN.valid, SCAN.ranges, np.nan)
    for strengths in (None, 255.0 * SCAN.intensities):
        quiet = replace(SCAN, ranges=ranges, intensities=strengths)
        one, two = (
            search(atlas, quiet, None, iv.LocalizationSettings()) for atlas in (plain, both)
        )
        np.testing.assert_array_equal(one.poses, two.poses)
        np.testing.assert_array_equal(one.costs, two.costs)


def test_floors_of_both_rings_are_below_the_costs(both):
    settings = iv.LocalizationSettings()
    window = both.window(SCAN, settings.seen_share[0])
    assert window.values.shape[1] == 2
    allowed = np.ones(2 * both.settings.channels, dtype=np.bool_)
    floors = Floors.make(both).under(window, allowed, settings.short)
    found = search(both, SCAN, None, settings, thorough=True)
    near = np.argmin(np.hypot(*(both.positions - found.poses[0, :2]).T))
    assert floors[near] <= found.costs[0]
    assert floors.max() > found.costs[0]


@pytest.mark.slow
def test_on_several_maps_ranges_are_compared(plain, both):
    one, two = (iv.locate({"a": atlas, "b": plain}, SCAN) for atlas in (plain, both))
    assert [(e.map, e.pose) for e in one.estimates] == [(e.map, e.pose) for e in two.estimates]
    assert one.advice == two.advice


@pytest.mark.slow
def test_a_library_may_hold_atlases_of_either_signal(plain, both, tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "FEW", 1)
    told = []
    for name, atlas in (("one", plain), ("two", both)):
        (tmp_path / name).mkdir()
        iv.write_atlas(plain, tmp_path / name / "a")
        iv.write_atlas(atlas, tmp_path / name / "b")
        told.append(iv.locate(iv.read_library(tmp_path / name), SCAN))
    assert told[0].best.pose == told[1].best.pose
    assert told[0].advice == told[1].advice


@pytest.mark.slow
def test_it_comes_back_from_disk_and_info_tells_it(tmp_path, both):
    iv.write_atlas(both, tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    assert again.signal == BOTH
    np.testing.assert_array_equal(again.descriptors, both.descriptors)
    assert iv.locate(again, SCAN).best.pose == iv.locate(both, SCAN).best.pose
    told = CliRunner().invoke(app, ["info", str(tmp_path / "a")]).output
    assert "  rose     128 directions, range+intensity\n" in told


@pytest.mark.slow
def test_the_command_builds_with_a_signal(tmp_path):
    write_map(WORLD, tmp_path / "rooms.geojson")
    words = ["build", str(tmp_path / "rooms.geojson"), "-o", str(tmp_path / "a"), "--signal", BOTH]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert iv.read_atlas(tmp_path / "a").signal == BOTH


@pytest.mark.parametrize(
    ("world", "signal", "text"),
    [
        (
            WORLD,
            "depth",
            "`signal` must be range or range+intensity, got 'depth'. "
            "theory.paper.PaperLocalizer takes any signal.",
        ),
        (
            iv.SegmentMap.room(4, 3),
            BOTH,
            "`signal` range+intensity needs a map whose walls differ in `reflectance`; those of "
            "this map have none.",
        ),
        (
            iv.SegmentMap.from_segments(WORLD.walls, reflectance=np.full(len(WORLD.walls), 0.5)),
            BOTH,
            "`signal` range+intensity needs a map whose walls differ in `reflectance`; those of "
            "this map are all alike.",
        ),
        (
            SPACE.world,
            BOTH,
            "`signal` is for maps of the plane; in space intensities count where places are rated.",
        ),
    ],
)
def test_other_signals_are_refused(world, signal, text):
    with pytest.raises(InputError) as caught:
        iv.build(world, signal=signal)
    assert str(caught.value) == text


def test_channels_that_meet_no_wall_are_unknown():
    lines = np.array([[[0, 0], [8, 0]], [[0, 3], [8, 3]]], dtype=np.float64)
    shine = np.array([0.2, 0.8])
    open_ = iv.OccupancyMap.from_segments(lines, 0.05, outside=Cell.FREE, reflectance=shine)
    atlas = iv.build(open_, signal=BOTH)
    middle = int(np.argmin(np.hypot(*(atlas.positions - [4.0, 1.5]).T)))
    along = atlas.descriptors[middle, 1]
    assert along[0] == FAR
    assert along[16] == pytest.approx(1.0)
    assert along[48] == pytest.approx(0.0)
