"""Beams of several scans as those of one, each seen thing once.

A beam sees what one of a later scan does when it ends within the width of a block, as seen from
its scan, of where that one ends, or when it looks the same way from within that of its sensor: then
it belongs to the block of that beam.  s_k is the share of the beams of scan k that are left.  So a
robot that stands still has no more witnesses and no narrower covariance than one scan gives.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import Beams, SearchSpace
from isovist.poses import AnyPose
from isovist.sensing import ScanInput, ScanSequence


@dataclass(frozen=True, slots=True, eq=False)
class ScanView:
    """One of several scans.

    Attributes:
        beams: In its own level frame.
        place: That frame in the one of the last scan.
        error: Variances of the place by odometry, shape (6,), in m² and rad².
        share: Of its beams that no later scan has.
    """

    beams: Beams
    place: AnyPose
    error: FloatArray
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBeams(Beams):
    """Beams of several scans in the level frame of the last, view after view.

    Attributes:
        views: The same scan by scan.
    """

    views: tuple[ScanView, ...]


def select_beams(
    atlas: SearchSpace, scan: ScanInput, thin: tuple[int, float], block: tuple[float, float]
) -> Beams:
    """`Atlas.beams` of one scan, or of several in the frame of the last."""
    if not isinstance(scan, ScanSequence):
        return atlas.beams(scan, thin, block)
    views: list[ScanView] = []
    ends, numbers, columns = np.empty((0, atlas.dimension)), *np.empty((2, 0), dtype=np.int64)
    for one, place, error in reversed(
        list(zip(scan.scans, scan.view_poses, scan.view_variances, strict=True))
    ):
        beams = atlas.beams(one, thin, block)
        here = place.apply(beams.ends)
        number = beams.block_of
        column = np.searchsorted(beams.columns, number, side="right")
        number, column = number + numbers.max(initial=0) + 1, column + columns.max(initial=0) + 1
        again = np.full(len(beams), -1)
        first = 0
        for later in views:
            seen = _match_beams(beams, place, later, block[0])
            again = np.where(again < 0, np.where(seen < 0, seen, seen + first), again)
            first += len(later.beams)
        again = _match_groups(again, beams, column)
        old = again >= 0
        number[old], column[old] = numbers[again[old]], columns[again[old]]
        views.insert(0, ScanView(beams, place, error, float((~old).mean())))
        ends = np.concatenate([here, ends])
        numbers, columns = np.append(number, numbers), np.append(column, columns)
    sigmas = Beams.sigmas_of(view.beams for view in views)
    whole = Beams.of(ends, numbers, columns, np.empty(0), sigmas)
    return SequenceBeams(
        whole.ends, whole.strengths, whole.sigmas, whole.order, whole.starts, whole.columns,
        tuple(views),
    )  # fmt: skip


def _match_beams(beams: Beams, place: AnyPose, later: ScanView, block: float) -> IntArray:
    """Which beam of a later view sees what each beam does, shape (m,); −1 where none does."""
    from scipy.spatial import cKDTree

    length = np.linalg.norm(beams.ends, axis=1)
    slack = block * length
    away, near = cKDTree(later.place.apply(later.beams.ends)).query(place.apply(beams.ends))
    # From as good as the same place, the direction says it, whoever stands in between.
    along = beams.ends @ place.rotation.T / length[:, None]
    theirs = later.beams.ends @ later.place.rotation.T
    theirs /= np.linalg.norm(theirs, axis=1)[:, None]
    turn, beside = cKDTree(theirs).query(along)
    close = np.linalg.norm(later.place.position - place.position) < slack
    found = np.where(close & (turn < block), beside, -1)
    return np.asarray(np.where(away < slack, near, found), dtype=np.int64)


def _match_groups(again: IntArray, beams: Beams, column: IntArray) -> IntArray:
    """The same, where beams of a column whose others are mostly seen again go with the nearest.

    What stood in the way of single beams is not seen again; alone, it would make a witness of a
    column that has none of its own to tell.
    """
    old, again = again >= 0, again.copy()
    along = beams.ends / np.linalg.norm(beams.ends, axis=1)[:, None]
    for one in np.unique(column):
        here = np.flatnonzero(column == one)
        seen, new = here[old[here]], here[~old[here]]
        if len(new) and len(seen) > len(new):
            again[new] = again[seen[np.argmax(along[new] @ along[seen].T, axis=1)]]
    return again
