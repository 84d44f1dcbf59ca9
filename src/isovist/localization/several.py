"""Several scans at once: what is done once for each of them, and how that becomes one.

Candidates are those of every scan, moved to the last.  All beams are fitted together, as those of
one long scan.  Then each scan may move against the others by what odometry leaves open: scan k
alone, fitted from where the last one puts it, says that the last one is at ŷ_k with covariance
P_k + Q_k, the second being the drift of the way between them, and

    Λ = Σ_k s_k (P_k + Q_k)⁻¹,       ŷ = Λ⁻¹ Σ_k s_k (P_k + Q_k)⁻¹ ŷ_k.                      (1)

A scan is rated from its own place between what odometry and its own fit say; the step between them
costs as in `tracking.bank`, shared out among its blocks.

A beam sees what one of a later scan does when it ends within the width of a block, as seen from
its scan, of where that one ends, or when it looks the same way from within that of its sensor: then
it belongs to the block of that beam.  s_k is the share of the beams of scan k that are left.  So a
robot that stands still has no more witnesses and no narrower covariance than one scan gives.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, Beams, Fit, SearchSpace, SpaceAtlas
from isovist.compute import BeamRatings
from isovist.localization.region import Region
from isovist.localization.search import Candidates, NodeSearch, unlike
from isovist.localization.settings import LocalizationSettings
from isovist.localization.slices import by_slices, nothing
from isovist.localization.spread import by_coordinate, covariances, information, of_robot
from isovist.poses import AnyPose, Pose3, wrap_angle
from isovist.sensing import CloudScan, ScanInput, ScanSequence


@dataclass(frozen=True, slots=True, eq=False)
class View:
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
class ManyBeams(Beams):
    """Beams of several scans in the level frame of the last, view after view.

    Attributes:
        views: The same scan by scan.
    """

    views: tuple[View, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ManyCandidates:
    """The candidates of several scans, as poses of the last, or of both doors in space.

    Attributes:
        poses: Of all of them, the best of every scan first, shape (K, D).
        each: Those of each scan or door, with the place of its frame in that of the last.
    """

    poses: FloatArray
    each: tuple[tuple[Candidates, AnyPose], ...]
    atlas: Atlas

    def lead(self, pose: FloatArray, radius: float, turn: float) -> float:
        """As for one scan: the best of all, since what one scan excludes is excluded."""
        here = self.atlas.lift(pose)
        return max(found.lead((here @ place).vector, radius, turn) for found, place in self.each)


class ScanStream:
    """Ever more candidates of one scan on one map, by descriptors and, of clouds, by slices.

    Args:
        atlas: The map.
        scan: One scan.
        region: Where the robot may be.
        settings: How to search.
        only: Indices of the nodes to search, where there is no region; all when `None`.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: AnyScan,
        region: Region | None,
        settings: LocalizationSettings,
        only: IntArray | None = None,
    ) -> None:
        self.nodes = NodeSearch(atlas, scan, region, settings, only=only)
        self._slices: Candidates | None = None

    def coarse(self, count: int) -> Candidates:
        """Return poses at the best nodes by every other channel."""
        return self.nodes.coarse(count)

    def full(self, count: int, limit: float = np.inf) -> "Candidates | ManyCandidates":
        """Return the cheapest poses of all nodes, and in 3D those that height slices give."""
        nodes = self.nodes
        found = nodes.full(count, limit)
        if not isinstance(nodes.scan, CloudScan):
            return found
        atlas = nodes.atlas
        assert isinstance(atlas, SpaceAtlas)
        if self._slices is None:
            self._slices = nothing(np.inf)  # the region leaves nothing, or nothing is seen
            if len(found.poses):
                self._slices = by_slices(
                    atlas, nodes.scan, nodes.region, nodes.settings, thorough=True
                )
        poses = np.concatenate([self._slices.poses, found.poses])
        return ManyCandidates(poses, ((found, Pose3()), (self._slices, Pose3())), atlas)


class SequenceStream:
    """Ever more candidates of several scans on one map, as poses of the last.

    Args:
        atlas: The map.
        scan: Several scans.
        region: Where the robot may be at the last.
        settings: How to search.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: ScanSequence,
        region: Region | None,
        settings: LocalizationSettings,
    ) -> None:
        self.atlas, self.scan, self.region, self.settings = atlas, scan, region, settings
        self._streams = []
        for one, robot in zip(scan.scans, scan.robot_poses, strict=True):
            reach = None
            if region is not None:
                reach = region.grown(float(np.linalg.norm(robot.position[:2])), robot.yaw)
            self._streams.append(NodeSearch(atlas, one, reach, settings))

    def coarse(self, count: int) -> ManyCandidates:
        """Return poses at the best nodes of each scan by every other channel."""
        return self._moved([one.coarse(count) for one in self._streams])

    def full(self, count: int, limit: float = np.inf) -> ManyCandidates:
        """Return the cheapest poses of each scan.  Several scans have no one cost to limit."""
        del limit
        return self._moved([one.full(count) for one in self._streams])

    def _moved(self, found: list[Candidates]) -> ManyCandidates:
        """Return candidates of each scan as poses of the last, the best of each scan first."""
        atlas, scan, region = self.atlas, self.scan, self.region
        each, poses, ranks = [], [], []
        for one, place in zip(found, scan.view_poses, strict=True):
            each.append((one, place))
            poses.append((atlas.lift(one.poses) @ place.inverse).vector)
            ranks.append(np.arange(len(one.poses)))
        moved = np.concatenate(poses)[np.argsort(np.concatenate(ranks), kind="stable")]
        if region is not None:
            robots = (atlas.lift(moved) @ scan.T_level_robot).vector
            moved = moved[region.holds(robots, atlas.spacing, np.pi / atlas.settings.channels)]
        moved = moved[unlike(moved, *self.settings.candidates_apart(atlas))]
        return ManyCandidates(moved, tuple(each), atlas)


def stream_on(
    atlas: Atlas,
    scan: ScanInput,
    region: Region | None,
    settings: LocalizationSettings,
    only: IntArray | None = None,
) -> ScanStream | SequenceStream:
    """Return the stream of candidates of one scan or of several on one map."""
    if isinstance(scan, ScanSequence):
        return SequenceStream(atlas, scan, region, settings)
    return ScanStream(atlas, scan, region, settings, only)


def beams_of(
    atlas: SearchSpace, scan: ScanInput, thin: tuple[int, float], block: tuple[float, float]
) -> Beams:
    """`Atlas.beams` of one scan, or of several in the frame of the last."""
    if not isinstance(scan, ScanSequence):
        return atlas.beams(scan, thin, block)
    views: list[View] = []
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
            seen = _seen_again(beams, place, later, block[0])
            again = np.where(again < 0, np.where(seen < 0, seen, seen + first), again)
            first += len(later.beams)
        again = _with_most(again, beams, column)
        old = again >= 0
        number[old], column[old] = numbers[again[old]], columns[again[old]]
        views.insert(0, View(beams, place, error, float((~old).mean())))
        ends = np.concatenate([here, ends])
        numbers, columns = np.append(number, numbers), np.append(column, columns)
    sigmas = Beams.sigmas_of(view.beams for view in views)
    whole = Beams.of(ends, numbers, columns, np.empty(0), sigmas)
    return ManyBeams(
        whole.ends, whole.strengths, whole.sigmas, whole.order, whole.starts, whole.columns,
        tuple(views),
    )  # fmt: skip


def _seen_again(beams: Beams, place: AnyPose, later: View, block: float) -> IntArray:
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


def _with_most(again: IntArray, beams: Beams, column: IntArray) -> IntArray:
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


def rate(
    atlas: SearchSpace, beams: Beams, poses: FloatArray, settings: LocalizationSettings
) -> BeamRatings:
    """`Atlas.rate` of beams of one scan or of several, by odometry as it is."""
    if not isinstance(beams, ManyBeams):
        return atlas.rate(beams, poses, settings.model)
    here = atlas.lift(poses)
    return _beside(
        atlas.rate(view.beams, (here @ view.place).vector, settings.model) for view in beams.views
    )


def fit_and_rate(
    atlas: SearchSpace,
    beams: Beams,
    poses: FloatArray,
    widths: FloatArray,
    fitted: int,
    settings: LocalizationSettings,
    most: int,
) -> tuple[Fit, BeamRatings]:
    """`Atlas.fit_and_rate` of beams of one scan or of several, by odometry as it is."""
    if not isinstance(beams, ManyBeams):
        fit, (rated,) = atlas.fit_and_rate(beams, poses, widths, fitted, [settings.model], most)
        return fit, rated
    fit = atlas.fit(beams, poses, widths, fitted).firmest(most)
    return fit, rate(atlas, beams, fit.poses, settings)


def fit_together(
    atlas: SearchSpace,
    beams: ManyBeams,
    poses: FloatArray,
    widths: FloatArray,
    n: int,
    settings: LocalizationSettings,
) -> tuple[Fit, BeamRatings, FloatArray]:
    """Fits of several scans, ℓ and kind of each beam, and what is known of the poses by (1).

    Args:
        atlas: The map, described.
        beams: Of several scans.
        poses: From where to begin, shape (K, D).
        widths: σ of each step in m.
        n: Coordinates that are fitted.
        settings: How to fit and to rate.
    """
    fit = atlas.fit(beams, poses, widths, n)
    own = [_alone(atlas, view, fit.poses, n, settings) for view in beams.views]
    poses, known = _fused(atlas, beams.views, own, n, settings)
    here, told = atlas.lift(poses), []
    for view, (mine, firm) in zip(beams.views, own, strict=True):
        places, cost = (here @ view.place).vector, np.zeros(len(poses))
        if view.error.any():
            places, cost = _slipped(places, mine, firm, view.error[:n], settings)
        ratings, kinds = atlas.rate(view.beams, places, settings.model)
        ratings -= (cost / view.beams.blocks).astype(np.float32)[:, None]
        told.append(BeamRatings(ratings, kinds))
    return replace(fit, poses=poses), _beside(told), known


def _beside(told: Iterable[BeamRatings]) -> BeamRatings:
    """What views say, one after the other."""
    ratings, kinds = zip(*told, strict=True)
    return BeamRatings(np.concatenate(ratings, axis=1), np.concatenate(kinds, axis=1))


def _alone(
    atlas: SearchSpace, view: View, poses: FloatArray, n: int, settings: LocalizationSettings
) -> tuple[FloatArray, FloatArray]:
    """Poses of one scan, fitted alone, and what is known of them, shapes (K, D) and (K, n, n)."""
    start = (atlas.lift(poses) @ view.place).vector
    fit = atlas.fit(view.beams, start, settings.fine_widths(atlas), n)
    return fit.poses, information(fit, view.beams.blocks, atlas.cell(fit.poses), settings)


def _fused(
    atlas: SearchSpace,
    views: tuple[View, ...],
    own: list[tuple[FloatArray, FloatArray]],
    n: int,
    settings: LocalizationSettings,
) -> tuple[FloatArray, FloatArray]:
    """ŷ and Λ of (1), shapes (K, D) and (K, n, n)."""
    here = own[-1][0]
    total, pull = np.zeros((len(here), n, n)), np.zeros((len(here), n))
    widest = np.diag(1.0 / np.square(by_coordinate(10.0 * settings.loose, np.pi, n)))
    for view, (poses, known) in zip(views, own, strict=True):
        spreads = np.asarray(np.linalg.inv(known + widest) + np.diag(view.error[:n]))
        says, spreads = of_robot(atlas, view.place.inverse, poses, spreads)
        told = view.share * np.linalg.inv(spreads)
        total += told
        pull += np.einsum("kij,kj->ki", told, _step(here, says.vector)[:, :n])
    poses = here.copy()
    poses[:, :n] += np.linalg.solve(total, pull[..., None])[..., 0]
    return poses, total


def _slipped(
    places: FloatArray,
    own: FloatArray,
    known: FloatArray,
    error: FloatArray,
    settings: LocalizationSettings,
) -> tuple[FloatArray, FloatArray]:
    """Places between what odometry and a fit say, and what the step to the fit costs, in nats."""
    n = len(error)
    step = _step(places, own)[:, :n]
    R = covariances(known, settings)
    weight = np.linalg.inv(R + np.diag(error))
    moved = places.copy()
    moved[:, :n] += np.einsum("i,kij,kj->ki", error, weight, step)
    cost = 0.5 * np.einsum("ki,kij,kj->k", step, weight, step)
    return moved, np.minimum(cost, settings.slip)


def _step(start: FloatArray, end: FloatArray) -> FloatArray:
    step = end - start
    for angle in (2, 4, 5):
        if angle < step.shape[1]:
            step[:, angle] = wrap_angle(step[:, angle])
    return step
