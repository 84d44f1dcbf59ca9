"""Several maps together with what one map alone is tested with: tilt, reflectance, mounts."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_space import LIDAR, at, atlas_of, house, house_atlas, symmetric_room
from tests.support.sites import PLANE, SITES, gap

import isovist as iv
from isovist import CloudScan, Pose, Pose3

LEFT_OUT = " Intensities were left out: they count on one map alone."


@pytest.mark.slow
def test_a_tilt_is_fitted_on_the_right_map_of_several():
    truth = at(5.0, 0.0, 0.7, roll=0.03, pitch=-0.04)
    tall = replace(LIDAR, rings=24, low=-0.7, high=0.7)
    scan = CloudScan(tall.scan(house(), truth, np.random.default_rng(4)).points)
    maps = {"room": atlas_of(symmetric_room(False)), "house": house_atlas()}
    answer = iv.locate(maps, scan, tilt=True)
    alone = iv.locate(house_atlas(), scan, tilt=True)
    assert (answer.verdict, answer.map) == (alone.verdict, "house")
    np.testing.assert_allclose(answer.best.pose.vector[4:], [0.03, -0.04], atol=np.radians(1.0))
    assert answer.best.covariance.shape == (6, 6)
    assert gap(answer.best.pose, truth)[0] < 0.1


def shining(site):
    """A map that only reflectance makes unique, and a scan of it with intensities."""
    if site is PLANE:
        sides = np.array([[0, 0, 9, 0], [9, 0, 9, 2], [9, 2, 0, 2], [0, 2, 0, 0]], dtype=float)
        world = iv.SegmentMap.from_segments(sides, reflectance=[0.2, 0.5, 0.9, 0.5])
        lidar, truth = iv.Lidar(beams=360, noise=0.01), Pose(2.6, 0.8, 0.3)
    else:
        world, lidar, truth = symmetric_room(True), LIDAR, Pose3(2.2, 2.9, 0.4, 1.1)
    return iv.build(world), lidar.scan(world, truth, np.random.default_rng(0)), truth


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_intensities_count_on_one_map_and_are_left_out_in_words_on_several(site):
    atlas, scan, truth = shining(site)
    assert iv.locate(atlas, scan).verdict is iv.Verdict.UNIQUE
    one = iv.locate({"only": atlas}, scan)
    assert (one.verdict, one.map) == (iv.Verdict.UNIQUE, "only")
    several = iv.locate({"lit": atlas, "other": site.atlas}, scan)
    assert (several.verdict, several.map) == (iv.Verdict.AMBIGUOUS, "lit")
    assert several.advice == (
        "1 other place would explain the scan about as well. Move and look again." + LEFT_OUT
    )
    assert min(gap(e.pose, truth)[0] for e in several.estimates[:2]) < 0.1
    told = iv.check({"lit": atlas, "other": site.atlas}, scan, truth, map="lit")
    assert told.verdict == "cannot tell"
    assert told.advice == several.advice
    bare = site.look(site.places[0])
    assert LEFT_OUT not in iv.locate({"lit": atlas, "other": site.atlas}, bare).advice


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_sensor_on_a_mount_is_of_the_same_robot_on_every_map(site):
    truth = site.places[0]
    scan = site.look(truth, mount=site.mount)
    answer = iv.locate({"hall": site.twin_atlas, "house": site.atlas}, scan)
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "house")
    assert gap(answer.best.pose, truth)[0] < 0.1
    assert answer.frame == "robot"
