"""The dynamic error bound: never violated where it holds, and honest where it does not."""

import numpy as np
import pytest

from isovist import (
    Cell,
    Descriptor,
    DirectionalBasis,
    MeshMap,
    OccupancyMap,
    Pose,
    Range,
    SegmentMap,
)
from isovist.paper import (
    BoundSettings,
    CircleSum,
    DynamicPremises,
    EqualArea,
    Exact,
    MapField,
    PlaceTrajectory,
    PoseTrajectory,
    ball_points,
    directions,
    dynamic_bound,
    field_points,
    random_field,
)

pytestmark = pytest.mark.slow

BASIS = DirectionalBasis.circle(8, 0.5)
FEW = BoundSettings(trajectory_samples=12)
ROOM = SegmentMap.room(6.0, 4.0, pillars=[(4.5, 1.5, 5.0, 2.5)])
DRIVE = [Pose(0.08 * k, 0.01 * k, 0.1 * k) for k in range(6)]


def place_trajectory(world=ROOM, signal=None):
    places = [[p.x, p.y] for p in DRIVE]
    field = MapField(Descriptor(BASIS, Range() if signal is None else signal), world)
    return PlaceTrajectory.along(field, places, 0.2 * np.arange(6))


def test_each_assumption_is_reported_by_name_with_its_value():
    trajectory = place_trajectory()
    start = np.array([1.5, 1.5])
    answer = dynamic_bound(trajectory, start, trajectory.at(start)[0], DynamicPremises(0.01))
    by_name = {a.name: a for a in answer.assumptions}
    assert list(by_name) == ["T1", "T2", "T3", "T4", "T5", "way"]
    assert answer.holds
    assert answer.bound == answer.sharp == 0.0
    assert by_name["T2"].value == answer.lipschitz
    assert by_name["T3"].value == answer.variation
    assert by_name["T4"].value == answer.mu > 0.0
    assert by_name["T5"].value <= by_name["T5"].limit == 0.5 * answer.mu
    duration = 1.0  # of the drive, in s
    expected = answer.lipschitz * duration * answer.variation
    assert by_name["T5"].value == pytest.approx(expected)


def test_a_heading_counts_by_the_arm():
    trajectory = PoseTrajectory.along(Descriptor(BASIS), ROOM, DRIVE, 0.2 * np.arange(6), arm=2.5)
    start = np.array([1.5, 1.5, 0.2])
    F, J = trajectory.at(start)
    answer = dynamic_bound(trajectory, start, F, DynamicPremises(0.005))
    steep = np.linalg.norm(J / [1.0, 1.0, 2.5], ord=2, axis=(1, 2)).max()
    assert answer.lipschitz == pytest.approx(steep)


def test_in_space_the_bound_is_not_violated_either():
    rng, held = np.random.default_rng(1), 0
    while held < 3:
        field = random_field(rng, 3)
        start = field_points(rng, field, 1, 0.8)[0]
        moves = np.cumsum(0.08 * directions(rng, 3, 5), axis=0)
        trajectory = PlaceTrajectory.along(field, moves, 0.2 * np.arange(5))
        delta = 10.0 ** rng.uniform(-3.0, -1.5) * directions(rng, 3)
        if not trajectory.is_free(start + delta):
            continue
        size = float(np.linalg.norm(delta))
        answer = dynamic_bound(
            trajectory, start, trajectory.at(start + delta)[0], DynamicPremises(size), FEW
        )
        if answer.holds:
            held += 1
            assert size <= answer.sharp <= answer.bound


@pytest.mark.parametrize(("quadrature", "exact"), [(Exact(), True), (EqualArea(99), False)])
def test_the_derivative_in_a_mesh_is_exact_face_by_face_alone(quadrature, exact):
    field = MapField(Descriptor(DirectionalBasis.fibonacci(8), quadrature=quadrature),
                     MeshMap.box((0, 0, 0), (4, 4, 3)))  # fmt: skip
    assert PlaceTrajectory.along(field, np.zeros((2, 3))).is_exact is exact


def test_too_wide_a_ball_breaks_t5_and_only_t5():
    trajectory = place_trajectory()
    start = np.array([1.5, 1.5])
    answer = dynamic_bound(trajectory, start, trajectory.at(start)[0], DynamicPremises(0.8))
    assert [a.name for a in answer.assumptions if not a.holds] == ["T5"]
    assert not answer.holds
    assert answer.bound == np.inf
    for radius in np.geomspace(1e-3, 0.8, 12):
        answer = dynamic_bound(trajectory, start, trajectory.at(start)[0], DynamicPremises(radius))
        (narrow,) = [a for a in answer.assumptions if a.name == "T5"]
        assert narrow.holds == (narrow.value <= narrow.limit)


def test_a_corridor_breaks_t4():
    walls = [[[-300.0, 0.0], [300.0, 0.0]], [[-300.0, 4.0], [300.0, 4.0]]]
    trajectory = place_trajectory(SegmentMap.from_segments(walls), Range(maximum=8.0))
    start = np.array([1.5, 1.5])
    answer = dynamic_bound(trajectory, start, trajectory.at(start)[0], DynamicPremises(0.001))
    assert "T4" in [a.name for a in answer.assumptions if not a.holds]
    assert not answer.holds
    assert answer.bound == answer.sharp == np.inf


def test_a_wall_within_the_ball_leaves_nothing_verified():
    trajectory = place_trajectory()
    for start in ([0.05, 1.5], [9.0, 9.0]):
        answer = dynamic_bound(trajectory, start, np.zeros((6, 8)), DynamicPremises(0.1))
        assert not answer.holds
        assert not any(a.holds for a in answer.assumptions)
        assert answer.bound == answer.sharp == np.inf


def test_on_cells_the_derivative_is_not_verified_and_the_way_is_known_only_at_samples():
    cells = np.full((80, 120), Cell.OCCUPIED, dtype=np.uint8)
    cells[2:78, 2:118] = Cell.FREE
    descriptor = Descriptor(BASIS, quadrature=CircleSum(256))
    trajectory = PoseTrajectory.along(descriptor, OccupancyMap(cells, 0.05), DRIVE[:2])
    answer = dynamic_bound(
        trajectory,
        [1.5, 1.5, 0.2],
        np.zeros((2, 8)),
        DynamicPremises(0.01),
        BoundSettings(trajectory_samples=6),
    )
    assert not answer.holds
    assert answer.bound == answer.sharp == np.inf
    names = {a.name: a.holds for a in answer.assumptions}
    assert not names["T3"]  # J is a difference quotient
    assert names["way"]


def test_noise_and_drift_widen_the_bound():
    trajectory = PoseTrajectory.along(Descriptor(BASIS), ROOM, DRIVE, 0.2 * np.arange(6))
    start = np.array([1.5, 1.5, 0.2])
    F = trajectory.at(start)[0]
    bounds = [
        dynamic_bound(trajectory, start, F, DynamicPremises(0.005, **more)).sharp
        for more in ({}, {"noise": 1e-3}, {"noise": 1e-3, "drift": 1e-4})
    ]
    assert bounds[0] == 0.0
    assert 0.0 < bounds[1] < bounds[2] < np.inf


@pytest.mark.parametrize("d", [2, 3])
def test_the_ball_is_filled_evenly(d):
    points = ball_points(d, 2000)
    radii = np.linalg.norm(points, axis=1)
    assert radii.max() <= 1.0 + 1e-12
    assert len(ball_points(d, 5)) == 5
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.02)
    assert np.mean(radii < 0.5) == pytest.approx(0.5**d, abs=0.01)
    np.testing.assert_allclose(
        points[2 * d :].T @ points[2 * d :] / 2000, np.eye(d) / (d + 2), atol=0.01
    )
