"""The use of a scan: whether it shows enough, its beams, and the keyframe that it becomes."""

import numpy as np

from isovist.atlas import AnyScan, Beams
from isovist.localization import LocalizationSettings
from isovist.poses import way_of
from isovist.sensing import CloudScan, Scan, StationaryScans
from isovist.tracking.hypotheses.keyframe import Keyframe, new_share
from isovist.tracking.state.tracker_state import TrackerState


def shows_enough(scan: AnyScan, settings: LocalizationSettings) -> bool:
    """Return whether a scan shows enough to say anything about the place.

    It needs returns in as many blocks as a unique answer needs groups, or in half of its view.
    """
    block, min_groups = settings.scoring.group_rad, settings.decision.min_groups
    if isinstance(scan, CloudScan):  # which has no beams without a return
        return scan.columns(block) >= min_groups
    blocks_with_return, blocks = (
        np.unique(np.floor((b - b[0]) / block + 1e-9)).size
        for b in (scan.bearings[scan.valid], scan.bearings)
    )
    return bool(blocks_with_return >= min(min_groups, 0.5 * blocks))


def comparison_beams(state: TrackerState, scan: AnyScan) -> Beams:
    """Return the beams of a scan that compare hypotheses: more than a first fit takes."""
    factor = state.settings.search.beam_factor
    count, spacing = state.localization.fit.coarse_beams
    beams = factor * count, spacing / np.sqrt(float(factor))
    return state.space.beams(scan, beams, state.localization.scoring.group)


def observe(state: TrackerState, scan: AnyScan, share: float) -> AnyScan:
    """Correct the hypotheses by a scan, merged with those since the robot stands still.

    Args:
        state: The state of the tracker.
        scan: The scan.
        share: Share of it that is new, 0 to 1.

    Returns:
        The merged scan.
    """
    sensor, clock = state.motion.sensor, state.motion.clock
    stationary = state.stationary
    if stationary is not None and stationary.add(
        sensor, scan, state.localization.covariance.min_std
    ):
        assert stationary.merged is not None
        beams = comparison_beams(state, stationary.merged)
        state.bank.correct_again(Keyframe(beams, sensor, 1.0, clock), share)
        return stationary.merged
    state.stationary = StationaryScans.start(sensor, scan)
    beams = comparison_beams(state, scan)
    view = state.localization.scoring.group_rad * len(
        beams.columns
    )  # of a cloud, which has no first beam
    weight = _weight(state, scan.field_of_view if isinstance(scan, Scan) else view)
    state.bank.correct(Keyframe(beams, sensor, weight, clock), share)
    return scan


def _weight(state: TrackerState, view: float) -> float:
    """Return the weight of the next keyframe; drop the last one if it is still close.

    Args:
        state: The state of the tracker.
        view: Field of view of the next keyframe, in rad.
    """
    keyframes, settings = state.bank.keyframes, state.settings.keyframes
    if len(keyframes) > 1:
        motion = keyframes[-2].T_odom_sensor.inverse @ keyframes[-1].T_odom_sensor
        distance, turn = way_of(motion)
        if distance < settings.min_distance_m and turn < settings.min_turn_rad:
            keyframes.pop()
    if not keyframes:
        return 1.0
    motion = keyframes[-1].T_odom_sensor.inverse @ state.motion.sensor
    return float(min(1.0, new_share(settings, motion, view)))
