"""What cannot be located, checked or joined is refused by a code and a field, in one line."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.sites import PLANE, SITES, SPACE

import isovist as iv

FLAT, SOLID = PLANE.look(PLANE.places[0]), SPACE.look(SPACE.places[0])
HERE, AIR = PLANE.places[0], SPACE.places[0]
MAP, HOUSE = PLANE.atlas, SPACE.atlas
TWO = {"a": MAP, "b": MAP}
FACING = iv.Region.facing(0.0, 0.5)
REGION = iv.Region.circle([0.0, 0.0], 1.0)
SIGMAS = replace(FLAT, sigmas=np.full(len(FLAT.ranges), 0.1))
FRAMES = [replace(FLAT, frame="base"), replace(FLAT, frame="arm")]
STEP = {"motions": [iv.Pose()]}


def coarse():
    return iv.build(PLANE.world, settings=iv.AtlasSettings(reach=10.0, spacing=1.0))


LOCATE = [
    # A map and a scan.
    ("scan", "wrong_dimension", MAP, SOLID, {}),
    ("scan", "wrong_dimension", HOUSE, FLAT, {}),
    ("tilt", "wrong_dimension", MAP, FLAT, {"tilt": True}),
    ("locate", "invalid_value", SPACE.world, SOLID, {}),
    ("locate", "invalid_value", MAP, "scan.json", {}),
    ("region", "invalid_value", MAP, FLAT, {"region": iv.Pose()}),
    ("settings", "invalid_value", MAP, FLAT, {"settings": 3}),
    ("certificate", "renamed", MAP, FLAT, {"certificate": True}),
    ("prove", "wrong_dimension", HOUSE, SOLID, {"prove": True}),
    ("prove", "conflict", MAP, SIGMAS, {"prove": True}),
    ("budget_s", "invalid_value", MAP, FLAT, {"prove": True, "budget_s": -1.0}),
    ("budget_s", "invalid_value", MAP, FLAT, {"prove": True, "budget_s": np.nan}),
    ("budget_s", "conflict", MAP, FLAT, {"budget_s": 1.0}),
    ("tilt", "conflict", HOUSE, SOLID, {"tilt": True, "any_attitude": True}),
    # Any attitude.
    ("any_attitude", "wrong_dimension", MAP, FLAT, {"any_attitude": True}),
    ("region", "conflict", HOUSE, SOLID, {"any_attitude": True, "region": FACING}),
    ("motions", "invalid_value", HOUSE, [SOLID, SOLID], {"any_attitude": True, **STEP}),
    ("prove", "wrong_dimension", HOUSE, SOLID, {"any_attitude": True, "prove": True}),
    (
        "region", "conflict", {"a": HOUSE, "b": HOUSE}, SOLID,
        {"any_attitude": True, "region": {"a": None, "b": FACING}},
    ),
    # Several maps.
    (None, "missing", {}, FLAT, {}),
    ("atlas", "invalid_value", {1: MAP}, FLAT, {}),
    ("atlas", "invalid_value", {"a": PLANE.world}, FLAT, {}),
    (None, "wrong_dimension", {"a": HOUSE, "b": MAP}, FLAT, {}),
    (None, "conflict", {"a": MAP, "b": coarse()}, FLAT, {}),
    ("region", "invalid_value", TWO, FLAT, {"region": REGION}),
    ("region", "invalid_value", TWO, FLAT, {"region": {}}),
    ("region", "invalid_value", TWO, FLAT, {"region": {"c": REGION}}),
    ("region", "invalid_value", TWO, FLAT, {"region": {"a": 3}}),
    ("region", "invalid_value", MAP, FLAT, {"region": {"a": REGION}}),
    ("prove", "conflict", TWO, FLAT, {"prove": True}),
    ("tilt", "wrong_dimension", TWO, FLAT, {"tilt": True}),
    # Several scans.
    ("scan", "missing", MAP, [], {}),
    ("motions", "invalid_value", MAP, [FLAT, FLAT], {}),
    ("motions", "invalid_value", HOUSE, [SOLID, SOLID], {"motions": [iv.Pose(), iv.Pose()]}),
    ("motions", "conflict", MAP, FLAT, STEP),
    ("scan", "wrong_dimension", MAP, [FLAT, SOLID], STEP),
    ("scan", "invalid_value", MAP, [FLAT, 3], STEP),
    ("scan", "wrong_dimension", HOUSE, [FLAT, FLAT], STEP),
    ("tilt", "wrong_dimension", MAP, [FLAT, FLAT], {**STEP, "tilt": True}),
    ("motions", "invalid_value", MAP, [FLAT, FLAT], {"motions": [(0.5, 0.0, 0.0)]}),
    ("motions", "invalid_value", MAP, [FLAT, FLAT], {"motions": [iv.Pose3()]}),
    ("motions", "invalid_value", HOUSE, [SOLID, SOLID], {"motions": [0.5]}),
    ("motions", "invalid_value", MAP, [FLAT, FLAT], {"motions": [iv.Pose(np.nan)]}),
    ("motions", "invalid_value", MAP, [FLAT, FLAT], {"motions": [iv.Pose(500.0)]}),
    ("motions", "invalid_value", HOUSE, [SOLID, SOLID], {"motions": [iv.Pose(500.0)]}),
    ("drift", "invalid_value", MAP, [FLAT, FLAT], {**STEP, "drift": 0.1}),
    ("scan", "conflict", MAP, FRAMES, STEP),
    ("prove", "conflict", MAP, [FLAT, FLAT], {**STEP, "prove": True}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "code", "atlas", "scan", "how"), LOCATE)
def test_what_cannot_be_located_is_refused(field, code, atlas, scan, how):
    with refused(field, code):
        iv.locate(atlas, scan, **how)


@pytest.mark.parametrize(
    ("field", "code", "make"),
    [
        ("pose", "invalid_value", lambda: iv.Region.around([0.0, 0.0, 0.0], 1.0)),
        ("T_robot_sensor", "invalid_value", lambda: iv.Scan([0], [1], T_robot_sensor=(0.2, 0, 0))),
        (
            "T_robot_sensor", "invalid_value",
            lambda: iv.CloudScan(np.ones((60, 3)), T_robot_sensor=[0.2, 0.0, 0.0]),
        ),
        ("settings", "invalid_value", lambda: iv.build(PLANE.world, settings=3)),
        ("spacing", "invalid_value", lambda: iv.build(PLANE.world, spacing=-0.1)),
        ("spacing", "invalid_value", lambda: iv.AtlasSettings(spacing=0.0)),
        (None, "empty", lambda: iv.build(iv.OccupancyMap(np.zeros((1, 20), np.uint8), 0.05))),
        (None, "empty", lambda: iv.build(iv.OccupancyMap(np.zeros((20, 20), np.uint8), 0.05))),
        ("corners", "invalid_value", lambda: iv.Region.polygon([[0, 0], [1, 1]])),
        ("corners", "invalid_value", lambda: iv.Region.polygon([[0, 0], [1, 1], [1, 0], [0, 1]])),
        ("centre", "missing", lambda: iv.Region(radius=2.0)),
        ("radius", "invalid_value", lambda: iv.Region.circle([0, 0], 0.0)),
        ("heading", "invalid_value", lambda: iv.Region.facing(90.0, 1.0)),
        ("tolerance", "invalid_value", lambda: iv.Region.facing(0.0, -1.0)),
        ("points", "empty", lambda: iv.CloudScan(np.zeros((0, 3)))),
        *[
            ("factor", "invalid_value", lambda scan=scan, factor=factor: scan.scaled(factor))
            for scan in (FLAT, SOLID)
            for factor in (0.0, -1.0, np.nan, np.inf)
        ],
        ("sigmas", "invalid_value", lambda: iv.Scan([0.0, 0.1], [1.0, 2.0], sigmas=[0.1])),
        ("sigmas", "invalid_value", lambda: iv.Scan([0.0, 0.1], [1.0, 2.0], sigmas=[0.1, -0.2])),
        ("signal", "invalid_value", lambda: iv.build(PLANE.world, signal="depth")),
        (
            "signal", "wrong_dimension",
            lambda: iv.build(SPACE.world, signal="range+intensity"),
        ),
    ],
)  # fmt: skip
def test_parts_of_a_question_are_checked_when_they_are_made(field, code, make):
    with refused(field, code):
        make()


@pytest.mark.parametrize("name", SITES)
def test_a_check_is_of_one_pose_on_one_map(name):
    site = SITES[name]
    truth, scan = site.places[0], site.look(site.places[0])
    other = iv.Pose3.lifted(truth) if isinstance(truth, iv.Pose) else truth.flat
    several = type(truth).from_vector(np.zeros((2, len(truth.vector))))
    maps = {"floor 1": site.atlas, "floor 2": site.twin_atlas}
    cases = [
        ("pose", "invalid_value", site.atlas, scan, other, {}),
        ("pose", "invalid_value", site.atlas, scan, [1.0, 2.0], {}),
        ("pose", "invalid_value", site.atlas, scan, several, {}),
        ("pose", "invalid_value", site.atlas, scan, type(truth)(np.nan), {}),
        ("pose", "invalid_value", site.atlas, scan, type(truth)(1e12), {}),
        ("check", "invalid_value", site.atlas, 3, truth, {}),
        ("covariance", "invalid_value", site.atlas, scan, truth, {"covariance": np.ones(2)}),
        ("covariance", "invalid_value", site.atlas, scan, truth, {"covariance": -np.eye(3)}),
        ("covariance", "invalid_value", site.atlas, scan, truth, {"covariance": np.tri(3)}),
        ("map", "invalid_value", maps, scan, truth, {}),
        ("map", "invalid_value", maps, scan, truth, {"map": "floor 3"}),
        ("map", "conflict", site.atlas, scan, truth, {"map": "floor 1"}),
        (None, "missing", {}, scan, truth, {"map": "floor 1"}),
    ]
    for field, code, atlas, seen, pose, how in cases:
        with refused(field, code):
            iv.check(atlas, seen, pose, **how)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("decision.max_estimates", 0), ("search.first_candidates", 0), ("search.max_nodes", 0),
        ("search.headings_per_node", 0), ("fit.coarse_max_beams", 0), ("decision.min_groups", 0),
        ("decision.min_probability", 5.0), ("search.min_seen_share_2d", 7.0),
        ("fit.fine_sigmas_m", (0.1, 0.0)), ("fit.coarse_sigmas", (0.0,)),
        ("fit.coarse_sigmas", ()), ("decision.same_place_m", 0.0),
        ("decision.min_cost_ratio", 0.5), ("refutation.softness", 0.0),
        ("scoring.group_rad", 0.0),
    ],
)  # fmt: skip
def test_settings_with_which_no_scan_can_be_located_are_refused(field, value):
    with refused(field.split(".")[1]):
        iv.LocalizationSettings().with_values({field: value})


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_least_that_settings_allow_is_no_error(site):
    least = iv.LocalizationSettings().with_values(
        {
            "search.max_nodes": 1,
            "search.headings_per_node": 1,
            "search.first_candidates": 1,
            "search.full_candidates": 1,
            "fit.first_rated": 1,
            "fit.first_refined": 1,
            "fit.full_rated": 1,
            "fit.full_refined": 1,
            "decision.max_estimates": 1,
        }
    )
    assert len(iv.locate(site.atlas, site.look(site.places[0]), settings=least).estimates) == 1


def test_ranges_that_would_do_in_mm_are_refused_with_the_likely_cause():
    mm = np.array([900.0, 2500.0, 4000.0])
    for range_max, likely in ((12.0, True), (2.0, False)):
        with refused("ranges", "empty") as caught:
            iv.Scan(np.arange(3.0), mm, 0.1, range_max)
        assert ("mm" in str(caught.value)) is likely
    with refused("points", "empty") as caught:
        iv.CloudScan(1000.0 * np.ones((60, 3)), range_max=12.0)
    assert "mm" in str(caught.value)
