"""Descriptors side by side, on the same rays."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import PLANE, SPACE
from typer.testing import CliRunner

from isovist import InputError, write_map
from isovist.apps import app
from isovist.bench import descriptors
from isovist.bench.descriptors import left_out
from isovist.evaluation import (
    BINS,
    CONDITIONS,
    METHODS,
    MISSING,
    NEW_MAP,
    RAYS,
    STARTS,
    TURNLESS,
    Contest,
    Method,
    Rings,
    Trial,
    basin_rows,
    changed,
    changed_map,
    chosen_methods,
    contest_rows,
    features,
    fpfh,
    has_fpfh,
    weights_of,
)
from isovist.paper import NORMS

TRIALS = [Trial(lambda p=p: PLANE.look(p), p) for p in PLANE.places]


@pytest.fixture(scope="module")
def contest():
    return Contest(PLANE.atlas)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [m for m in METHODS if m.name != "fpfh" or has_fpfh()], ids=lambda m: m.label
)
def test_every_method_ranks_the_truth_among_the_first_on_a_clean_scan(contest, method, monkeypatch):
    monkeypatch.setattr(descriptors, "FITTED", 6)
    (row,) = contest_rows("building", contest, TRIALS, [method], ["clean"])
    assert row["queries"] == 3
    assert row["recall@1"] <= row["recall@20"] <= row["recall@400"]
    assert row["recall@400"] >= (0.3 if method.name in TURNLESS else 1.0)
    assert row["bytes"] % 4 == 0
    if method == Method("soft", 64):
        assert row["recall@1"] == row["final"] == 1.0


@pytest.mark.parametrize("name", ["soft", "hard", "shared"])
def test_channels_share_the_rays_out(name):
    W = weights_of(Method(name, 32))
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    assert weights_of(Method("rays", 32)).sum() == 32


def test_turning_a_scan_by_a_channel_shifts_its_features(contest):
    ring = Rings.of_scan(PLANE.look(PLANE.places[0]))
    turns = ring.turned(np.array([0, RAYS // 32]))
    for name in ("soft", "hard", "shared", "rays", "context"):
        F, _ = contest.features(Method(name, 32), turns)
        np.testing.assert_allclose(F[1], np.roll(F[0], 1), atol=1e-12)
    for name in ("fft",):
        F, _ = features(Method(name, 32), turns, np.empty((0, 0)))
        np.testing.assert_allclose(F[1], F[0], atol=1e-12)


def test_conditions_change_what_they_say():
    rng = np.random.default_rng(0)
    scan = PLANE.look(PLANE.places[0])
    people = changed(scan, "people", rng)
    shorter = people.valid & scan.valid & (people.ranges < scan.ranges - 1e-9)
    assert 0.05 < shorter.mean() <= 0.31
    narrow = changed(scan, "view 90°", rng)
    assert narrow.valid.sum() <= 92
    assert changed(narrow, "view 180°", rng).valid.sum() == narrow.valid.sum()
    half = replace(scan, bearings=0.5 * scan.bearings, ranges=narrow.ranges, intensities=None)
    assert changed(half, "view 180°", rng) is None
    noisy = changed(scan, "noise 10 cm", rng)
    both = noisy.valid & scan.valid
    assert np.std(noisy.ranges[both] - scan.ranges[both]) == pytest.approx(0.1, rel=0.2)
    with pytest.raises(InputError) as caught:
        changed(scan, "fog", rng)
    assert str(caught.value) == f"`condition` must be one of {', '.join(CONDITIONS)}, got fog."


def test_descriptors_are_compared_in_the_plane():
    with pytest.raises(InputError) as caught:
        Contest(SPACE.atlas)
    assert str(caught.value) == "Descriptors are compared on maps of the plane."


@pytest.mark.slow
def test_a_map_that_is_out_of_date_has_things_that_are_gone_and_lacks_walls(contest):
    new = changed_map(PLANE.world, np.random.default_rng(0))
    was, now = PLANE.world.cells, new.cells
    assert ((was == 0) & (now == 1)).any()
    assert ((was == 1) & (now == 0)).any()
    np.testing.assert_array_equal(was == 2, now == 2)
    (row,) = contest_rows("building", contest, TRIALS, [Method("soft", 64)], [NEW_MAP])
    assert row["condition"] == NEW_MAP
    assert row["recall@400"] == 1.0
    other = contest.out_of_date
    assert other is contest.out_of_date
    assert len(other.places) != len(contest.places)


def test_fpfh_without_its_library_is_left_out_and_said_so(contest, monkeypatch):
    monkeypatch.setitem(sys.modules, "open3d", None)
    assert not has_fpfh()
    assert list(contest_rows("building", contest, TRIALS, [Method("fpfh")], ["clean"])) == []
    assert left_out([Method("rays")]) == []
    assert left_out([Method("rays"), Method("fpfh")]) == [MISSING]
    with pytest.raises(InputError) as caught:
        fpfh(contest.rings.values[:1], contest.rings.known[:1])
    assert str(caught.value) == MISSING
    assert MISSING == "FPFH is left out: it needs Open3D. Try `pip install 'isovist[peers]'`."


@pytest.mark.slow
def test_the_command_says_in_one_line_that_there_is_nothing_to_try(tmp_path, monkeypatch):
    world = tmp_path / "map.yaml"
    write_map(PLANE.world, world)
    command = ["bench", "descriptors", str(world), "--count", "1"]
    monkeypatch.setitem(sys.modules, "open3d", None)
    result = CliRunner().invoke(app, [*command, "--only", "fpfh"])
    assert (type(result.exception), str(result.exception)) == (InputError, MISSING)
    narrow = ["--field-of-view", "170", "--only", "rays", "--condition", "view 180°"]
    result = CliRunner().invoke(app, [*command, *narrow])
    assert (type(result.exception), str(result.exception)) == (
        InputError,
        "No scan of these sites sees more than this condition leaves of it.",
    )


@pytest.mark.skipif(not has_fpfh(), reason="needs Open3D")
def test_fpfh_of_a_turned_ring_are_the_same_histograms(contest):
    ring = Rings(contest.rings.values[:1], np.ones((1, RAYS), np.bool_))
    turned = ring.turned(np.array([0, 8]))
    one, two = fpfh(turned.values, turned.known)
    assert one.shape == (RAYS // 4, BINS)
    np.testing.assert_allclose(two, np.roll(one, 2, axis=0), atol=0.02)


@pytest.mark.slow
def test_refinements_come_home_from_near(contest):
    rows = basin_rows("building", contest.atlas, TRIALS[:1])
    assert rows[0]["refinement"] == "walls"
    near = f"{STARTS[0][0]:g} m {STARTS[0][1]:g}°"
    assert all(row[near] == 1.0 for row in rows[:4])


def test_methods_are_chosen_by_name():
    assert chosen_methods(None) == METHODS
    assert {method.name for method in chosen_methods(["fft", "rays"])} == {"fft", "rays"}
    with pytest.raises(InputError) as caught:
        chosen_methods(["surf"])
    assert str(caught.value) == (
        "`only` must be one of soft, hard, shared, rays, context, fft, vlad, fisher, fpfh, "
        'learned, or a whole label such as "soft 16, euclid", got surf.'
    )
    assert chosen_methods(["soft 64, gram", "soft 64, truncated, ε × 4"]) == (
        Method("soft", 64, "gram"),
        Method("soft", 64, factor=4.0),
    )


@pytest.mark.slow
def test_every_norm_is_tried_with_every_number_of_channels_and_under_every_condition(contest):
    tried = {(m.channels, m.norm) for m in METHODS if m.name == "soft" and m.factor == 1.0}
    assert tried == {(n, norm) for n in (16, 32, 64, 128) for norm in NORMS}
    rows = list(contest_rows("building", contest, TRIALS[:1], chosen_methods(["soft 64, gram"])))
    assert [row["condition"] for row in rows] == list(CONDITIONS)


@pytest.mark.slow
def test_the_command_prints_a_row_for_each_refinement(tmp_path):
    write_map(PLANE.world, tmp_path / "map.yaml")
    result = CliRunner().invoke(
        app,
        ["bench", "descriptors", str(tmp_path / "map.yaml"), "--count", "1", "--basin", "--json"],
    )
    rows = json.loads(result.output)
    assert len(rows) == 8
    assert rows[1]["refinement"] == "F, hard bins"
    assert {row["site"] for row in rows} == {"map"}
