"""One standard deviation per beam: what errs more counts for less."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.answers import bits

import isovist as iv

pytestmark = pytest.mark.slow
TRUTH = iv.Pose(2.1, 1.4, 0.3)
WORLD = iv.SegmentMap.room(
    7.0, 4.0, walls=[[(4.5, 0.0), (4.5, 1.5)]], pillars=[(1.0, 2.8, 1.6, 3.3)]
)


@pytest.fixture(scope="module")
def atlas():
    return iv.build(WORLD)


def scan_of(seed=0, sigmas=None):
    lidar = iv.Lidar(2.0 * np.pi, 360, 20.0, 0.01)
    return replace(lidar.scan(WORLD, TRUTH, np.random.default_rng(seed)), sigmas=sigmas)


def mostly_bad(seed):
    """A scan most of whose beams err by 30 cm, and their σ."""
    scan, rng = scan_of(seed), np.random.default_rng(seed + 100)
    bad = rng.random(360) < 0.85
    ranges = scan.ranges + np.where(bad, rng.normal(0.0, 0.3, 360), 0.0)
    return replace(scan, ranges=np.where(scan.valid, ranges, np.nan)), np.where(bad, 0.3, 0.0)


def away(best):
    return float(np.linalg.norm(best.pose.position - TRUTH.position))


def test_sigmas_of_nothing_change_no_bit(atlas):
    plain, told = (iv.locate(atlas, scan_of(sigmas=s)) for s in (None, np.zeros(360)))
    assert bits(replace(told, estimates=told.estimates[:1])) == bits(
        replace(plain, estimates=plain.estimates[:1])
    )


def test_beams_that_say_that_they_err_pull_less(atlas):
    without, told = [], []
    for seed in range(8):
        scan, sigmas = mostly_bad(seed)
        without.append(iv.locate(atlas, scan).best)
        told.append(iv.locate(atlas, replace(scan, sigmas=sigmas)).best)
    assert np.mean([away(best) for best in told]) < 0.6 * np.mean([away(best) for best in without])
    # What they are worth is what such beams are worth at the right place.
    assert min(best.score for best in told) > max(best.score for best in without)


def test_the_same_range_is_worth_less_where_it_errs_more(atlas):
    plain, vague = (iv.locate(atlas, scan_of(sigmas=s)).best for s in (None, np.full(360, 0.2)))
    assert vague.score < plain.score - 0.5
    assert away(vague) < 0.03


def test_they_follow_their_beams():
    scan = iv.Scan([0.2, -0.1, 0.1], [1.0, np.nan, 3.0], sigmas=[0.02, np.nan, 0.04])
    np.testing.assert_array_equal(scan.sigmas, [0.0, 0.04, 0.02])
    np.testing.assert_array_equal(scan.mirrored().sigmas, [0.02, 0.04, 0.0])
    np.testing.assert_array_equal(scan.scaled(10.0).sigmas, [0.0, 0.4, 0.2])
    with pytest.raises(ValueError, match="read-only"):
        scan.sigmas[0] = 1.0


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_files_keep_them(suffix, tmp_path):
    path = tmp_path / f"scan{suffix}"
    scan = iv.Scan([0.0, 0.1, 0.2], [1.0, 2.0, 3.0], sigmas=[0.01, 0.02, 0.03])
    iv.write_scan(scan, path)
    np.testing.assert_array_equal(iv.read_scan(path).sigmas, scan.sigmas)
    iv.write_scan(replace(scan, sigmas=None), path)
    assert iv.read_scan(path).sigmas is None


def test_odd_sigmas_of_a_file_are_named(tmp_path):
    path = tmp_path / "scan.json"
    path.write_text(
        '{"angle_min": 0.0, "angle_increment": 0.1, "range_min": 0.0, "range_max": 9.0, '
        '"ranges": [1.0, 2.0], "sigmas": [0.1, "far"]}'
    )
    with pytest.raises(iv.FileError) as caught:
        iv.read_scan(path)
    assert (caught.value.code, caught.value.field) == ("invalid_file", "sigmas")
    assert "'far' at 1" in str(caught.value)


def test_a_tracker_goes_on_with_them_bit_for_bit(atlas):
    tracker = iv.Tracker(atlas)
    tracker.update(iv.Pose(), scan_of(sigmas=np.full(360, 0.1)))
    again = iv.Tracker.from_state(atlas, tracker.state())
    step = scan_of(1, sigmas=np.full(360, 0.1))
    first, second = tracker.update(iv.Pose(), step), again.update(iv.Pose(), step)
    assert first.best.pose == second.best.pose
    np.testing.assert_array_equal(first.best.covariance, second.best.covariance)
