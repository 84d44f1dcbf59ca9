"""What the descriptor and the theory refuse, by field and code."""

import numpy as np
import pytest
from tests.support.command_line import run
from tests.support.errors import refused
from tests.support.sites import PLANE, SPACE

import isovist as iv
from isovist import (
    Descriptor,
    DirectionalBasis,
    Gram,
    Intensity,
    Lidar,
    Pose,
    Range,
    Scan,
    SegmentMap,
)
from isovist import SurfaceGradient as Surface
from isovist.basis import Band
from isovist.paper import (
    CircleSum,
    DescriptorGrid,
    DynamicPremises,
    Exact,
    Lebedev,
    MapField,
    Moments,
    PaperLocalizer,
    PlaceTrajectory,
    PoseTrajectory,
    Premises,
    Sector,
    check_view,
    converged_sphere_rule,
    crowded_basis,
    descriptor_noise,
    displacement,
    drive_legs,
    dynamic_bound,
    field_of,
    fine_bases,
    fit_basis,
    fit_start,
    gauss_newton,
    hard_features,
    jacobian_bounds,
    locate_trajectory,
    make_basis,
    mean_injectivity,
    observe,
    paper_basis,
    paper_room,
    refine_chain,
    refine_start,
    squared_norms,
    try_legs,
    walk,
)
from isovist.tracking import Gramian, least_needed

ROOM, BASIS, FLAT = paper_room(), paper_basis(), SegmentMap.room(2.0, 2.0)
F, BALL = Descriptor(BASIS), DirectionalBasis.fibonacci(8)
BALL_6, FOUR = DirectionalBasis.fibonacci(6, 5e-4), DirectionalBasis.circle(4, 0.1)
SCAN = Scan(np.arange(3.0), np.ones(3))
SEEN = Lidar(beams=64).scan(ROOM, Pose(1.3, 1.7), np.random.default_rng(0))
CUBE = iv.MeshMap.box((0, 0, 0), (6, 4, 3))
OPEN = iv.MeshMap.from_triangles([[[0, 0, 0], [4, 0, 0], [0, 4, 1]]], free="everywhere")
HALF = SegmentMap.from_segments([[[0, 0], [1, 0]]])
FACES = Descriptor(DirectionalBasis.fibonacci(12, 0.5), quadrature=Exact())
FIELD = MapField(F, ROOM)
POSES = [Pose(0.1 * k) for k in range(3)]


def paper(basis=BASIS, signal=None, **options):
    return PaperLocalizer(ROOM, basis, signal or Range(), spacing=0.5, **options)


def bound(observed=(3, 8), **options):
    trajectory = PlaceTrajectory.along(FIELD, [[p.x, p.y] for p in POSES], np.arange(3.0))
    return dynamic_bound(
        trajectory, [1.0, 1.0], np.zeros(observed), DynamicPremises(**{"radius": 0.1} | options)
    )


def premises(**options):
    return Premises(**{"covering_radius": 0.1, "noise": 0.0, "radius": 0.1} | options)


def box(low, high, pitch=0.25):
    return jacobian_bounds(FIELD, low, high, pitch=pitch)


def trajectory(**options):
    return PoseTrajectory.along(F, ROOM, options.pop("odometry", [Pose()] * 2), **options)


def chain(odometry, drift):
    return refine_chain(PLANE.atlas, [SCAN] * 2, odometry, Pose(), drift)


@pytest.mark.parametrize(
    ("field", "code", "call"),
    [
        # The descriptor.
        (None, "not_free", lambda: F.at(ROOM, [3.0, 2.0])),
        (None, "not_free", lambda: F.at(ROOM, [4.7, 2.0])),
        (None, "not_free", lambda: F.at(ROOM, [7.0, 2.0])),
        ("points", "invalid_value", lambda: F.at(ROOM, [np.nan, 2.0])),
        ("points", "invalid_value", lambda: F.at(ROOM, [1.0, 2.0, 3.0])),
        (None, "wrong_dimension", lambda: Descriptor(BALL).at(ROOM, [1.0, 2.0])),
        ("world", "empty", lambda: F.at(HALF, [0.5, 1.0])),
        ("reflectance", "missing", lambda: Descriptor(BASIS, Intensity()).at(ROOM, [1.0, 1.0])),
        ("tolerance", "invalid_value", lambda: Exact(0.0)),
        (None, "invalid_value", lambda: CircleSum(0).rule()),
        ("terms", "invalid_value", lambda: CircleSum(2.5).rule()),
        (None, "invalid_value", lambda: Lebedev(4).rule()),
        ("view", "invalid_value", lambda: check_view([[1.0, 0.0]])),
        (None, "invalid_value", lambda: check_view([[0.0, 2.0], [1.0, 3.0]])),
        ("maximum", "invalid_value", lambda: Range(maximum=0.0)),
        ("transform", "invalid_value", lambda: Range(transform="square")),
        (None, "not_free", lambda: Descriptor(BASIS, quadrature=CircleSum(64)).at(
            ROOM, [0.01, 2.0], jacobian=True)),
        (None, "invalid_value", lambda: Band(0.3, 0.2)),
        ("of", "invalid_value", lambda: Surface("colour")),
        ("steepest", "invalid_value", lambda: Surface(steepest=0.0)),
        ("attribute", "missing", lambda: Descriptor(BALL, Surface()).at(CUBE, [1, 1, 1])),
        ("world", "wrong_dimension", lambda: Descriptor(BASIS, Surface("height")).at(FLAT, [1, 1])),
        ("view", "conflict", lambda: Descriptor(BALL).at(CUBE, [1, 1, 1], view=[[0, 1]])),
        (None, "conflict", lambda: F.at(FLAT, [1, 1], view=Band())),
        (None, "conflict", lambda: FACES.at(OPEN, [1.3, 1.7, 1.2])),
        (None, "conflict", lambda: Descriptor(BALL, Range(2.0), Exact()).at(CUBE, [1, 2, 1])),
        # The Gram matrix, bases and what they are moved by.
        ("F", "invalid_value", lambda: Gram.from_basis(BASIS).seminorm(np.zeros(7))),
        ("keep", "invalid_value", lambda: Gram.from_basis(BASIS, keep=2.0)),
        (None, "invalid_value", lambda: Gram.from_basis(BALL, view=[[0.0, 1.0]])),
        (None, "invalid_value", lambda: Gram.from_basis(BASIS, view=Sector())),
        ("groups", "invalid_value", lambda: Gram.from_basis(BASIS).merge([0, 1, 2])),
        (None, "not_free", lambda: squared_norms(ROOM, [[-1.0, 0.0]])),
        (None, "invalid_value", lambda: converged_sphere_rule(BALL_6, 1e-15)),
        ("dimension", "invalid_value", lambda: fine_bases(4)),
        (None, "invalid_value", lambda: crowded_basis(8, 0.05)),
        (None, "conflict", lambda: displacement(FOUR, DirectionalBasis.circle(5))),
        (None, "wrong_dimension", lambda: hard_features(ROOM, [[1.0, 1.0]], BALL)),
        (None, "invalid_value", lambda: walk(BASIS, np.ones((9, 2)), [0.0, 0.0], [0.0, 0.0])),
        (None, "not_free", lambda: Moments.from_segments(ROOM, [[3.0, 2.0]], BASIS)),
        ("parameter_range", "invalid_value", lambda: fit_basis(
            BASIS, mean_injectivity(Moments.from_segments(ROOM, [[1.0, 1.0]], BASIS)),
            parameter_range=(1.0, 0.5))),
        ("low", "invalid_value", lambda: box([1.0, 1.0], [0.5, 2.0])),
        (None, "not_free", lambda: box([2.5, 1.5], [3.5, 2.5])),
        ("pitch", "invalid_value", lambda: box([1.0, 1.0], [1.5, 1.5], 0.0)),
        # Places.
        ("spacing", "invalid_value", lambda: DescriptorGrid.over(ROOM, F, 0.0)),
        (None, "empty", lambda: DescriptorGrid.over(ROOM, F, 10.0)),
        (None, "too_large", lambda: DescriptorGrid.over(ROOM, F, 1e-6)),
        ("F_obs", "invalid_value", lambda: gauss_newton(F, ROOM, np.ones(3), [1.0, 1.0])),
        (None, "not_free", lambda: gauss_newton(F, ROOM, np.ones(8), [9.0, 1.0])),
        ("radius", "invalid_value", lambda: premises(radius=0.0)),
        ("radius", "invalid_value", lambda: premises(noise=-0.1)),
        ("radius", "invalid_value", lambda: bound(radius=0.0)),
        ("radius", "invalid_value", lambda: bound(drift=-1.0)),
        ("observed", "invalid_value", lambda: bound((2, 8))),
        ("scan", "wrong_dimension", lambda: iv.certify(ROOM, SPACE.elsewhere(), SPACE.places[0])),
        # The localizer.
        (None, "wrong_dimension", lambda: paper(BALL)),
        (None, "wrong_dimension", lambda: PaperLocalizer(SPACE.world, BASIS)),
        ("norm", "invalid_value", lambda: paper(norm="taxi")),
        ("profile", "invalid_value", lambda: make_basis(2, profile="triangle")),
        ("observation", "invalid_value", lambda: paper().locate(np.ones(7))),
        (None, "conflict", lambda: paper().locate(np.ones(8), 0.3)),
        (None, "missing", lambda: paper(
            DirectionalBasis.from_directions([[1, 0], [0, 1], [-1, -1]], 0.5)).locate(np.ones(3))),
        (None, "wrong_dimension", lambda: paper().locate(SPACE.elsewhere())),
        ("intensities", "missing", lambda: paper(signal=Intensity()).locate(SEEN)),
        ("signal", "conflict", lambda: paper(signal=Surface()).locate(SEEN)),
        ("heading", "invalid_value", lambda: paper().locate(SEEN, np.nan)),
        # Trajectories.
        ("arm", "invalid_value", lambda: Gramian.zero(4)),
        ("J", "invalid_value", lambda: Gramian.zero(2).add(np.ones((4, 3)))),
        ("dt", "invalid_value", lambda: Gramian.zero(2).add(np.ones((4, 2)), -1.0)),
        ("noise", "invalid_value", lambda: Gramian.zero(2).add(np.ones((4, 2)), noise=0.0)),
        ("noise", "invalid_value", lambda: Gramian.zero(2).add(np.ones((4, 2)), noise=-np.eye(4))),
        ("arm", "missing", lambda: Gramian.zero(3).add_information(np.eye(3))),
        ("odometry", "missing", lambda: trajectory(odometry=[])),
        ("arm", "invalid_value", lambda: trajectory(arm=0.0)),
        ("times", "invalid_value", lambda: trajectory(times=[1.0, 1.0])),
        (None, "wrong_dimension", lambda: observe(Descriptor(BALL), ROOM, np.zeros((1, 3)))),
        (None, "not_free", lambda: observe(F, ROOM, np.array([[9.0, 1.0, 0.0]]))),
        (None, "not_free", lambda: fit_start(trajectory(), np.zeros((2, 8)), [9.0, 1.0, 0.0])),
        ("observed", "invalid_value", lambda: fit_start(
            trajectory(), np.zeros((1, 8)), [1.0, 1.0, 0.0])),
        ("accuracy", "invalid_value", lambda: least_needed(0.0)),
        ("sigma", "invalid_value", lambda: descriptor_noise(F, SCAN, 0.0)),
        (None, "wrong_dimension", lambda: descriptor_noise(Descriptor(BALL), SCAN, 0.1)),
        ("odometry", "invalid_value", lambda: refine_start(PLANE.atlas, [SCAN], [], Pose())),
        ("odometry", "invalid_value", lambda: chain([], np.empty((0, 3, 3)))),
        ("drift", "invalid_value", lambda: chain([Pose()] * 2, np.eye(3))),
        (None, "missing", lambda: locate_trajectory(paper(), [SCAN], [Pose()])),
        (None, "empty", lambda: try_legs(FIELD, [1.0, 1.0], np.eye(2), length=9.0)),
        (None, "not_free", lambda: try_legs(FIELD, [9.0, 1.0], np.eye(2))),
        ("legs", "invalid_value", lambda: drive_legs(FIELD, [2.0, 0.8], legs=0)),
        (None, "not_free", lambda: drive_legs(FIELD, [3.0, 2.0], legs=1)),
        (None, "invalid_value", lambda: drive_legs(field_of(ROOM, 8), [2.0, 0.8, 1.0], legs=1)),
    ],
)  # fmt: skip
def test_bad_questions_are_refused(field, code, call):
    with refused(field, code):
        call()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    iv.write_map(ROOM, folder / "room.geojson")
    iv.write_map(iv.OccupancyMap(np.zeros((20, 20), dtype=np.uint8), 0.05), folder / "floor.yaml")
    iv.write_scan(SEEN, folder / "scan.json")
    return folder


@pytest.mark.parametrize(
    ("field", "code", "words"),
    [
        (None, "invalid_value", "paper tables --channels 1"),
        ("temperature", "invalid_value", "paper tables --temperature 0"),
        ("temperature", "invalid_value", "paper tables --temperature 1e-308"),
        (None, "empty", "paper tables --temperature 1e-200"),
        ("profile", "invalid_value", "paper tables --profile gauss"),
        ("temperature", "invalid_value", "paper tables --profile cosine --temperature 0.6"),
        ("place", "not_free", "paper tables --place 9 9"),
        (None, "not_found", "paper tables --room none.yaml"),
        (None, "unknown_format", "paper tables --room floor.yaml"),
        ("norm", "invalid_value", "paper locate room.geojson scan.json --norm taxi"),
    ],
)
def test_bad_words_are_refused(folder, monkeypatch, field, code, words):
    monkeypatch.chdir(folder)
    error = run(*words.split()).error
    assert (error.field, error.code) == (field, code)
