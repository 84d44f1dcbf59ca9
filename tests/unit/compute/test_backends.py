"""Whatever computes, the same atlas, the same costs and the same answer come out."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_locate import building

import isovist as iv
from isovist import Cell, Lidar, LocalizationSettings, OccupancyMap
from isovist.atlas import FAR, Window
from isovist.compute import VARIABLE, Backend, available, compute_by, computing, named, using
from isovist.localization import best_headings, far, least_costs
from isovist.sensing import random_scans


def rooms(height, width, seed):
    """Rooms with doors, pillars, some unknown cells and a border that is not closed."""
    random = np.random.default_rng(seed)
    cells = np.zeros((height, width), dtype=np.uint8)
    cells[:: height // 4] = cells[:, :: width // 5] = Cell.OCCUPIED
    for _ in range(60):
        row, column = random.integers(0, height - 8), random.integers(0, width - 8)
        kind = random.choice([Cell.FREE, Cell.FREE, Cell.FREE, Cell.OCCUPIED, Cell.UNKNOWN])
        cells[row : row + random.integers(1, 8), column : column + random.integers(1, 8)] = kind
    cells[random.random(cells.shape) < 0.01] = Cell.UNKNOWN
    return OccupancyMap(cells, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(60, 90), (150, 70), (333, 401)])
def test_an_atlas_is_the_same_whatever_described_it(backend, shape):
    world = rooms(*shape, seed=shape[0])
    atlas = iv.build(world, spacing=0.3)
    assert computing() is backend
    with using("cpu"):
        twin = iv.build(world, spacing=0.3)
    for name in ("nodes", "wall_distance", "clear", "bare"):
        np.testing.assert_array_equal(getattr(atlas, name), getattr(twin, name))
    assert 0.0 < (twin.descriptors == FAR).mean() < 0.9
    np.testing.assert_array_equal(atlas.descriptors == FAR, twin.descriptors == FAR)
    np.testing.assert_allclose(atlas.descriptors, twin.descriptors, rtol=1e-6, atol=1e-6)
    assert not atlas.descriptors.flags.writeable


@pytest.mark.parametrize("short", [0.25, 0.9])
@pytest.mark.parametrize("rings", [1, 3])
@pytest.mark.parametrize(("n", "m", "phases"), [(64, 49, 1), (64, 64, 2), (9, 7, 2), (96, 96, 1)])
def test_the_least_costs_are_those_of_the_best_headings(backend, n, m, phases, rings, short):
    random = np.random.default_rng(n + m + rings)
    nodes = random.uniform(0.0, 3.0, (90, rings, n)).astype(np.float32)
    nodes[random.random(nodes.shape) < 0.1] = FAR
    values = random.uniform(0.0, 3.0, (phases, rings, m)).astype(np.float32)
    some = random.permutation(90)[:70]
    for share in (1.0, 0.5, 0.0):
        window = Window(values, random.random(values.shape) < share)
        for allowed in (None, random.random(n * phases) < 0.6, np.zeros(n * phases, np.bool_)):
            told = least_costs(nodes, some, window, short, allowed)
            assert computing() is backend
            with using("cpu"):
                costs, _ = best_headings(nodes, some, window, 1, short, allowed)
            np.testing.assert_array_equal(told, costs[:, 0])


@pytest.mark.slow
def test_an_answer_and_a_proof_are_the_same_whatever_found_them(backend):
    atlas, proved = iv.build(building()), 0
    sensor = Lidar(beams=270, field_of_view=np.radians(270.0), noise=0.02)
    for k, (_, scan) in enumerate(random_scans(atlas.world, atlas.world, sensor, 12, seed=3)):
        answer = iv.locate(atlas, scan, prove=k < 3)
        assert computing() is backend
        with using("cpu"):
            twin = iv.locate(atlas, scan, prove=k < 3)
        assert (answer.verdict, answer.reasons) == (twin.verdict, twin.reasons)
        assert len(answer.estimates) == len(twin.estimates)
        for mine, other in zip(answer.estimates, twin.estimates, strict=True):
            # Cores fit in singles, the card in doubles; along an axis that nothing holds it shows.
            np.testing.assert_allclose(mine.pose.vector, other.pose.vector, atol=1e-3)
            assert mine.probability == pytest.approx(other.probability, abs=1e-4)
        if k < 3:
            mine, other = answer.proof, twin.proof
            assert (mine.complete, mine.unique) == (other.complete, other.unique)
            np.testing.assert_allclose(mine.regions, other.regions, atol=1e-6)
            proved += mine.unique
    assert proved > 0


@pytest.mark.slow
def test_a_backend_is_chosen_by_the_call_or_by_the_variable(monkeypatch):
    assert type(computing()) is Backend
    monkeypatch.setenv(VARIABLE, "abacus")
    with refused("backend"):
        iv.build(building())
    with using("cpu"):
        assert type(computing()) is Backend
    compute_by("cpu")
    assert type(computing()) is Backend
    monkeypatch.setenv(VARIABLE, "abacus")
    atlas = iv.build(building(), backend="cpu")
    scan = Lidar(beams=90).scan(atlas.world, iv.Pose(3.0, 2.0, 0.4), np.random.default_rng(0))
    assert iv.locate(atlas, scan, backend="cpu").estimates
    with refused("backend"):
        iv.locate(atlas, scan)


def test_a_machine_without_a_card_says_so():
    if available() == ("cpu", "cuda"):
        pytest.skip("This machine has a card.")
    assert available() == ("cpu",)
    with refused("backend", "unavailable"):
        named("cuda")


@pytest.mark.parametrize("most", [None, 7, 30])
def test_fits_that_are_rated_at_once_are_those_one_after_the_other(backend, most):
    atlas, random = iv.build(building()), np.random.default_rng(4)
    scan = Lidar(beams=90, noise=0.02).scan(atlas.world, iv.Pose(3.0, 2.0, 0.4), random)
    usual = LocalizationSettings()
    beams = atlas.beams(scan, usual.beams[0], usual.block)
    poses = np.array([3.0, 2.0, 0.4]) + random.normal(0.0, 0.3, (20, 3))
    widths, models = usual.coarse_widths(atlas), [usual.model, far(usual).model]
    fit, rated = atlas.fit_and_rate(beams, poses, widths, 3, models, most)
    assert computing() is backend
    twin = atlas.fit(beams, poses, widths, 3)
    if most is not None:
        heaviest = np.argsort(-twin.weight, kind="stable")[:most]
        twin = twin.select(np.sort(heaviest))
    for mine, other in zip(fit.arrays, twin.arrays, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)
    for (ratings, kinds), model in zip(rated, models, strict=True):
        # A pose that comes back from the grid and goes there again moves by a rounding.
        told = atlas.rate(beams, fit.poses, model)
        np.testing.assert_allclose(ratings, told[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(kinds, told[1])
    assert (rated[1][0] != rated[0][0]).any()
