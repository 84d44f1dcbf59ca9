"""Several scans as one: their views, candidates, beams and witnesses."""

import numpy as np
import pytest
from tests.support.fits import USUAL, beams, sought, together
from tests.support.sites import SITES, SPACE
from tests.support.ways import STEPS, looks, way

import isovist as iv

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@BOTH
def test_views_lie_where_odometry_puts_them(site):
    poses = way(site.places[0])
    several = together(looks(site, poses, mount=site.mount), STEPS)
    here = poses[-1] @ several.T_level_robot.inverse
    for pose, scan, view in zip(poses, several.scans, several.view_poses, strict=True):
        there = pose @ scan.T_level_robot.inverse
        np.testing.assert_allclose((here @ view).vector, there.vector, atol=1e-9)
    assert several.view_variances.shape == (3, 6)
    assert (several.view_variances[-1] == 0.0).all()
    assert (np.diff(several.view_variances, axis=0) < 0.0).all()
    first = iv.Drift().covariance(STEPS[1])
    length = np.hypot(STEPS[1].x, STEPS[1].y)
    assert several.view_variances[1, 2] == pytest.approx(first[2, 2])
    assert several.view_variances[1, 0] == pytest.approx(first[0, 0] + first[2, 2] * length**2)


def test_a_motion_of_the_plane_puts_views_on_level_ground():
    truth = SPACE.places[0] @ iv.Pose3(roll=0.1, pitch=-0.08)
    step = iv.Pose(0.4, 0.1, 0.6)
    level = iv.Pose3(truth.x, truth.y, truth.yaw, truth.z)
    before = level @ iv.Pose3.lifted(step).inverse @ iv.Pose3(roll=-0.05, pitch=0.1)
    scans = looks(SPACE, [before, truth])
    flat, solid = together(scans, [step]), together(scans, [before.inverse @ truth])
    for a, b in zip(flat.view_poses, solid.view_poses, strict=True):
        np.testing.assert_allclose(a.vector, b.vector, atol=1e-9)
    assert abs(flat.view_poses[0].roll) + abs(flat.view_poses[0].pitch) < 1e-9


@BOTH
def test_single_beams_that_are_not_seen_again_go_with_their_column(site):
    """What stood in the way of them is no witness on its own."""
    several = together(looks(site, way(site.places[0], STEPS[:1])), STEPS[:1])
    many = beams(site.atlas, several)
    views = len(many.views[0].beams)
    column, own = many.column_of, many.views[0].beams.column_of
    again = np.isin(column[:views], column[views:])
    shares = [again[own == one].mean() for one in np.unique(own)]
    assert max(shares) == 1.0
    assert all(share == 1.0 or share <= 0.5 for share in shares)


@BOTH
def test_as_many_candidates_of_several_maps_are_handed_on_as_of_one(site):
    maps, scan = {"here": site.atlas, "elsewhere": site.twin_atlas}, site.look(site.places[0])
    found = sought(maps, scan)
    assert len(found.poses) == sum(len(one.poses) for one in found.by_map.values())
    assert len(found.poses) <= USUAL.share(site.atlas, USUAL.search.first_candidates)
    costs = [sought(atlas, scan).costs for atlas in maps.values()]
    kept = np.sort(np.concatenate([one.costs for one in found.by_map.values()]))
    np.testing.assert_array_equal(kept, np.sort(np.concatenate(costs))[: len(kept)])
    # What is left out on any map is left out.
    few = USUAL.with_values({"search.first_candidates": 2, "search.full_candidates": 2})
    both, alone = (sought(each, scan, few) for each in (maps, site.atlas))
    radius, turn = few.candidates_apart(site.atlas)
    ratios = [one.cost_ratio(one.poses[0], radius, turn) for one in (both, alone)]
    assert ratios[0] <= ratios[1]
