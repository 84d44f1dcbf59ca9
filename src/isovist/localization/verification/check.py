"""Check whether a pose explains a scan.

The pose is fitted to the walls from where it is and from a few neighbours.  A coarse search of the
map finds competitors, and the best distinct ones are fitted too (`coarse_search`), on all maps if
there are several.  The fits are judged like those of `locate` (`decision.decide`):

    agrees       the pose fits, and the scan refutes everything else that was tried;
    disagrees    nothing near fits, or the scan refutes the fit by another place;
    cannot tell  the pose fits, but so do others, or it can slide, or the scan sees too little.

The coarse search misses some competitors that a full search finds, most of all on large maps;
`thorough` searches the whole map.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Literal

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, Atlas, MultiMap, SearchSpace
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
from isovist.localization.query.query import Query
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
from isovist.localization.verification.claim import NEAR_FACTOR, Claim, read_claim
from isovist.poses import AnyPose, wrap_angle
from isovist.renamed import accept_old_names
from isovist.sensing import CloudScan, Scan
from isovist.settings import checked_settings

MAX_NEAR_FITS = 3
"""Places around the pose that are fitted with many beams."""
MAX_COMPETITORS = 5
"""Places elsewhere that are fitted with many beams, per map."""
MAX_DEFICIT = 2.0
"""A place is not fitted with many beams if it is this far behind the best with few, in nats per
beam: on six logs this changes no verdict (`benchmarks.check`)."""
MIN_PROBABILITY = 0.995
"""Least probability of a pose that agrees after a coarse search, which may miss a competitor: of
1209 competitors on six logs 5 agree at the usual p_min, and 1 at this (`benchmarks.check`)."""

Agreement = Literal["agrees", "disagrees", "cannot tell"]


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """The result of checking a pose.

    Attributes:
        verdict: "agrees", "disagrees" or "cannot tell".
        reasons: The reasons of the verdict, the decisive one first.
        pose: The pose that was checked, T_world_robot.
        fit: The place near it that explains the scan best, or `None` if nothing near fits.
        rivals: Other places that the scan does not refute, the most likely first.  If it refutes
            the fit, these are the places that do better.  The search for them is left out if the
            scan fits near the pose and not at it.
        inliers: Share of the beams that the pose explains as it stands.
        score: Mean log-likelihood ratio per beam at the pose as it stands, in nats.
        timing_ms: Milliseconds in `total`.
        frame: The frame of the poses, as in `Answer`.
        map: Name of the map of the pose if there are several; else `None`.
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
        """Distance in m and rotation in rad to the fit; `None` if nothing near fits."""
        return None if self.fit is None else pose_gap(self.pose, self.fit.pose)


def pose_gap(a: AnyPose, b: AnyPose) -> tuple[float, float]:
    """Return the distance in m, in 3D with height, and the rotation about the vertical in rad."""
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
    """Check a pose that comes from elsewhere, such as another localizer.

    A pose is right within 0.5 m and 10° (`same_place` of the settings), or within the 99 %
    ellipsoid of its covariance and that of the fit together, if this is larger.

    Args:
        space: The atlas of the map (`build`), or several by name.
        scan: The scan: 2D for a 2D map, points for a 3D map.
        pose: T_world_robot to check; a `Pose3` on a 3D map.
        covariance: Covariance of (x, y, yaw) of the pose, in m and rad, shape (3, 3).
        map: Name of the map of the pose, if there are several.
        thorough: Search the whole map for competitors, as `locate` does.
        settings: Settings of localization.
    """
    if not isinstance(space, Atlas | Mapping) or not isinstance(scan, Scan | CloudScan):
        raise InputError.about(
            "check",
            f"needs an atlas and a scan, "
            f"got {type(space).__name__} and {type(scan).__name__}. "
            "`build` makes an atlas of a map, `read_scan` a scan of a file.",
        )
    search_space = search_space_of(space)
    claim = read_claim(search_space, scan, pose, covariance, map)
    settings = checked_settings(LocalizationSettings, settings)
    if not thorough:
        probability = max(settings.decision.min_probability, MIN_PROBABILITY)
        settings = settings.with_values({"decision.min_probability": probability})
    frame, scan_in_range = frame_of(scan), scan.within(search_space.diagonal)
    if scan_in_range is None:
        reasons = (Reason.OUTSIDE_MAP,)
        timing = {"total": 0.0}
        return Check("disagrees", reasons, pose, None, (), 0.0, -np.inf, timing, frame, claim.map)
    compile_kernels(search_space)
    start = perf_counter()
    is_short = isinstance(search_space, Atlas) and search_space.dimension == 2 and not thorough
    with single_threaded() if is_short else nullcontext():
        result, stated = _PoseCheck(search_space, scan_in_range, claim, settings, thorough).run()
    return Check(
        result.verdict, result.reasons, pose, result.fit,
        result.rivals[: settings.decision.max_estimates],
        float(stated.inliers[0]), float(stated.scores[0]),
        {"total": 1e3 * (perf_counter() - start)}, frame, claim.map, result.facts,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """The verdict on a claim, with the fields of `Check`."""

    verdict: Agreement
    reasons: tuple[Reason, ...]
    fit: Estimate | None
    rivals: tuple[Estimate, ...]
    facts: Facts


class _PoseCheck:
    """The check of one claim.

    Args:
        space: The map, or several.
        scan: The scan.
        claim: The claimed pose.
        settings: Settings of localization.
        thorough: Whether to search the whole map for competitors.
    """

    def __init__(
        self,
        space: SearchSpace,
        scan: AnyScan,
        claim: Claim,
        settings: LocalizationSettings,
        thorough: bool,
    ) -> None:
        self._space, self._scan, self._claim = space, scan, claim
        self._settings, self._thorough = settings, thorough
        self._coarse_beams, self._beams = (
            space.beams(scan, thinning, settings.scoring.group)
            for thinning in (settings.fit.coarse_beams, settings.fit.fine_beams)
        )

    def run(self) -> tuple[_Comparison, Fits]:
        """Return the verdict, and the claimed pose as it stands, scored."""
        fits, stated = self._fit_near()
        comparison = self._judge(fits, nearby=False)
        if comparison.verdict != "disagrees" or comparison.fit is None or self._thorough:
            fits = self._add_competitors(fits)
            comparison = self._judge(fits, nearby=False)
        # Better poses near the fits seldom decide an open case, and take the longest to find.
        settings = self._settings
        contenders = within_margin(log_likelihoods(fits.summaries, settings), settings)
        if comparison.verdict != "cannot tell" and len(contenders) > 1:
            comparison = self._judge(fits, nearby=True)
        return comparison, stated

    def _fit_near(self) -> tuple[Fits, Fits]:
        """Return fits from the pose and its neighbours, best first, and the pose as it stands."""
        space, settings, claim = self._space, self._settings, self._claim
        sensor = (claim.in_space(space) @ self._scan.T_robot_level).vector
        neighbours = claim.neighbours(sensor, settings, space.diagonal)
        poses, _ = self._fit_coarsely(neighbours)
        poses = poses[distinct_indices(poses, *settings.fit.separation, MAX_NEAR_FITS)]
        fits = self._fit_finely(np.concatenate([sensor[None], poses]))
        ratings, kinds = space.rate(self._beams, sensor[None], settings.model)
        stated = Fits(fits.fit.select(np.arange(1)), self._beams, ratings, kinds)
        return fits.select(distinct_indices(fits.poses, *settings.decision.same_place)), stated

    def _add_competitors(self, fits: Fits) -> Fits:
        """Return fits with those of competitors, best first."""
        space, settings, near = self._space, self._settings, len(fits)
        if self._thorough:
            candidates = find_candidates(space, self._scan, None, settings).poses
            max_count = settings.share(space, settings.fit.first_refined)
        else:
            candidates = coarse_candidates(space, self._scan, settings)
            maps = len(space.names) if isinstance(space, MultiMap) else 1
            max_count = near + MAX_COMPETITORS * maps
        poses, scores = self._fit_coarsely(np.concatenate([fits.poses, candidates]), near)
        index = distinct_indices(poses, *settings.fit.separation, max_count)
        index = index[(index >= near) & (scores[index] >= scores.max() - MAX_DEFICIT)]
        fits = fits.merge(self._fit_finely(poses[index]))
        return fits.select(distinct_indices(fits.poses, *settings.decision.same_place))

    def _fit_coarsely(self, poses: FloatArray, first: int = 0) -> tuple[FloatArray, FloatArray]:
        """Fit poses from the index `first` on with few beams, and sort these by score.

        Returns:
            All poses, shape (K, D), and their mean ratings in nats, shape (K,).
        """
        space, beams, settings = self._space, self._coarse_beams, self._settings
        fitted = space.fit(beams, poses[first:], settings.coarse_widths(space), 3).poses
        poses = np.concatenate([poses[:first], fitted])
        scores = space.rate(beams, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
        ranking = first + np.argsort(-scores[first:], kind="stable")
        order = np.append(np.arange(first), ranking)
        return poses[order], scores[order]

    def _fit_finely(self, poses: FloatArray) -> Fits:
        return refit(self._space, self._beams, poses, self._settings, tilt=False)

    def _judge(self, fits: Fits, *, nearby: bool) -> _Comparison:
        """Compare the claim with the decision on some fits."""
        space, scan, settings = self._space, self._scan, self._settings
        count = max(settings.decision.max_estimates, len(fits))
        all_listed = settings.with_values({"decision.max_estimates": count})
        answer = decide(space, scan, fits, all_listed, nearby=nearby)
        estimates = self._estimates_to_compare(answer.estimates)
        query = Query(space, scan, None, settings)
        answer = replace(answer, estimates=refit_estimates(query, estimates))
        return _compare(answer_in_map_frames(space, answer), self._claim, settings)

    def _estimates_to_compare(self, estimates: Sequence[Estimate]) -> Sequence[Estimate]:
        """Return the most likely estimates, and all near the claim."""
        settings, pose = self._settings, self._claim.in_space(self._space)
        gaps = [pose_gap(pose, estimate.pose) for estimate in estimates]
        max_distance, max_turn = (NEAR_FACTOR * limit for limit in settings.decision.same_place)
        return [
            estimate
            for k, (estimate, (distance, turn)) in enumerate(zip(estimates, gaps, strict=True))
            if k < settings.decision.max_estimates
            or (distance <= max_distance and turn <= max_turn)
        ]


def _compare(answer: Answer, claim: Claim, settings: LocalizationSettings) -> _Comparison:
    """Compare a claim with the answer of the decision."""
    estimates, facts = answer.estimates, answer.facts
    is_same, is_near = claim.matches(estimates, settings)
    is_right = is_same & ~np.array([e.refuted for e in estimates])
    index = np.flatnonzero(is_right if is_right.any() else is_same | is_near)[:1]
    fit = estimates[index[0]] if index.size else None
    rivals = tuple(e for e in estimates if e is not fit and not e.refuted)
    if answer.verdict is Verdict.LOST:
        return _Comparison("disagrees", answer.reasons, fit, (), facts)
    if fit is None:
        return _Comparison("disagrees", (Reason.NO_FIT_NEARBY,), fit, rivals, facts)
    if fit.refuted:
        facts = {**facts, "place": _place_text(estimates[0])}
        return _Comparison("disagrees", (Reason.BETTER_ELSEWHERE,), fit, rivals, facts)
    if not is_same[index[0]]:
        distance, turn = pose_gap(claim.pose, fit.pose)
        facts = {**facts, "distance": distance, "rotation": turn}
        return _Comparison("disagrees", (Reason.FIT_DISPLACED,), fit, rivals, facts)
    if answer.verdict is Verdict.UNIQUE:
        return _Comparison("agrees", (Reason.POSE_CONFIRMED,), fit, rivals, facts)
    return _Comparison("cannot tell", answer.reasons, fit, rivals, facts)


def _place_text(estimate: Estimate) -> str:
    """Return the pose of an estimate in words, with its map if there are several."""
    pose, place = estimate.pose, f"on {estimate.map}, " if estimate.map else ""
    return f"{place}x {pose.x:.2f} m, y {pose.y:.2f} m, yaw {np.degrees(pose.yaw):.1f}°"
