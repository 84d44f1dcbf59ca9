"""Descriptors side by side, on the same rays."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.baselines.availability import BINS, fpfh, has_fpfh
from benchmarks.baselines.descriptors import (
    METHODS,
    RAYS,
    TURNLESS,
    Contest,
    Method,
    Rings,
    chosen_methods,
    contest_rows,
    features,
    weights_of,
)
from benchmarks.worlds.perturbations import NEW_MAP, changed, changed_map
from tests.support.errors import refused
from tests.support.sites import PLANE, SPACE

import isovist as iv
from isovist.evaluation import Trial

pytestmark = pytest.mark.slow

TRIALS = [Trial(lambda p=p: PLANE.look(p), p) for p in PLANE.places]
KINDS = {m.name: m for m in METHODS if m.name != "learned" and (m.name != "fpfh" or has_fpfh())}
TRIED = [*KINDS.values(), Method("soft", 64), *chosen_methods(["soft 64, gram"])]


@pytest.fixture(scope="module")
def contest():
    return Contest(PLANE.atlas)


@pytest.mark.parametrize("method", TRIED, ids=lambda m: m.label)
def test_every_method_ranks_the_truth_among_the_first_on_a_clean_scan(contest, method):
    (row,) = contest_rows("building", contest, TRIALS, [method], ["clean"])
    assert row["queries"] == 3
    assert row["recall@1"] <= row["recall@20"] <= row["recall@400"]
    assert row["recall@400"] >= (0.3 if method.name in TURNLESS else 1.0)
    if method == Method("soft", 64):
        assert row["recall@1"] == row["final"] == 1.0


@pytest.mark.skipif(has_fpfh(), reason="Open3D is there")
def test_a_method_whose_library_is_missing_is_refused():
    with refused(None, "missing"):
        fpfh(np.ones((1, RAYS)), np.ones((1, RAYS), dtype=bool))


def test_a_fitted_basis_takes_the_place_of_the_channels():
    basis = iv.DirectionalBasis.circle(16, 0.5)
    weights = weights_of(Method("learned", 16), basis)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert weights.shape == (RAYS, 16)


@pytest.mark.parametrize("name", ["soft", "hard", "shared"])
def test_channels_share_the_rays_out(name):
    np.testing.assert_allclose(weights_of(Method(name, 32)).sum(axis=1), 1.0)
    assert weights_of(Method("rays", 32)).sum() == 32


def test_turning_a_scan_by_a_channel_shifts_its_features(contest):
    turns = Rings.of_scan(PLANE.look(PLANE.places[0])).turned(np.array([0, RAYS // 32]))
    for name in ("soft", "hard", "shared", "rays", "context"):
        F, _ = contest.features(Method(name, 32), turns)
        np.testing.assert_allclose(F[1], np.roll(F[0], 1), atol=1e-12)
    F, _ = features(Method("fft", 32), turns, np.empty((0, 0)))
    np.testing.assert_allclose(F[1], F[0], atol=1e-12)


def test_conditions_change_what_they_say():
    rng, scan = np.random.default_rng(0), PLANE.look(PLANE.places[0])
    people, narrow = changed(scan, "people", rng), changed(scan, "view 90°", rng)
    shorter = people.valid & scan.valid & (people.ranges < scan.ranges - 1e-9)
    assert 0.05 < shorter.mean() <= 0.31
    assert narrow.valid.sum() <= 92
    assert changed(narrow, "view 180°", rng).valid.sum() == narrow.valid.sum()
    half = replace(scan, bearings=0.5 * scan.bearings, ranges=narrow.ranges, intensities=None)
    assert changed(half, "view 180°", rng) is None
    noisy = changed(scan, "noise 10 cm", rng)
    both = noisy.valid & scan.valid
    assert np.std(noisy.ranges[both] - scan.ranges[both]) == pytest.approx(0.1, rel=0.2)
    with refused("condition"):
        changed(scan, "fog", rng)
    with refused("only"):
        chosen_methods(["surf"])
    with refused(code="wrong_dimension"):
        Contest(SPACE.atlas)


def test_a_map_that_is_out_of_date_has_things_that_are_gone_and_lacks_walls(contest):
    was, now = PLANE.world.cells, changed_map(PLANE.world, np.random.default_rng(0)).cells
    assert ((was == 0) & (now == 1)).any()
    assert ((was == 1) & (now == 0)).any()
    np.testing.assert_array_equal(was == 2, now == 2)
    (row,) = contest_rows("building", contest, TRIALS, [Method("soft", 64)], [NEW_MAP])
    assert (row["condition"], row["recall@400"]) == (NEW_MAP, 1.0)


@pytest.mark.skipif(not has_fpfh(), reason="needs Open3D")
def test_fpfh_of_a_turned_ring_are_the_same_histograms(contest):
    ring = Rings(contest.rings.values[:1], np.ones((1, RAYS), np.bool_))
    turned = ring.turned(np.array([0, 8]))
    one, two = fpfh(turned.values, turned.known)
    assert one.shape == (RAYS // 4, BINS)
    np.testing.assert_allclose(two, np.roll(one, 2, axis=0), atol=0.02)
