"""The verb: where in the atlas was the scan taken?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from isovist.arrays import readonly
from isovist.atlas import AnyScan, Atlas, MultiMap, SearchSpace
from isovist.compute import use_backend
from isovist.errors import InputError
from isovist.localization.answer import Answer, Verdict
from isovist.localization.candidates.map_selection import MapSelection, mark_unsearched_maps
from isovist.localization.decision.judge import decide
from isovist.localization.decision.search_loop import Evaluation, attempt, evaluate, inside
from isovist.localization.fitting.covariance import major_axis
from isovist.localization.fitting.final_fit import refit_answer
from isovist.localization.interpretations.alternative_scans import find_better_alternative
from isovist.localization.interpretations.any_attitude import (
    STEPS,
    check_attitude,
    from_level_robot,
    locate_in_any_attitude,
)
from isovist.localization.interpretations.levelling import resolve_tilt
from isovist.localization.kernels import compile_kernels
from isovist.localization.query.region import Region
from isovist.localization.query.search_space import (
    AnyMaps,
    AnyRegion,
    Regions,
    SearchRegion,
    answer_in_map_frames,
    frame_of,
    search_region,
    search_space_of,
)
from isovist.localization.reasons import Facts, Reason
from isovist.localization.scoring.coarse_to_fine import refine, refit
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.localization.verification.proof import ONLY_2D
from isovist.localization.verification.proof import prove as prove_answer
from isovist.poses import AnyPose
from isovist.renamed import accept_old_names
from isovist.sensing import (
    CloudScan,
    Drift,
    ScanInput,
    ScanSequence,
    join_scans,
    last_scan,
    limit_range,
)
from isovist.settings import checked_settings

ROUNDS = 3
"""So often maps are chosen anew: a better place that is found seldom lets in others."""
LISTED_S = 1.0
"""Time of a complete search where nothing can be proved unique any more, in s."""
PROVED = "A proof is of one map, got {} by name. Prove it on the map of the answer alone."


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

    Search every node and heading, fit the best to the walls, rate them by ray casting, then
    judge: unique, ambiguous or lost.  Unless one place is the only one, almost certainly right, and
    well ahead of whatever was not looked at, all is done once more with ten times as many
    candidates; in space first only what may be as good by where walls stand (`slices`).  Before
    it is called unique, the scan is tried mirrored and at other sizes
    (`twists`).

    Several scans, joined by the motions between them, are located as one (`several`).  The answer
    is the pose at the last.  On several maps the answer says which, too (`maps`).

    Args:
        space: The map, described (`build`), or several by name.
        scan: What the sensor saw: of the plane for a map of the plane, points for one in space;
            or a list of such scans, oldest first.
        motions: Of several scans: the robot at each after the first, in its frame at the one
            before, as odometry tells it.
        drift: How far the motions can be trusted; as for a `Tracker`.
        region: Where the robot may be, at the last scan; everywhere when `None`.  The answer lies
            in it.  Of several maps, regions by name, on the others of which it is not.
        tilt: In space, fit roll and pitch too, in any case; otherwise they are fitted where the
            scan shows that they are not what it tells (`tilts`).
        any_attitude: In space, nobody knows which way is up: the sensor is held in a hand, flies,
            lies on its side or hangs upside down (`attitudes`).
        prove: Fill in `answer.proof`: search the whole map for other places, completely.  In the
            plane, on one map and for one scan only; takes from tenths of a second to `budget_s`.
        budget_s: Seconds after which the proof is given up as not complete; 5, and 1 where the
            answer is not unique, so that other places can only be listed.
        settings: How to locate.
        backend: What computes, "cpu" or "cuda" (maps of the plane); what ISOVIST_BACKEND says when
            `None`.
    """
    with use_backend(backend):
        return _located(
            space, scan, motions, drift, region, tilt, any_attitude, prove, budget_s,
            settings,
        )  # fmt: skip


def _located(
    space: AnyMaps | SearchSpace,
    scan: AnyScan | ScanSequence | Sequence[AnyScan],
    motions: Sequence[AnyPose] | None,
    drift: Drift | None,
    region: AnyRegion,
    tilt: bool,
    any_attitude: bool,
    prove: bool,
    budget_s: float | None,
    settings: LocalizationSettings | None,
) -> Answer:
    known = isinstance(space, SearchSpace | Mapping)
    if not known or not isinstance(scan, AnyScan | ScanSequence | list | tuple):
        raise InputError.about(
            "locate",
            f"needs an atlas and a scan, "
            f"got {type(space).__name__} and {type(scan).__name__}. "
            "`build` makes an atlas of a map, `read_scan` a scan of a file.",
        )
    seen = join_scans(scan, motions, drift)
    site = search_space_of(space)
    held_to = search_region(site, region)
    if budget_s is not None and not budget_s >= 0.0:
        raise InputError.about("budget_s", f"must be a time in s, 0 or more, got {budget_s:g}.")
    if budget_s is not None and not prove:
        raise InputError.about("budget_s", "is the time of a proof; ask for one.", code="conflict")
    site.check(last_scan(seen))
    site.fitted(tilt)
    if tilt and any_attitude:
        raise InputError.about(
            "tilt", "is fitted with `any_attitude` anyway; leave one of them out.", code="conflict"
        )
    if any_attitude:
        check_attitude(site, held_to, motions or ())
        if prove:
            raise InputError(ONLY_2D, code="wrong_dimension", field="prove")
    if prove and isinstance(site, MultiMap):
        raise InputError(PROVED.format(len(site.names)), code="conflict", field="prove")
    if isinstance(seen, ScanSequence):
        _check_several(site, seen, prove)
    chosen = checked_settings(LocalizationSettings, settings)
    frame = frame_of(last_scan(seen))
    held, since = limit_range(seen, site.diagonal)
    if held is None or (since is not None and held_to is not None):
        return outside_map(frame)
    compile_kernels(site, prove=prove)
    known_up = held_to is None and not any_attitude
    choice = MapSelection.of(site, held, chosen) if known_up else None
    whole, turned = True, None
    if choice is not None:
        site, answer, whole = _chosen(choice, held, chosen, tilt)
    if choice is None or isinstance(held, CloudScan):
        maps, as_told = site, None if any_attitude else held

        def look(one: ScanInput, leans: bool) -> Evaluation:
            return Evaluation(maps, one, held_to, chosen, leans)

        def ask(one: ScanInput, leans: bool, first: Evaluation | None) -> Answer:
            answer = (first or look(one, leans)).run()
            return refit_answer(maps, one, answer, held_to, chosen, as_told)

        if any_attitude:
            level = partial(ask, leans=True, first=None)
            answer, held, turned = locate_in_any_attitude(site, held, held_to, level, chosen)
        else:
            answer, held = resolve_tilt(site, held, tilt, ask, look, chosen)
    if choice is not None and not whole:
        assert isinstance(site, MultiMap)
        answer = mark_unsearched_maps(answer, len(site.names), len(choice.order))
    if prove and answer.best is not None and isinstance(site, Atlas):
        assert not isinstance(held_to, Regions)
        answer = _proved(site, last_scan(held), held_to, answer, chosen, tilt, budget_s)
    if answer.verdict is Verdict.UNIQUE:
        answer = _doubted(site, held, answer, held_to, chosen)
    answer = answer_in_map_frames(site, answer)
    if turned is not None:
        answer = from_level_robot(answer, turned)
    if since is not None:
        answer = _carried(answer, since, Drift() if drift is None else drift, chosen)
    return answer if answer.frame == frame else replace(answer, frame=frame)


def _chosen(
    choice: MapSelection, scan: ScanInput, settings: LocalizationSettings, tilt: bool
) -> tuple[SearchSpace, Answer, bool]:
    """The maps of many that must be looked at, the answer, and whether they are all of these."""
    start = perf_counter()
    seen = last_scan(scan)
    answer = Evaluation(choice.part(0.0)[0], scan, None, settings, tilt).first()
    limit = choice.limit(seen, answer, settings)
    for _ in range(ROUNDS):
        (part, left), chosen = choice.part(limit), perf_counter() - start
        answer = evaluate(part, scan, None, settings, tilt)
        limit = choice.limit(seen, answer, settings)
        if limit <= left:
            break
    timing = dict(answer.timing_ms)
    for step in ("search", "total"):
        timing[step] += 1e3 * chosen
    return part, replace(answer, timing_ms=timing), limit <= left


def _check_several(atlas: SearchSpace, scan: ScanSequence, prove: bool) -> None:
    if prove:
        raise InputError(
            "A proof is of one scan, got several. Prove the last one alone.",
            code="conflict",
            field="prove",
        )
    if scan.span > atlas.diagonal:
        raise InputError(
            f"By `motions` the scans lie {scan.span:.1f} m apart, and the map is "
            f"{atlas.diagonal:.1f} m wide. Are the motions in m, each from one scan to the next?",
            field="motions",
        )


def _proved(
    atlas: Atlas,
    scan: AnyScan,
    region: Region | None,
    answer: Answer,
    settings: LocalizationSettings,
    tilt: bool,
    budget_s: float | None,
) -> Answer:
    """The answer with a proof; places that only the complete search found are judged too."""
    start = perf_counter()
    limits = ProofSettings()
    if budget_s is not None:
        limits = replace(limits, seconds=budget_s)
    elif answer.verdict is not Verdict.UNIQUE:
        limits = replace(limits, seconds=LISTED_S)
    found = prove_answer(atlas, scan, answer, region, settings, limits)
    if len(found.competitors):
        new, _ = refine(atlas, scan, found.competitors, settings, tilt=tilt, thorough=True)
        known = [estimate.pose @ scan.T_robot_level for estimate in answer.estimates]
        poses = np.concatenate([np.stack([pose.vector for pose in known]), new.poses])
        fits = refit(atlas, new.beams, poses, settings, tilt=tilt)
        fits = inside(atlas, scan, region, fits)
        again = decide(atlas, scan, fits, settings)
        if answer.verdict is Verdict.UNIQUE or again.verdict is not Verdict.UNIQUE:
            answer = replace(again, timing_ms=answer.timing_ms)
    spent = 1e3 * (perf_counter() - start)
    timing = dict(answer.timing_ms) | {"prove": spent}
    timing["total"] += spent
    return replace(answer, proof=found.proof, timing_ms=timing)


def _doubted(
    atlas: SearchSpace,
    scan: ScanInput,
    answer: Answer,
    region: SearchRegion,
    settings: LocalizationSettings,
) -> Answer:
    """A unique answer, or what is left of it when the scan would fit better twisted."""
    start = perf_counter()
    assert answer.best is not None
    reason, facts = find_better_alternative(atlas, scan, answer.best, region, settings)
    if reason is not None:
        proof = None if answer.proof is None else replace(answer.proof, unique=False)
        facts = {**answer.facts, **facts}
        answer = replace(
            answer, verdict=Verdict.AMBIGUOUS, reasons=(reason,), facts=facts, proof=proof
        )
    timing, spent = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    for step in ("judge", "total"):
        timing[step] += spent
    return replace(answer, timing_ms=timing)


def outside_map(frame: str) -> Answer:
    """Answer a scan of which every beam is longer than the map is wide."""
    timing = dict.fromkeys(STEPS, 0.0)
    return Answer(Verdict.LOST, (Reason.OUTSIDE_MAP,), (), timing, frame=frame)


def _carried(
    answer: Answer, motion: AnyPose, drift: Drift, settings: LocalizationSettings
) -> Answer:
    """The answer at the last scan, which sees nothing, from that at the last one that does."""
    estimates = []
    for one in answer.estimates:
        _, spreads = drift.carry(one.pose.vector[None], one.covariance[None], motion)
        covariance = readonly(spreads[0])
        estimates.append(replace(one, pose=one.pose @ motion, covariance=covariance))
    answer = replace(answer, estimates=tuple(estimates))
    if answer.best is None or answer.verdict is not Verdict.UNIQUE:
        return answer
    std = float(np.sqrt(major_axis(answer.best.covariance)[0]))
    if std <= settings.loose:
        return answer
    facts: Facts = {**answer.facts, "position_std": std}
    slides = (Reason.POSITION_SLIDES,)
    return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=slides, facts=facts)


def preview(
    atlas: AnyMaps, scan: AnyScan, *, settings: LocalizationSettings | None = None
) -> Answer:
    """What `locate` says at first sight, a few times as fast: for a robot that somebody moves.

    A place is called unique only where `locate` would look no closer; that the scan may be mirrored
    or of another size is not tried (`twists`).
    """
    site, chosen = search_space_of(atlas), checked_settings(LocalizationSettings, settings)
    site.check(scan)
    held, frame = scan.within(site.diagonal), frame_of(scan)
    if held is None:
        return outside_map(frame)
    compile_kernels(site)
    answer = attempt(site, held, None, chosen)
    if answer.reasons == (Reason.SEARCH_INCOMPLETE,):
        answer = replace(answer, reasons=(Reason.FIRST_SEARCH_ONLY,))
    return replace(answer_in_map_frames(site, answer), frame=frame)
