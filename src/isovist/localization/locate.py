"""Find the pose of a robot from a scan: the path from the question to the answer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from isovist.arrays import readonly
from isovist.atlas import AnyScan, MultiMap, SearchSpace
from isovist.compute import use_backend
from isovist.errors import InputError
from isovist.localization.answer import Answer, Verdict
from isovist.localization.candidates.map_selection import MapSelection, mark_unsearched_maps
from isovist.localization.decision.rules import demote
from isovist.localization.decision.search_loop import Search
from isovist.localization.fitting.covariance import major_axis
from isovist.localization.fitting.final_fit import refit_answer
from isovist.localization.interpretations.any_attitude import (
    TIMING_STEPS,
    check_attitude,
    from_level_robot,
    locate_in_any_attitude,
)
from isovist.localization.interpretations.levelling import resolve_tilt
from isovist.localization.kernels import compile_kernels
from isovist.localization.query.query import Query
from isovist.localization.query.search_space import AnyMaps, AnyRegion, answer_in_map_frames
from isovist.localization.reasons import Reason
from isovist.localization.settings import LocalizationSettings
from isovist.localization.verification.verify import add_proof, check_proof, try_alternative_scans
from isovist.poses import AnyPose
from isovist.renamed import accept_old_names
from isovist.sensing import CloudScan, Drift, ScanInput, ScanSequence, last_scan

ROUNDS = 3
"""Maps of a library are chosen anew at most so often: a better place seldom lets in others."""


@accept_old_names
def locate(
    space: AnyMaps | SearchSpace,
    scan: AnyScan | ScanSequence | Sequence[AnyScan],
    *,
    motions: Sequence[AnyPose] | None = None,
    drift: Drift | None = None,
    region: AnyRegion = None,
    tilt: bool = False,
    any_attitude: bool = False,
    prove: bool = False,
    budget_s: float | None = None,
    settings: LocalizationSettings | None = None,
    backend: str | None = None,
) -> Answer:
    """Find the pose of the robot from one scan, or from several that odometry joins.

    The search compares the scan with every node of the map at every heading, fits the best poses to
    the walls, scores them by ray casting, and decides: unique, ambiguous or lost.  It goes on with
    more candidates until the decision is final (`decision.search_loop`).  A unique place must not
    fit better mirrored or at another scale.  Several scans, joined by the motions between them, are
    located as one; the answer is the pose at the last.

    Args:
        space: A map prepared by `build`, or several by name; then the answer says which.
        scan: A 2D scan for a 2D map, points for a 3D map; or a list of such scans, oldest first.
        motions: Of several scans: pose of the robot at each after the first, in its frame at the
            one before, by odometry.
        drift: How far the motions can be trusted, as for a `Tracker`.
        region: Where the robot may be at the last scan; everywhere when `None`.  The answer lies in
            it.  For several maps, regions by name: the robot is on none of the others.
        tilt: In 3D, fit roll and pitch in any case.  Otherwise they are fitted where the scan shows
            that it leans.
        any_attitude: In 3D, the sensor may be held in any way: in a hand, on its side, upside down.
        prove: Fill in `answer.proof`: search the whole map for other places, completely.  For one
            2D map and one scan; takes from tenths of a second to `budget_s`.
        budget_s: Time of the proof in s: 5, and 1 where the answer is not unique.
        settings: How to locate.
        backend: What computes, "cpu" or "cuda" (2D maps); ISOVIST_BACKEND says it when `None`.

    Returns:
        The verdict, its reasons, and all places that explain the scan, most likely first.

    Raises:
        InputError: If the scan does not fit the map, or options exclude each other.

    Example:
        >>> import numpy as np
        >>> import isovist as iv
        >>> room = iv.SegmentMap.room(6.0, 4.0)
        >>> noise = np.random.default_rng(0)
        >>> scan = iv.Lidar(beams=180).scan(room, iv.Pose(2.0, 1.5, 0.3), noise)
        >>> answer = iv.locate(iv.build(room), scan)
        >>> str(answer.verdict)  # a rectangular room looks the same turned by 180°
        'ambiguous'
    """
    with use_backend(backend):
        query = Query.of(
            space, scan, motions=motions, drift=drift, region=region, settings=settings
        )
        query = replace(query, fits_tilt=tilt)
        check_proof(query, prove=prove, budget_s=budget_s)
        check_tilt(query, any_attitude=any_attitude, motions=motions or ())
        if query.scan is None:
            return outside_map(query.frame)
        compile_kernels(query.space, prove=prove)
        query, answer = search(query, any_attitude=any_attitude)
        if prove:
            answer = add_proof(query, answer, budget_s)
        answer = try_alternative_scans(query, answer)
        return for_user(query, answer)


def check_tilt(query: Query, *, any_attitude: bool, motions: Sequence[AnyPose]) -> None:
    """Raise an error unless the map has roll and pitch where they are asked for."""
    query.space.fitted(query.fits_tilt)
    if query.fits_tilt and any_attitude:
        raise InputError.about(
            "tilt", "is fitted with `any_attitude` anyway; leave one of them out.", code="conflict"
        )
    if any_attitude:
        check_attitude(query.space, query.region, motions)


def search(query: Query, *, any_attitude: bool) -> tuple[Query, Answer]:
    """Search by each reading of the scan that may be right.

    Returns:
        The query whose reading of the scan explains it best, and its answer.
    """
    selection = None
    if query.region is None and not any_attitude:
        selection = MapSelection.of(query.space, query.scans, query.settings)
    if selection is None:
        return search_readings(query, any_attitude=any_attitude)
    query, answer, is_complete = search_selection(query, selection)
    if isinstance(query.scan, CloudScan):
        query, answer = search_readings(query, any_attitude=False)
    if not is_complete:
        assert isinstance(query.space, MultiMap)
        answer = mark_unsearched_maps(answer, len(query.space.names), len(selection.order))
    return query, answer


def search_readings(query: Query, *, any_attitude: bool) -> tuple[Query, Answer]:
    """Search as the scan is given, levelled, leaning, or in any attitude (`interpretations`)."""
    given = None if any_attitude else query.scan

    def look(scan: ScanInput, leans: bool) -> Search:
        return Search(query.of_scan(scan, fits_tilt=leans))

    def ask(scan: ScanInput, leans: bool, begun: Search | None) -> Answer:
        answer = (begun or look(scan, leans)).run()
        return refit_answer(query.of_scan(scan, fits_tilt=leans), answer, given)

    if any_attitude:
        level = partial(ask, leans=True, begun=None)
        answer, scan, attitude = locate_in_any_attitude(query, level)
        return replace(query, scan=scan, attitude=attitude), answer
    answer, scan = resolve_tilt(query, ask, look)
    return replace(query, scan=scan), answer


def search_selection(query: Query, selection: MapSelection) -> tuple[Query, Answer, bool]:
    """Search the maps of a library that may hold the place.

    Returns:
        The query on these maps, the answer, and whether all other maps are excluded by a bound.
    """
    start = perf_counter()
    scan, settings = last_scan(query.scans), query.settings
    few = replace(query, space=selection.part(0.0)[0])
    limit = selection.cost_limit(scan, Search(few).first(), settings)
    for _ in range(ROUNDS):
        (part, left), selecting = selection.part(limit), perf_counter() - start
        query = replace(query, space=part)
        answer = Search(query).run()
        limit = selection.cost_limit(scan, answer, settings)
        if limit <= left:
            break
    timing = dict(answer.timing_ms)
    for step in ("search", "total"):
        timing[step] += 1e3 * selecting
    return query, replace(answer, timing_ms=timing), limit <= left


def for_user(query: Query, answer: Answer) -> Answer:
    """Return the answer with poses of the robot at the last scan, in the frames of their maps."""
    answer = answer_in_map_frames(query.space, answer)
    if query.attitude is not None:
        answer = from_level_robot(answer, query.attitude)
    if query.motion is not None:
        answer = carry(answer, query.motion, query.drift or Drift(), query.settings)
    return answer if answer.frame == query.frame else replace(answer, frame=query.frame)


def outside_map(frame: str) -> Answer:
    """Return the answer for a scan of which every beam is longer than the map is wide."""
    timing = dict.fromkeys(TIMING_STEPS, 0.0)
    return Answer(Verdict.LOST, (Reason.OUTSIDE_MAP,), (), timing, frame=frame)


def carry(answer: Answer, motion: AnyPose, drift: Drift, settings: LocalizationSettings) -> Answer:
    """Return the answer after a motion that no scan has seen."""
    estimates = []
    for one in answer.estimates:
        _, spreads = drift.carry(one.pose.vector[None], one.covariance[None], motion)
        covariance = readonly(spreads[0])
        estimates.append(replace(one, pose=one.pose @ motion, covariance=covariance))
    answer = replace(answer, estimates=tuple(estimates))
    if answer.best is None or answer.verdict is not Verdict.UNIQUE:
        return answer
    std = float(np.sqrt(major_axis(answer.best.covariance)[0]))
    if std <= settings.decision.max_position_std_m:
        return answer
    return demote(answer, (Reason.POSITION_SLIDES,), {"position_std": std})


def preview(
    space: AnyMaps, scan: AnyScan, *, settings: LocalizationSettings | None = None
) -> Answer:
    """Return what the first batch of a search says, a few times as fast as `locate`.

    A place is unique only where `locate` would search no further.  Whether the scan is mirrored or
    of another scale is not tried.
    """
    query = Query.of(space, scan, settings=settings)
    if query.scan is None:
        return outside_map(query.frame)
    compile_kernels(query.space)
    answer = Search(query).first()
    if answer.reasons == (Reason.SEARCH_INCOMPLETE,):
        answer = replace(answer, reasons=(Reason.FIRST_SEARCH_ONLY,))
    return for_user(query, answer)
