"""The bank of places of a tracker, forged states, and the table that makes its verdicts."""

import json

import numpy as np
import pytest
from benchmarks.fuzz.mutations import damage_tree
from tests.support.drives import drive, exact, way
from tests.support.sites import PLANE, SITES

import isovist as iv
from isovist.localization.decision.rules import apply_rules
from isovist.poses import part_of, swing, way_of
from isovist.tracking import (
    RULES,
    Evidence,
    Explanations,
    HypothesisBank,
    Keyframe,
    checksum,
    distinct_attitudes,
    follow_up_directions,
    tilt_of_mount,
)

DOUBTS = iv.LocalizationSettings().with_values(
    {
        "decision.min_score_nats": 1.5,
        "alternatives.good_score_nats": 4.4,
        "decision.max_position_std_m": 0.5,
        "decision.min_groups": 4,
    }
)
SURE = {
    "recent": 1.5, "is_doubted": False, "is_new": False, "position_std": 0.25, "groups": 4.0,
    "competitors": 0, "maps": (),
}  # fmt: skip
"""Of a place that is believed, each as near to doubt as it may be."""
USUAL = iv.TrackingSettings(), iv.LocalizationSettings()
FRAMES = iv.TrackingSettings().motion


def test_a_place_found_late_is_compared_on_the_whole_way():
    atlas, poses = PLANE.atlas, way("plane")[:8]
    early, late = (
        HypothesisBank(atlas, iv.Drift(), *USUAL),
        HypothesisBank(atlas, iv.Drift(), *USUAL),
    )
    tight = np.diag([0.01, 0.01, 0.001])[None]
    early.poses, early.covariances = poses[0].vector[None], tight
    for before, pose in zip([poses[0], *poses], poses, strict=False):
        beams = atlas.beams(PLANE.look(pose), (120, 0.0), (np.radians(10.0), 1.0))
        for bank in (early, late):
            bank.carry(before.inverse @ pose)
            bank.correct(Keyframe(beams, pose, 1.0), 1.0)
    assert len(late) == 0
    late.add(poses[-1].vector[None] + 0.03, tight)
    assert late.evidence()[0] == pytest.approx(early.evidence()[0], rel=0.02)
    assert len(late.keyframes) == len(poses)
    late.add(late.poses, late.covariances)
    assert len(late) == 1


def test_a_twin_elsewhere_knows_as_much_of_its_place_as_the_other():
    """The rooms are alike, so the last frame says the same of both."""
    bank = HypothesisBank(PLANE.twin_atlas, iv.Drift(), *USUAL)
    bank.poses, bank.covariances = PLANE.lonely.vector[None], np.diag([0.01, 0.01, 0.001])[None]
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins)
    beams = PLANE.twin_atlas.beams(scan, (120, 0.0), (np.radians(10.0), 1.0))
    bank.carry(iv.Pose())
    bank.correct(Keyframe(beams, PLANE.lonely, 1.0), 1.0)
    shift = PLANE.twin @ PLANE.lonely.inverse
    bank.spawn_twins(np.array([0]), shift)
    first, twin = bank.poses
    np.testing.assert_allclose(twin, (shift @ iv.Pose(*first)).vector, atol=0.05)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(bank.covariances[1]), np.linalg.eigvalsh(bank.covariances[0]), rtol=0.5
    )


def test_margins_are_those_of_their_definition_over_all_frames_and_over_the_last():
    random = np.random.default_rng(4)
    bank = HypothesisBank(
        PLANE.atlas, iv.Drift(), *USUAL, np.zeros((3, 3)), np.stack([np.eye(3)] * 3)
    )
    for weight, few in ((1.0, 9), (0.3, 14)):
        scan = iv.Lidar(1.5 * np.pi, 270, 12.0).scan(PLANE.world, iv.Pose(1.0, 4.7), random)
        beams = PLANE.atlas.beams(scan, (few, 0.0), (0.2, 1.0))
        assert 2 < len(beams.columns) < beams.blocks
        values = random.normal(2.0, 1.0, (3, beams.blocks))
        slips, rest = np.array([0.1, 0.2, 0.3]), (np.zeros((3, 3)), np.zeros((3, 3, 3)))
        ratings = Explanations(values, values.mean(axis=1), slips, np.ones(3), *rest)
        frame = Keyframe(beams, iv.Pose(), weight, explanations=ratings)
        bank.keyframes.append(frame)
    for frames, margins in (
        (bank.keyframes, bank.margins()),
        (bank.keyframes[1:], bank.margins(1)),
    ):
        w = np.array([frame.weight for frame in frames])
        for j, t, d in zip((1, 2), *margins, strict=True):
            apart = [
                frame.explanations.blocks[0] - frame.explanations.blocks[j] for frame in frames
            ]
            columns = [
                np.array([c.mean() for c in np.split(delta, frame.beams.columns[1:])])
                for delta, frame in zip(apart, frames, strict=True)
            ]
            total, square = (w @ [(delta**power).sum() for delta in columns] for power in (1, 2))
            assert t == pytest.approx(total / np.sqrt(square + 0.05))
            assert d == pytest.approx(w @ [delta.mean() for delta in apart] / np.sqrt(w.sum()))
    for j in range(3):
        E = sum(
            frame.weight * (frame.explanations.blocks[j].sum() - frame.explanations.slips[j])
            for frame in bank.keyframes
        )
        assert bank.evidence()[j] == pytest.approx(E)


def test_the_level_frame_follows_the_best_place_and_spares_the_others():
    tilt = iv.Pose3(roll=2.0, pitch=0.3)
    up = tilt.rotation[2]
    assert follow_up_directions(tilt, up[None], FRAMES) is tilt  # nothing turned
    turned = iv.Pose3(roll=0.2).rotation @ up
    after = follow_up_directions(tilt, turned[None], FRAMES)
    np.testing.assert_allclose(after.rotation @ turned, [0.0, 0.0, 1.0], atol=1e-12)
    assert way_of(after @ tilt.inverse)[1] == pytest.approx(np.arccos(turned @ up), abs=0.01)
    # A rival that would look straight up: the frame is turned about the vertical of the best.
    rival = tilt.rotation[0]
    spared = follow_up_directions(tilt, np.stack([up, rival]), FRAMES)
    np.testing.assert_allclose(spared.rotation @ up, [0.0, 0.0, 1.0], atol=1e-12)
    assert abs(spared.rotation[0] @ rival) <= np.sin(np.radians(60.0))
    mount = tilt.inverse @ iv.Pose3(0.1, 0.2, 0.0, 0.3)
    np.testing.assert_allclose(tilt_of_mount(mount).rotation, tilt.rotation, atol=1e-12)


def test_poses_are_alike_in_place_and_attitude_or_not_at_all():
    rows = [[0, 0, 0, 0, 0, 0], [0.1, 0, 0.05, 0, 0, 0], [0.1, 0, 0.05, 0, np.pi, 0],
            [0, 0, 0, 0.9, 0, 0], [0, 0, np.pi, 0, np.pi, -np.pi]]  # fmt: skip
    assert distinct_attitudes(iv.Pose3.from_vector(np.array(rows, float)), 0.5, 0.2) == [0, 2, 3]


@pytest.mark.parametrize("dimension", [2, 3])
def test_what_is_fixed_to_a_pose_swings_with_it(dimension):
    """Equation (2) of `poses`, against differences."""
    random, n = np.random.default_rng(3), 3 * (dimension - 1)
    rows = random.normal(size=(5, 6)) * [5.0, 5.0, 1.0, 2.0, 0.4, 0.4]
    motion = iv.Pose3(*(random.normal(size=6) * [1.0, 1.0, 1.0, 0.3, 0.3, 0.3]))
    if dimension == 2:
        rows, motion = rows[:, :3], motion.flat
    kind = type(motion)
    steps = 1e-6 * np.eye(n)
    ends = [[(kind.from_vector(rows + s * e) @ motion).vector for e in steps] for s in (1, -1)]
    J = np.stack([(a - b) / 2e-6 for a, b in zip(*ends, strict=True)], axis=-1)
    before = kind.from_vector(rows)
    np.testing.assert_allclose(swing(before, before @ motion, n), J, atol=1e-7)


@pytest.mark.parametrize(
    "motion", [iv.Pose(0.3, -0.1, 0.4), iv.Pose3(0.3, -0.1, 0.4, 0.2, 0.1, -0.2)]
)
def test_parts_of_a_motion_make_up_its_turn(motion):
    half, whole = part_of(motion, 0.5), way_of(motion)[1]
    assert way_of(half)[1] == pytest.approx(0.5 * whole)
    assert way_of(half @ half)[1] == pytest.approx(whole)
    np.testing.assert_allclose(part_of(motion, 1.0).vector, motion.vector, atol=1e-12)
    np.testing.assert_allclose(part_of(motion, 0.0).vector, 0.0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_a_state_that_was_forged_goes_on_or_is_refused(name):
    """Whoever can write a state can write its checksum; what it says is still looked at."""
    atlas, poses, tracker = SITES[name].atlas, way(name)[:4], iv.Tracker(SITES[name].atlas)
    drive(tracker, name, poses[:3], noise=0.0)
    state, scan = json.loads(json.dumps(tracker.state())), SITES[name].look(poses[3])
    random, refused, gone_on = np.random.default_rng(7), [], 0
    for _ in range(60):
        forged = damage_tree(state, random)
        if not isinstance(forged, dict):
            continue
        forged["crc32"] = checksum(forged)
        try:
            belief = iv.Tracker.from_state(atlas, forged).update(exact(name, poses), scan)
        except iv.InputError as error:
            refused.append(str(error))
        else:
            gone_on += 1
            assert np.isfinite(belief.best.pose.vector).all()
    assert min(len(refused), gone_on) > 5
    assert all(text.isprintable() for text in refused)


def decided(**changes):
    facts = SURE | changes
    evidence = Evidence(
        recent_score=facts.pop("recent"), is_doubted=facts.pop("is_doubted"),
        is_new=facts.pop("is_new"),
        facts=facts, settings=DOUBTS,
    )  # fmt: skip
    verdict, reasons = apply_rules(RULES, evidence)
    return verdict, [reason.value for reason in reasons]


@pytest.mark.parametrize(
    ("changes", "verdict", "reasons"),
    [
        ({}, "unique", ["only_place"]),
        ({"maps": ("a",)}, "unique", ["only_place"]),
        ({"recent": np.nextafter(1.5, 0.0)}, "lost", ["poor_fit"]),
        ({"is_doubted": True}, "ambiguous", ["pose_doubted"]),
        ({"position_std": np.nextafter(0.25, 1.0)}, "ambiguous", ["position_slides"]),
        ({"groups": 3.99}, "ambiguous", ["few_groups"]),
        ({"competitors": 1}, "ambiguous", ["competitors"]),
        ({"maps": ("a", "b")}, "ambiguous", ["several_maps"]),
        ({"is_new": True}, "ambiguous", ["lead_too_new"]),
    ],
)
def test_one_fact_alone_decides(changes, verdict, reasons):
    assert decided(**changes) == (verdict, reasons)


def test_all_reasons_of_the_verdict_are_told_in_the_order_of_the_rules():
    doubts = {
        "is_doubted": True, "position_std": 1.0, "groups": 1.0, "competitors": 3,
        "maps": ("a", "b"), "is_new": True,
    }  # fmt: skip
    assert decided(**doubts) == ("ambiguous", [
        "pose_doubted", "position_slides", "few_groups", "competitors", "several_maps",
        "lead_too_new",
    ])  # fmt: skip
    assert decided(**doubts, recent=0.0) == ("lost", ["poor_fit"])
