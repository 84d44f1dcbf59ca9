"""Join the beams of a sequence of scans, and count what several scans see once.

A beam sees the same as a beam of a later scan if one of these holds:

- Its end is near the end of that beam: within the width of a block, as seen from its own sensor.
- The two sensors are that near to each other, and the beams point the same way.

Then it joins the block of that beam. So a robot that stands still gets no more groups and no
smaller covariance than from one scan. The share s_k is that of the beams of scan k that are left.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import Beams, SearchSpace
from isovist.poses import AnyPose
from isovist.sensing import ScanInput, ScanSequence


@dataclass(frozen=True, slots=True, eq=False)
class ScanView:
    """One scan of a sequence.

    Attributes:
        beams: Its beams in its own level sensor frame.
        place: Pose of that frame in the one of the last scan, by odometry.
        error: Variances of that pose in m² and rad², shape (6,).
        share: Share of its beams that see something no later scan sees.
    """

    beams: Beams
    place: AnyPose
    error: FloatArray
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBeams(Beams):
    """Beams of a sequence of scans in the level sensor frame of the last, oldest scan first.

    Attributes:
        views: The scans one by one.
    """

    views: tuple[ScanView, ...]


def select_beams(
    space: SearchSpace, scan: ScanInput, thin: tuple[int, float], block: tuple[float, float]
) -> Beams:
    """Select beams of one scan, or of a sequence in the frame of its last scan.

    Args:
        space: The map or maps.
        scan: One scan, or a sequence of scans.
        thin: Largest number of beams in 2D; in 3D the angle between them in rad.
        block: Width of a block in rad, and in 2D that of a group in m.
    """
    if not isinstance(scan, ScanSequence):
        return space.beams(scan, thin, block)
    views: list[ScanView] = []
    ends, numbers, groups = np.empty((0, space.dimension)), *np.empty((2, 0), dtype=np.int64)
    for part, place, error in reversed(
        list(zip(scan.scans, scan.view_poses, scan.view_variances, strict=True))
    ):
        beams = space.beams(part, thin, block)
        number = beams.block_of
        group = np.searchsorted(beams.columns, number, side="right")
        number, group = number + numbers.max(initial=0) + 1, group + groups.max(initial=0) + 1
        match = _match_views(beams, place, views, block[0])
        match = _match_groups(match, beams, group)
        is_matched = match >= 0
        number[is_matched] = numbers[match[is_matched]]
        group[is_matched] = groups[match[is_matched]]
        views.insert(0, ScanView(beams, place, error, float((~is_matched).mean())))
        ends = np.concatenate([place.apply(beams.ends), ends])
        numbers, groups = np.append(number, numbers), np.append(group, groups)
    sigmas = Beams.sigmas_of(view.beams for view in views)
    joint = Beams.of(ends, numbers, groups, np.empty(0), sigmas)
    return SequenceBeams(
        joint.ends, joint.strengths, joint.sigmas, joint.order, joint.starts, joint.columns,
        tuple(views),
    )  # fmt: skip


def _match_views(beams: Beams, place: AnyPose, views: list[ScanView], block: float) -> IntArray:
    """Return which beam of the later views sees the same as each beam, shape (m,); −1 if none."""
    match, first = np.full(len(beams), -1), 0
    for later in views:
        k = _match_beams(beams, place, later, block)
        match = np.where(match < 0, np.where(k < 0, k, k + first), match)
        first += len(later.beams)
    return match


def _match_beams(beams: Beams, place: AnyPose, later: ScanView, block: float) -> IntArray:
    """Return which beam of a later view sees the same as each beam, shape (m,); −1 if none."""
    from scipy.spatial import cKDTree

    length = np.linalg.norm(beams.ends, axis=1)
    tolerance = block * length
    gap, by_end = cKDTree(later.place.apply(later.beams.ends)).query(place.apply(beams.ends))
    # From nearly the same place the direction decides, even if somebody stands in between.
    directions = beams.ends @ place.rotation.T / length[:, None]
    later_directions = later.beams.ends @ later.place.rotation.T
    later_directions /= np.linalg.norm(later_directions, axis=1)[:, None]
    turn, by_direction = cKDTree(later_directions).query(directions)
    is_near = np.linalg.norm(later.place.position - place.position) < tolerance
    match = np.where(is_near & (turn < block), by_direction, -1)
    return np.asarray(np.where(gap < tolerance, by_end, match), dtype=np.int64)


def _match_groups(match: IntArray, beams: Beams, group: IntArray) -> IntArray:
    """Extend the matches to all beams of a group if most of them match.

    An obstacle in front of a few beams is not seen again. Alone, these beams would make a group of
    their own that adds no evidence. They take the match of the nearest beam of the group.
    """
    is_matched, match = match >= 0, match.copy()
    directions = beams.ends / np.linalg.norm(beams.ends, axis=1)[:, None]
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        old, new = rows[is_matched[rows]], rows[~is_matched[rows]]
        if len(new) and len(old) > len(new):
            nearest = np.argmax(directions[new] @ directions[old].T, axis=1)
            match[new] = match[old[nearest]]
    return match
