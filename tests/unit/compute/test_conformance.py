"""Each backend computes what slow twins compute: one test for each operation of `Compute`.

`pytest -m gpu` runs the tests of the card.  Two of its operations are exact only up to the order
of a sum, and its fits and ratings are in doubles, where the cores have singles.
"""

import itertools

import numpy as np
import pytest
from benchmarks.complete import same_as_brute_force
from tests.support.cells import clutter
from tests.support.reference_locate import UNIT, building, fit_step, rating, steps_above
from tests.support.reference_space import ring_costs

import isovist as iv
from isovist import BeamModel, Cell, Lidar, LocalizationSettings, OccupancyMap, Range, Scan
from isovist.atlas import FAR, Window, bare_walls, bridge_gaps
from isovist.compute import (
    AlignAndScoreRequest,
    AlignRequest,
    BoundRequest,
    Compute,
    CorrelateRequest,
    RayMap,
    ScoreRequest,
    ShortlistRequest,
    active_backend,
    heaviest,
    use_backend,
)
from isovist.localization import encode, see_through_settings
from isovist.maps import (
    Ending,
    RangeSum,
    describe_field,
    distance_to_walls,
    free_nodes,
    sweep_ranges,
)
from isovist.sensing import random_scans

SHORT = 0.25
TOLERANCES = {
    "map_in_order": {},
    "correlate": {"rtol": 0.0},
    "shortlist": {"rtol": 0.0},
    "align": {"rtol": 0.0, "atol": 1e-4},  # cells and rad
    "score": {"rtol": 0.0, "atol": 1e-4},  # nats
    "align_and_score": {"rtol": 1e-12, "atol": 1e-12},  # of the same backend, step by step
    "bound_boxes": {"rtol": 0.0},
    "describe_nodes": {"rtol": 2e-5, "atol": 1e-6},
    "describe_map": {"rtol": 1e-6, "atol": 1e-6},
    "search_boxes": {},  # the same boxes
}


def close(operation, values, twin):
    np.testing.assert_allclose(values, twin, **TOLERANCES[operation])


@pytest.fixture
def random():
    return np.random.default_rng(7)


def test_every_operation_has_a_tolerance():
    operations = {name for name, value in vars(Compute).items() if callable(value)}
    assert {name for name in operations if name[0] != "_"} == set(TOLERANCES)


def test_map_in_order_keeps_the_order_and_takes_items_late(backend):
    taken = []
    items = (taken.append(k) or k for k in range(200))
    results = backend.map_in_order(lambda number, item: (number, item), items)
    assert list(itertools.islice(results, 5)) == [(k, k) for k in range(5)]
    assert len(taken) < 100
    assert list(results)[-1] == (199, 199)


@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize(
    ("n", "phases", "m", "rings"),
    [
        *((16, 1, 16, 1), (16, 2, 9, 1), (16, 2, 5, 3), (64, 2, 33, 1), (72, 2, 72, 1)),
        *((5, 3, 4, 3), (1, 8, 1, 1), (130, 1, 100, 1), (32, 1, 32, 20)),
    ],
)
def test_correlate_finds_the_least_local_minima(backend, random, n, phases, m, rings, keep):
    nodes = random.uniform(0.0, 3.0, (12, 1 + rings, n)).astype(np.float32)
    nodes[random.uniform(size=nodes.shape) < 0.2] = FAR
    nodes[:, 0] = 7.0  # a ring that the scan does not see
    values = random.uniform(0.0, 3.0, (phases, rings, m)).astype(np.float32)
    seen = random.uniform(size=values.shape) < 0.8
    values[-1], seen[-1] = values[0], seen[0]  # costs that are equal
    window, active = Window(values, seen), np.array([11, 0, 4, 7])
    codes = window.codes(SHORT)
    steps, above = steps_above(nodes, codes), (codes.values, seen, codes.short, codes.long)
    known = [ring_costs(steps[node, 1:], *above) for node in active]
    exact = [ring_costs(nodes[node, 1:], values, seen, SHORT, 2.0 * SHORT) for node in active]
    off = 1.01 * codes.step * seen.sum(axis=(1, 2)).max()
    assert rings < 20 or np.min(known) > 65535  # beyond sixteen bits
    for share in (1.0, 0.6, 0.0):
        allowed = random.uniform(size=n * phases) < share
        request = CorrelateRequest(nodes, 1, active, encode(window, SHORT, allowed), keep)
        result = backend.correlate(request)
        least = backend.correlate(request._replace(keep=1, has_headings=False))
        assert least.headings.shape == (4, 0)
        close("correlate", least.costs[:, 0], result.costs[:, 0])
        for costs, headings, every, twin in zip(
            result.costs, result.headings, known, exact, strict=True
        ):
            whole = np.where(allowed, every, np.inf)
            valleys = (whole <= np.roll(whole, 1)) & (whole <= np.roll(whole, -1)) & allowed
            order = np.flatnonzero(valleys)[np.argsort(whole[valleys], kind="stable")][:keep]
            found = np.isfinite(costs)
            np.testing.assert_array_equal(headings[found], order)
            close("correlate", costs[found], whole[order] * codes.step)
            np.testing.assert_allclose(costs[found], twin[order], rtol=0.0, atol=off)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("count", "rings"), [(90, 1), (2500, 1), (300, 3)])
def test_shortlist_compares_the_cheapest_in_full(backend, random, count, rings, whole):
    nodes = random.uniform(0.0, 3.0, (count, rings, 32)).astype(np.float32)
    nodes[random.random(nodes.shape) < 0.1] = FAR
    nodes[1::3] = nodes[random.integers(0, count, len(nodes[1::3]))]  # many cost the same
    active = np.arange(count) if whole else np.flatnonzero(random.random(count) < 0.7)
    window = Window(
        random.uniform(0.0, 3.0, (2, rings, 20)).astype(np.float32),
        random.random((2, rings, 20)) < 0.9,
    )
    coarse = encode(window.rough, SHORT, np.ones(32, np.bool_))
    full = encode(window, SHORT, random.random(64) < 0.9)
    least = backend.correlate(CorrelateRequest(nodes, 0, active, coarse, 1)).costs[:, 0]
    for most in (1, 40, len(active)):
        shortlist = backend.shortlist(ShortlistRequest(nodes, 0, active, coarse, full, most, 3))
        best = np.sort(np.argsort(least, kind="stable")[:most])
        np.testing.assert_array_equal(shortlist.nodes, active[best])
        close("shortlist", shortlist.coarse_costs, least[best])
        twin = backend.correlate(CorrelateRequest(nodes, 0, active[best], full, 3))
        close("shortlist", shortlist.costs, twin.costs)
        np.testing.assert_array_equal(shortlist.headings, twin.headings)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("count", [2, 80])
def test_align_takes_the_steps_of_gauss_newton(backend, random, noisy, count):
    field = distance_to_walls(building().cells)
    ends = random.uniform(-30.0, 30.0, (40, 2))
    start = np.array([[60.3, 40.7, 0.4], [90.2, 88.1, -2.0]])
    noise = random.uniform(0.0, 9.0, 40) if noisy else np.zeros(40)
    widths = np.array([8.0, 4.0])
    poses = start[np.arange(count) % 2]
    sigmas = noise if noisy else np.empty(0)
    aligned = backend.align(AlignRequest(field, ends, sigmas, widths, 0.02, poses))
    np.testing.assert_array_equal(poses, start[np.arange(count) % 2])
    for k in (0, 1, count - 1):
        pose = start[k % 2]
        for sigma in widths:
            pose, before = fit_step(field, ends, sigma, 0.02, pose, noise)
        close("align", aligned.poses[k], pose)
        # The normal matrix is that of the pose which is handed back, not of the one before.
        _, H = fit_step(field, ends, widths[-1], 0.02, aligned.poses[k], noise)
        np.testing.assert_allclose(aligned.sums[k, :6], H[np.triu_indices(3)], rtol=1e-3, atol=1e-2)
        assert np.abs(H - before).max() > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("count", [3, 80])
def test_score_rates_each_beam(backend, random, noisy, count):
    atlas, bearings = iv.build(building()), np.linspace(-np.pi, np.pi, 40, endpoint=False)
    ranges, sigmas = random.uniform(0.2, 8.0, 40), random.uniform(0.0, 0.5, 40)
    scan = Scan(bearings, ranges, sigmas=sigmas if noisy else None)
    beams, model = atlas.beams(scan, (40, 0.0), (0.2, 0.0)), atlas.model(BeamModel())
    assert model[0] == pytest.approx(np.hypot(0.055, UNIT / np.sqrt(12.0)))
    places = np.array([[60.3, 40.7, 0.4], [150.2, 88.1, -2.0], [120.5, 150.5, 1.0]])
    poses = places[np.arange(count) % 3]
    world = RayMap(atlas.clear, atlas.walls, atlas.wall_distance, UNIT)
    result = backend.score(ScoreRequest(world, model, beams.ends, beams.sigmas, poses))
    clear, walls = bridge_gaps(atlas.world, 0.15), bare_walls(atlas.world)
    for q, k in itertools.product(range(3), range(40)):
        own = model.copy()
        own[0] = np.hypot(model[0], sigmas[k] if noisy else 0.0)
        pose = places[q] * [UNIT, UNIT, 1.0]
        twin = rating(clear, walls, atlas.wall_distance, own, pose, bearings[k], ranges[k])
        close("score", result.ratings[q::3, k], twin)
    assert set(np.unique(result.kinds)) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize("count", [0, 7, 20, 30])
def test_align_and_score_is_both_one_after_the_other(backend, random, count):
    atlas = iv.build(building())
    scan = Lidar(beams=90, noise=0.02).scan(atlas.world, iv.Pose(3.0, 2.0, 0.4), random)
    beams = atlas.beams(scan, (90, 0.0), (0.2, 0.0))
    poses = np.array([60.0, 40.0, 0.4]) + random.normal(0.0, 6.0, (20, 3)) * [1.0, 1.0, 0.05]
    world = RayMap(atlas.clear, atlas.walls, atlas.wall_distance, UNIT)
    align = AlignRequest(
        atlas.wall_distance, beams.ends / UNIT, beams.sigmas, np.array([8.0, 4.0]), 0.02, poses
    )
    usual = LocalizationSettings()
    models = tuple(atlas.model(model) for model in (usual.model, see_through_settings(usual).model))
    scored = backend.align_and_score(
        AlignAndScoreRequest(align, world, models, beams.ends, beams.sigmas, count)
    )
    twin = backend.align(align)
    indices = heaviest(twin.sums[:, 6], count)
    close("align_and_score", scored.aligned.poses, twin.poses[indices])
    close("align_and_score", scored.aligned.sums, twin.sums[indices])
    for (ratings, kinds), model in zip(scored.ratings, models, strict=True):
        own = backend.score(ScoreRequest(world, model, beams.ends, beams.sigmas, twin.poses))
        # The card leaves four poses and fewer to the cores.
        close("score", ratings, own.ratings[indices])
        np.testing.assert_array_equal(kinds, own.kinds[indices])
    assert count == 0 or (scored.ratings[1].ratings != scored.ratings[0].ratings).any()


@pytest.mark.parametrize("m", [1, 11, 30])
def test_bound_boxes_sums_deficits_or_drops_the_box(backend, random, m):
    codes = random.integers(0, 256, (60, 80)).astype(np.uint8)
    tables = random.integers(0, 200, (m, 256)).astype(np.uint16)
    offsets = random.integers(-40, 40, (3, m, 2)).astype(np.int32)
    cells = np.column_stack([random.integers(0, 80, 300), random.integers(0, 60, 300)])
    edges = np.array([0, 90, 120, 300])
    runs = np.column_stack([np.arange(3), edges[:-1], edges[1:]])
    group = np.repeat(np.arange(3), np.diff(edges))
    ends = np.clip(cells[:, None] + offsets[group], 0, [79, 59])
    sums = tables[np.arange(m), codes[ends[..., 1], ends[..., 0]]].sum(axis=1, dtype=int)
    budget = int(np.median(sums))
    result = backend.bound_boxes(
        BoundRequest(codes, runs, cells.astype(np.int32), offsets, tables, budget)
    )
    close("bound_boxes", result.deficits, np.where(sums <= budget, sums, -1))
    assert 300 <= result.lookups <= 300 * m


ANGLES = 2 * np.pi * np.arange(24) / 24 + 0.017


def weights(n):
    centres = 2 * np.pi * np.arange(n) / n
    W = np.exp((np.cos(ANGLES[:, None] - centres) - 1) / 0.1)
    return W / W.sum(axis=1, keepdims=True) / len(ANGLES)


@pytest.mark.parametrize("transform", ["linear", "logarithmic", "saturating"])
def test_describe_nodes_sums_the_ranges_that_count(backend, transform):
    world = OccupancyMap.from_array(clutter((50, 70), 2, 0.03), 0.1)
    rows, cols = free_nodes(world, 3)
    W = weights(13)
    ranges, endings = sweep_ranges(world, ANGLES, rows, cols, maximum=2.0)
    F, K = describe_field(world, ANGLES, W, (rows, cols), RangeSum(transform, 3.0, 2.0))
    f = Range(transform=transform, scale=3.0).of_ranges(ranges.astype(float))
    known = np.isin(endings, [Ending.WALL, Ending.MAXIMUM])
    assert active_backend() is backend
    assert 0.1 < known.mean() < 0.9
    close("describe_nodes", F, (f * known).T @ W)
    close("describe_nodes", K, known.T @ W)
    _, K = describe_field(world, ANGLES, W, (rows, cols), RangeSum(endings=tuple(Ending)))
    close("describe_nodes", K, np.broadcast_to(W.sum(axis=0), K.shape))


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
def test_describe_map_gives_the_atlas_of_the_cores(backend, shape):
    world = rooms(*shape, seed=shape[0])
    atlas = iv.build(world, spacing=0.3)
    assert active_backend() is backend
    with use_backend("cpu"):
        twin = iv.build(world, spacing=0.3)
    for name in ("nodes", "wall_distance", "clear", "walls"):
        np.testing.assert_array_equal(getattr(atlas, name), getattr(twin, name))
    assert 0.0 < (twin.descriptors == FAR).mean() < 0.9
    np.testing.assert_array_equal(atlas.descriptors == FAR, twin.descriptors == FAR)
    close("describe_map", atlas.descriptors, twin.descriptors)
    assert not atlas.descriptors.flags.writeable


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_search_boxes_leaves_the_boxes_of_brute_force(backend, seed):
    assert active_backend() is backend
    assert same_as_brute_force(np.random.default_rng(seed))


@pytest.mark.slow
def test_an_answer_and_a_proof_are_the_same_by_every_backend(backend):
    atlas, proved = iv.build(building()), 0
    sensor = Lidar(beams=270, field_of_view=np.radians(270.0), noise=0.02)
    for k, (_, scan) in enumerate(random_scans(atlas.world, atlas.world, sensor, 12, seed=3)):
        answer = iv.locate(atlas, scan, prove=k < 3)
        assert active_backend() is backend
        with use_backend("cpu"):
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
