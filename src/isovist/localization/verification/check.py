"""Is this pose the explanation of the scan?  A judge for anybody's pose.

The pose is fitted to the walls from where it is and from a handful of neighbours, and a glance at
the map looks for rivals, the unlike best of which are fitted too (`glance`); those on other maps
count as well, where several are asked.  What comes of it is judged as an answer of `locate` is
(`judge`):

    agrees       the place that fits is the pose, and everything else that was tried is refuted;
    disagrees    nothing that fits is near, or the scan excludes what is against another place;
    cannot tell  it fits, but so do others, or it can slide, or the scan sees too little.

A glance misses rivals that a search would find, most of all on large maps; `thorough` searches.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Literal

import numpy as np

from isovist.arrays import BoolArray, FloatArray, as_floats
from isovist.atlas import FARTHEST, AnyScan, Atlas, Beams, MultiMap, SearchSpace
from isovist.compute import single_threaded
from isovist.errors import InputError
from isovist.localization.advice import advice
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.candidates.coarse_search import coarse_candidates
from isovist.localization.candidates.map_streams import find_candidates
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.decision.decide import decide
from isovist.localization.fitting.final_fit import refit_estimates
from isovist.localization.kernels import compile_kernels
from isovist.localization.query.search_space import (
    AnyMaps,
    answer_in_map_frames,
    frame_of,
    search_space_of,
)
from isovist.localization.reasons import Facts, Reason
from isovist.localization.scoring.coarse_to_fine import refit
from isovist.localization.scoring.hypotheses import Fits, log_likelihoods
from isovist.localization.scoring.likelihood_climb import within_margin
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose, Pose3, wrap_angle
from isovist.renamed import accept_old_names
from isovist.sensing import CloudScan, Scan
from isovist.settings import checked_settings

KEPT = (3, 5)
"""Places that are fitted with many beams: around the pose, and elsewhere on each map."""
HOPELESS = 2.0
"""Places so far behind the best by few beams, in nats per beam, are not fitted with many: on six
logs no verdict is another one than without this (`benchmarks.check`)."""
SURE = 0.995
"""Least probability of a pose that agrees after a glance, which may miss a rival: of 1209 rivals on
six logs 5 agree at the p_min of `judge`, and 1 at this (`benchmarks.check`)."""
INSIDE = 11.345
"""99 % quantile of χ² with three degrees of freedom."""
REACH = 3.0
"""What fits within so many times the `same` of the settings is where the pose was pulled to."""

Agreement = Literal["agrees", "disagrees", "cannot tell"]


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Whether a pose explains a scan.

    Attributes:
        verdict: "agrees", "disagrees" or "cannot tell".
        reasons: Why, the one that decides first.
        pose: T_world_robot that was asked about.
        fit: The place near it that explains the scan best, or `None` where nothing near was found.
        rivals: Other places that the scan does not exclude, most likely first; where the fit is
            excluded, those that do better.  None are looked for where the scan fits near the pose
            and not at it.
        inliers: Share of the beams that the pose explains as it stands.
        score: Mean log-likelihood ratio of a beam at the pose as it stands, in nats.
        timing_ms: Milliseconds in `total`.
        frame: What the poses are of, as in `Answer`.
        map: Name of the map of the pose, where several were asked; else `None`.
        facts: Numbers that the reasons rest on.
    """

    verdict: Agreement
    reasons: tuple[Reason, ...]
    pose: AnyPose
    fit: Estimate | None
    rivals: tuple[Estimate, ...]
    inliers: float
    score: float
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    frame: str = "sensor"
    map: str | None = None
    facts: Facts = field(default_factory=Facts)

    @property
    def advice(self) -> str:
        """The verdict in words."""
        return advice(self.reasons, self.facts)

    @property
    def moved(self) -> tuple[float, float] | None:
        """How far the scan pulls the pose, in m and rad; `None` where nothing near fits."""
        return None if self.fit is None else gap_of(self.pose, self.fit.pose)


def gap_of(a: AnyPose, b: AnyPose) -> tuple[float, float]:
    """Distance, in space with height, and turn about the vertical, in m and rad."""
    return float(np.linalg.norm(b.position - a.position)), abs(float(wrap_angle(b.yaw - a.yaw)))


@accept_old_names
def check(
    space: AnyMaps,
    scan: AnyScan,
    pose: AnyPose,
    covariance: FloatArray | None = None,
    *,
    map: str | None = None,
    thorough: bool = False,
    settings: LocalizationSettings | None = None,
) -> Check:
    """Judge a pose that somebody else gave.

    A pose is right within 0.5 m and 10° (`same` of the settings), or within the 99 % ellipsoid of
    its covariance together with that of the fit, where this is wider.

    Args:
        space: The map, described (`build`), or several by name.
        scan: What the sensor saw: of the plane for a map of the plane, points for one in space.
        pose: T_world_robot that is claimed; a `Pose3` in space.
        covariance: Of (x, y, yaw) of that claim, in m and rad, shape (3, 3).
        map: Name of the map that the pose is of, where there are several.
        thorough: Search the whole map for rivals, as `locate` does, instead of a glance.
        settings: How to locate.
    """
    if not isinstance(space, Atlas | Mapping) or not isinstance(scan, Scan | CloudScan):
        raise InputError.about(
            "check",
            f"needs an atlas and a scan, "
            f"got {type(space).__name__} and {type(scan).__name__}. "
            "`build` makes an atlas of a map, `read_scan` a scan of a file.",
        )
    site = search_space_of(space)
    map = _named(site, map)
    spread = _checked(site, scan, pose, covariance)
    chosen = checked_settings(LocalizationSettings, settings)
    if not thorough:
        beta, none, least = chosen.sure
        chosen = replace(chosen, sure=(beta, none, max(least, SURE)))
    frame, held = frame_of(scan), scan.within(site.diagonal)
    if held is None:
        outside = (Reason.OUTSIDE_MAP,)
        return Check("disagrees", outside, pose, None, (), 0.0, -np.inf, {"total": 0.0}, frame, map)
    compile_kernels(site)
    start = perf_counter()
    here = site.to_common(map, pose) if isinstance(site, MultiMap) and map is not None else pose
    stated = (here @ held.T_robot_level).vector
    claim = _Claim(pose, stated, spread, map)
    short = isinstance(site, Atlas) and site.dimension == 2 and not thorough
    with single_threaded() if short else nullcontext():
        compared, stands = _judged(site, held, claim, chosen, thorough)
    return Check(
        compared.verdict, compared.reasons, pose, compared.fit, compared.rivals[: chosen.listed],
        float(stands.inliers[0]), float(stands.scores[0]),
        {"total": 1e3 * (perf_counter() - start)}, frame, map, compared.facts,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """What comes of comparing a claim with what was judged."""

    verdict: Agreement
    reasons: tuple[Reason, ...]
    fit: Estimate | None
    rivals: tuple[Estimate, ...]
    facts: Facts


@dataclass(frozen=True, slots=True, eq=False)
class _Claim:
    """A pose of the robot, the same of the sensor, shape (D,), its covariance, and its map."""

    pose: AnyPose
    stated: FloatArray
    spread: FloatArray
    map: str | None


def _judged(
    site: SearchSpace, scan: AnyScan, claim: _Claim, settings: LocalizationSettings, thorough: bool
) -> tuple[_Compared, Fits]:
    """Return what comes of the comparison, and the pose as it stands."""
    few, many = (site.beams(scan, thin, settings.block) for thin in settings.beams)
    fits, stands = _fitted(site, few, many, claim, settings)

    def judged(nearby: bool) -> _Compared:
        every = replace(settings, listed=max(settings.listed, len(fits)))
        answer = decide(site, scan, fits, every, nearby=nearby)
        listed = _listed(site, answer.estimates, claim, settings)
        answer = replace(answer, estimates=refit_estimates(site, scan, listed, None, settings))
        return _compared(answer_in_map_frames(site, answer), claim, settings)

    compared = judged(nearby=False)
    if compared.verdict != "disagrees" or compared.fit is None or thorough:
        found = (
            find_candidates(site, scan, None, settings).poses
            if thorough
            else coarse_candidates(site, scan, settings)
        )
        fits = _with(site, few, many, fits, found, settings, thorough)
        compared = judged(nearby=False)
    # What places gain nearby seldom settles what their fits leave open, and takes longest.
    contenders = within_margin(log_likelihoods(fits.summaries, settings), settings)
    if compared.verdict != "cannot tell" and len(contenders) > 1:
        compared = judged(nearby=True)
    return compared, stands


def _listed(
    site: SearchSpace, estimates: Sequence[Estimate], claim: _Claim, settings: LocalizationSettings
) -> Sequence[Estimate]:
    """Keep the likeliest estimates, and those near the claim however many are likelier."""
    pose = claim.pose
    if isinstance(site, MultiMap) and claim.map is not None:
        pose = site.to_common(claim.map, pose)
    gaps = [gap_of(pose, estimate.pose) for estimate in estimates]
    metres, radians = (REACH * limit for limit in settings.same)
    return [
        estimate
        for k, (estimate, (gap, turn)) in enumerate(zip(estimates, gaps, strict=True))
        if k < settings.listed or (gap <= metres and turn <= radians)
    ]


def _named(site: SearchSpace, name: str | None) -> str | None:
    """The map that a pose is of, `None` where there is one; an error where that is open."""
    if not isinstance(site, MultiMap):
        if name is not None:
            raise InputError.about(
                "map", f"is for several maps, and there is one; got {name!r}.", code="conflict"
            )
        return None
    if name not in site.names:
        known = ", ".join(repr(known) for known in site.names)
        raise InputError.about(
            "map", f"must say which map the pose is of, one of {known}, got {name!r}."
        )
    return name


def _checked(
    site: SearchSpace, scan: AnyScan, pose: AnyPose, covariance: FloatArray | None
) -> FloatArray:
    """The covariance of a claim, 0 where none is told; an error when something is not in order."""
    site.check(scan)
    kind = Pose if site.dimension == 2 else Pose3
    if not isinstance(pose, kind):
        where = "in the plane" if site.dimension == 2 else "in space"
        raise InputError.about(
            "pose", f"must be a {kind.__name__} {where}, got {type(pose).__name__}."
        )
    if pose.shape != ():
        raise InputError.about("pose", f"must be one pose, got an array of shape {pose.shape}.")
    if not np.isfinite(pose.vector).all():
        raise InputError.about("pose", f"must be finite, got {pose}.")
    if not np.abs(pose.position).max() <= FARTHEST:
        raise InputError.about("pose", f"must lie within {FARTHEST:g} m of the origin, got {pose}.")
    if covariance is None:
        return np.zeros((3, 3))
    spread = as_floats("covariance", covariance, (3, 3))
    if not np.allclose(spread, spread.T) or np.linalg.eigvalsh(spread)[0] < -1e-12:
        raise InputError.about(
            "covariance", "must be symmetric and not negative, of (x, y, yaw) in m and rad."
        )
    return spread


def _neighbours(claim: _Claim, settings: LocalizationSettings, farthest: float) -> FloatArray:
    """Steps from a pose to where fits begin, shape (7, D): ahead, back, aside and turned.

    As wide as what counts as the same place, and wider where the claim is, but not beyond
    `farthest`, in m.
    """
    near, turned = settings.same
    values, axes = np.linalg.eigh(claim.spread[:2, :2])
    steps = np.zeros((7, len(claim.stated)))
    for k in range(2):
        reach = min(max(near, 2.0 * float(np.sqrt(max(values[k], 0.0)))), farthest)
        steps[1 + k, :2], steps[3 + k, :2] = reach * axes[:, k], -reach * axes[:, k]
    turn = min(max(turned, 2.0 * float(np.sqrt(max(claim.spread[2, 2], 0.0)))), 0.5 * np.pi)
    steps[5, 2], steps[6, 2] = turn, -turn
    return steps


def _fitted(
    site: SearchSpace, few: Beams, many: Beams, claim: _Claim, settings: LocalizationSettings
) -> tuple[Fits, Fits]:
    """Fits from the pose itself and from around it, best first, and the pose as it stands."""
    poses, _ = _by_few(
        site, few, claim.stated + _neighbours(claim, settings, site.diagonal), settings
    )
    poses = poses[distinct_indices(poses, *settings.apart[1], KEPT[0])]
    stated = claim.stated[None]
    fits = refit(site, many, np.concatenate([stated, poses]), settings, tilt=False)
    ratings, kinds = site.rate(many, stated, settings.model)
    stands = Fits(fits.fit.select(np.arange(1)), many, ratings, kinds)
    return fits.select(distinct_indices(fits.poses, *settings.same)), stands


def _with(
    site: SearchSpace,
    few: Beams,
    many: Beams,
    fits: Fits,
    found: FloatArray,
    settings: LocalizationSettings,
    thorough: bool,
) -> Fits:
    """These fits and those from elsewhere, best first."""
    near = len(fits)
    poses, scores = _by_few(site, few, np.concatenate([fits.poses, found]), settings, near)
    maps = len(site.names) if isinstance(site, MultiMap) else 1
    most = near + KEPT[1] * maps
    most = settings.share(site, settings.keep[0][1]) if thorough else most
    tried = distinct_indices(poses, *settings.apart[1], most)
    tried = tried[(tried >= near) & (scores[tried] >= scores.max() - HOPELESS)]
    fits = fits.merge(refit(site, many, poses[tried], settings, tilt=False))
    return fits.select(distinct_indices(fits.poses, *settings.same))


def _by_few(
    site: SearchSpace, few: Beams, seeds: FloatArray, settings: LocalizationSettings, kept: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Seeds after the `kept` first, fitted with few beams, best first, and the scores of all."""
    fitted = site.fit(few, seeds[kept:], settings.coarse_widths(site), 3).poses
    poses = np.concatenate([seeds[:kept], fitted])
    scores = site.rate(few, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
    order = np.append(np.arange(kept), kept + np.argsort(-scores[kept:], kind="stable"))
    return poses[order], scores[order]


def _compared(answer: Answer, claim: _Claim, settings: LocalizationSettings) -> _Compared:
    """Compare the claim with what was judged."""
    estimates = answer.estimates
    own = np.array([estimate.map == claim.map for estimate in estimates])
    here, near = (own & part for part in _places(estimates, claim, settings))
    right = here & ~np.array([e.refuted for e in estimates])
    first = np.flatnonzero(right if right.any() else here | near)[:1]
    fit = estimates[first[0]] if first.size else None
    alive = tuple(e for e in estimates if e is not fit and not e.refuted)
    facts = answer.facts
    if answer.verdict is Verdict.LOST:
        return _Compared("disagrees", answer.reasons, fit, (), facts)
    if fit is None:
        return _Compared("disagrees", (Reason.NO_FIT_NEARBY,), fit, alive, facts)
    if fit.refuted:
        place = _place(estimates[0])
        reasons = (Reason.BETTER_ELSEWHERE,)
        return _Compared("disagrees", reasons, fit, alive, {**facts, "place": place})
    if not here[first[0]]:
        away, turn = gap_of(claim.pose, fit.pose)
        facts = {**facts, "distance": away, "rotation": turn}
        return _Compared("disagrees", (Reason.FIT_DISPLACED,), fit, alive, facts)
    if answer.verdict is Verdict.UNIQUE:
        return _Compared("agrees", (Reason.POSE_CONFIRMED,), fit, alive, facts)
    return _Compared("cannot tell", answer.reasons, fit, alive, facts)


def _place(estimate: Estimate) -> str:
    """Name a place: its map, where there are several, and its pose."""
    pose, where = estimate.pose, f"on {estimate.map}, " if estimate.map else ""
    return f"{where}x {pose.x:.2f} m, y {pose.y:.2f} m, yaw {np.degrees(pose.yaw):.1f}°"


def _places(
    estimates: Sequence[Estimate], claim: _Claim, settings: LocalizationSettings
) -> tuple[BoolArray, BoolArray]:
    """Which estimates are the pose, as far as both can err, and which are near it; shape (K,)."""
    d = np.array([e.pose.vector[:3] for e in estimates]) - claim.pose.vector[:3]
    d[:, 2] = wrap_angle(d[:, 2])
    away, turn = np.hypot(d[:, 0], d[:, 1]), np.abs(d[:, 2])
    same, turned = settings.same
    P = np.array([e.covariance[:3, :3] for e in estimates]) + claim.spread
    inside = (d * np.linalg.solve(P, d[:, :, None])[:, :, 0]).sum(axis=1) <= INSIDE
    here = inside | ((away <= same) & (turn <= turned))
    near = (away <= REACH * same) & (turn <= REACH * turned)
    explains = np.array([e.score for e in estimates]) >= settings.poor[0]
    return here & explains, near & explains
