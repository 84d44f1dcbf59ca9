"""Pairs of features that were each tested alone and failed together."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import known_fault, refused
from tests.support.sites import PLANE, SITES, SPACE

import isovist as iv

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@BOTH
def test_a_certificate_is_no_part_of_locating(site):
    scan = site.look(site.places[0])
    for verb, scans in ((iv.locate, scan), (iv.locate_many, [scan])):
        with refused("certificate", "renamed") as caught:
            verb(site.atlas, scans, certificate=True)
        assert "iv.certify" in str(caught.value)


@BOTH
def test_a_tracker_restored_before_its_first_scan_trusts_a_missing_odometry_as_little(site):
    tracker = iv.Tracker(site.atlas)
    restored = iv.Tracker.from_state(site.atlas, tracker.state())
    scan = site.look(site.places[0])
    beliefs = [each.update(None, scan) for each in (tracker, restored)]
    assert tracker.drift == restored.drift
    np.testing.assert_array_equal(*(belief.best.covariance for belief in beliefs))


def test_a_restored_tracker_that_is_reset_fits_what_it_was_told_to_fit():
    leaning = iv.Pose3(5.0, 0.0, 0.7, 1.1, 0.0, 0.12)
    tracker = iv.Tracker(SPACE.atlas)
    tracker.update(iv.Pose(), replace(SPACE.look(leaning), roll=0.0, pitch=0.0))
    restored = iv.Tracker.from_state(SPACE.atlas, tracker.state())
    level = SPACE.look(SPACE.places[0])
    sizes = []
    for each in (tracker, restored):
        each.reset()
        sizes.append(each.update(iv.Pose(), level).best.covariance.shape)
    assert sizes[0] == sizes[1] == (4, 4)


@pytest.mark.slow
@known_fault("the proof is of the sensor, and its regions of the robot")
def test_a_proof_of_uniqueness_holds_for_a_robot_with_its_sensor_far_out():
    pose, mount = iv.Pose(5.2, 6.4, -1.9), iv.Pose(1.0, 0.0, 0.0)
    answer = iv.locate(PLANE.atlas, PLANE.look(pose, mount=mount), prove=True, budget_s=20.0)
    assert answer.proof.complete
    assert answer.proof.unique
    x, y, _, radius, _ = answer.proof.regions.T
    gaps = np.hypot(x - answer.best.pose.x, y - answer.best.pose.y) + radius
    assert gaps.max() <= 0.5
