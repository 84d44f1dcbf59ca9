"""Is this pose the explanation of the scan?  A judge for anybody's pose.

The pose is fitted to the walls from where it is and from a handful of neighbours, and a glance at
the map looks for rivals: every so manieth node at half the channels, the unlike best of which are
fitted too.  What comes of it is judged as an answer of `locate` is (`judge`):

    agrees       the place that fits is the pose, and everything else that was tried is refuted;
    disagrees    nothing that fits is near, or the scan excludes what is against another place;
    cannot tell  it fits, but so do others, or it can slide, or the scan sees too little.

A glance misses rivals that a search would find, most of all on large maps; `thorough` searches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

import numpy as np

from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.settings import checked_settings
from isovist.errors import InputError
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.contrast import rate_at
from isovist.localization.judge import judge
from isovist.localization.locate import OUTSIDE, compile_kernels, frame_of
from isovist.localization.refine import Fits
from isovist.localization.search import best_headings, search, unlike
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose, Pose3, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.types import BoolArray, FloatArray, as_floats

GLANCES = (2000, 6)
"""Rings of nodes that a glance looks at, and least share on large maps: of 3000 and 2000 both miss
as few rivals on the six logs (`benchmarks.check`), of one in 8 and in 6 the latter halves them."""
RIVALS = 24
"""Candidates of a glance that are fitted with few beams."""
GLIMPSED = 500
"""Cheapest places of a glance among which those are chosen, none alike another."""
KEPT = (3, 8)
"""Places that are fitted with many beams: around the pose, and in all."""
INSIDE = 11.345
"""99 % quantile of χ² with three degrees of freedom."""
REACH = 3.0
"""What fits within so many times the `same` of the settings is where the pose was pulled to."""

AGREES = "The pose explains the scan, and no other place that was tried comes near."
NOTHING = (
    "Nothing explains the scan: at best {:.0%} of the beams end at a wall. Check that the "
    "map is of this place and up to date."
)
NOT_HERE = "Nothing near the pose explains the scan."
PULLED = "The scan does not fit here; it does {:.2f} m and {:.1f}° from the pose."
BETTER = "Another place explains the scan better: x {:.2f} m, y {:.2f} m, yaw {:.1f}°."

Agreement = Literal["agrees", "disagrees", "cannot tell"]


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Whether a pose explains a scan.

    Attributes:
        verdict: "agrees", "disagrees" or "cannot tell".
        advice: The verdict in words.
        pose: T_world_robot that was asked about.
        fit: The place near it that explains the scan best, or `None` where nothing near was found.
        rivals: Other places that the scan does not exclude, most likely first; where the fit is
            excluded, those that do better.
        inliers: Share of the beams that the pose explains as it stands.
        score: Mean log-likelihood ratio of a beam at the pose as it stands, in nats.
        timing_ms: Milliseconds in `total`.
        frame: What the poses are of, as in `Answer`.
    """

    verdict: Agreement
    advice: str
    pose: AnyPose
    fit: Estimate | None
    rivals: tuple[Estimate, ...]
    inliers: float
    score: float
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    frame: str = "sensor"

    @property
    def moved(self) -> tuple[float, float] | None:
        """How far the scan pulls the pose, in m and rad; `None` where nothing near fits."""
        return None if self.fit is None else gap_of(self.pose, self.fit.pose)


def gap_of(a: AnyPose, b: AnyPose) -> tuple[float, float]:
    """Distance, in space with height, and turn about the vertical, in m and rad."""
    return float(np.linalg.norm(b.position - a.position)), abs(float(wrap_angle(b.yaw - a.yaw)))


def check(
    atlas: Atlas,
    scan: AnyScan,
    pose: AnyPose,
    covariance: FloatArray | None = None,
    *,
    thorough: bool = False,
    settings: LocalizationSettings | None = None,
) -> Check:
    """Judge a pose that somebody else gave.

    A pose is right within 0.5 m and 10° (`same` of the settings), or within the 99 % ellipsoid of
    its covariance together with that of the fit, where this is wider.

    Args:
        atlas: The map, described (`build`).
        scan: What the sensor saw: of the plane for a map of the plane, points for one in space.
        pose: T_world_robot that is claimed; a `Pose3` in space.
        covariance: Of (x, y, yaw) of that claim, in m and rad, shape (3, 3).
        thorough: Search the whole map for rivals, as `locate` does, instead of a glance.
        settings: How to locate.
    """
    spread = _checked(atlas, scan, pose, covariance)
    chosen = checked_settings(LocalizationSettings, settings)
    frame, held = frame_of(scan), scan.within(atlas.diagonal)
    if held is None:
        return Check("disagrees", OUTSIDE, pose, None, (), 0.0, -np.inf, {"total": 0.0}, frame)
    compile_kernels(atlas)
    start = perf_counter()
    stated = (pose @ held.T_level_robot.inverse).vector
    around = stated + _neighbours(stated, spread, chosen)
    found = search(atlas, held, None, chosen).poses if thorough else _glance(atlas, held, chosen)
    fits = _fitted(atlas, held, stated, around, found, chosen, thorough)
    answer = judge(atlas, held, fits, chosen)
    ratings, kinds = rate_at(atlas, held, fits.beams, [pose], chosen)
    as_it_stands = Fits(fits.fit.select(np.arange(1)), fits.beams, ratings, kinds)
    verdict, advice, fit, rivals = _compared(answer, pose, spread, chosen)
    return Check(
        verdict, advice + atlas.note(held), pose, fit, rivals,
        float(as_it_stands.inliers[0]), float(as_it_stands.scores[0]),
        {"total": 1e3 * (perf_counter() - start)}, frame,
    )  # fmt: skip


def _checked(
    atlas: Atlas, scan: AnyScan, pose: AnyPose, covariance: FloatArray | None
) -> FloatArray:
    """The covariance of a claim, 0 where none is told; an error when something is not in order."""
    if not isinstance(atlas, Atlas) or not isinstance(scan, Scan | CloudScan):
        raise InputError(
            f"`check` needs an atlas and a scan, "
            f"got {type(atlas).__name__} and {type(scan).__name__}. "
            "`build` makes an atlas of a map, `read_scan` a scan of a file."
        )
    atlas.check(scan)
    kind = Pose if atlas.dimension == 2 else Pose3
    if not isinstance(pose, kind):
        where = "in the plane" if atlas.dimension == 2 else "in space"
        raise InputError(f"`pose` must be a {kind.__name__} {where}, got {type(pose).__name__}.")
    if pose.shape != ():
        raise InputError(f"`pose` must be one pose, got an array of shape {pose.shape}.")
    if not np.isfinite(pose.vector).all():
        raise InputError(f"`pose` must be finite, got {pose}.")
    if covariance is None:
        return np.zeros((3, 3))
    spread = as_floats("covariance", covariance, (3, 3))
    if not np.allclose(spread, spread.T) or np.linalg.eigvalsh(spread)[0] < -1e-12:
        raise InputError(
            "`covariance` must be symmetric and not negative, of (x, y, yaw) in m and rad."
        )
    return spread


def _neighbours(
    stated: FloatArray, spread: FloatArray, settings: LocalizationSettings
) -> FloatArray:
    """Steps from a pose to where fits begin, shape (7, D): ahead, back, aside and turned.

    As wide as what counts as the same place, and wider where the claim is.
    """
    near, turned = settings.same
    values, axes = np.linalg.eigh(spread[:2, :2])
    steps = np.zeros((7, len(stated)))
    for k in range(2):
        reach = max(near, 2.0 * float(np.sqrt(max(values[k], 0.0))))
        steps[1 + k, :2], steps[3 + k, :2] = reach * axes[:, k], -reach * axes[:, k]
    turn = min(max(turned, 2.0 * float(np.sqrt(max(spread[2, 2], 0.0)))), 0.5 * np.pi)
    steps[5, 2], steps[6, 2] = turn, -turn
    return steps


def _glance(atlas: Atlas, scan: AnyScan, settings: LocalizationSettings) -> FloatArray:
    """The unlike best of a look at some nodes, half the channels and half the headings."""
    window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
    rough = window.seen[:1].copy()
    rough[:, :, 1::2] = False
    if not rough.any():
        return atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
    n, rings = atlas.settings.channels, window.seen.shape[1]
    enough, sparsest = GLANCES
    step = min(sparsest, -(-len(atlas.nodes) * rings // enough))
    active = np.arange(0, len(atlas.nodes), step)
    nodes = atlas.descriptors[:, window.ring : window.ring + rings]
    costs, headings = best_headings(
        nodes, active, window.values[:1], rough, np.ones(n, dtype=np.bool_), 2, settings.short
    )
    flat = costs.ravel()
    few = min(GLIMPSED, flat.size)
    some = np.sort(np.argpartition(flat, few - 1)[:few])
    best = some[np.argsort(flat[some], kind="stable")]
    best = best[np.isfinite(flat[best])]
    yaws = 2.0 * np.pi * (headings.ravel()[best] - window.first) / n + atlas.heading
    poses = atlas.seeds(active[best // 2], yaws)
    return poses[unlike(poses, *settings.candidates_apart(atlas), RIVALS)]


def _fitted(
    atlas: Atlas,
    scan: AnyScan,
    stated: FloatArray,
    around: FloatArray,
    found: FloatArray,
    settings: LocalizationSettings,
    thorough: bool,
) -> Fits:
    """Fits from the pose itself, from around it and from elsewhere, best first."""
    few = atlas.beams(scan, settings.beams[0], settings.block)
    many = atlas.beams(scan, settings.beams[1], settings.block)
    seeds = np.concatenate([around, found])
    poses = atlas.fit(few, seeds, settings.coarse_widths(atlas), 3).poses
    scores = atlas.rate(few, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
    near, far = np.split(np.arange(len(poses)), [len(around)])
    near, far = (part[np.argsort(-scores[part], kind="stable")] for part in (near, far))
    local, most = KEPT
    kept = poses[near][unlike(poses[near], *settings.apart[1], local)]
    tried = np.concatenate([stated[None], kept, poses[far]])
    most = settings.share(atlas, settings.keep[0][1]) if thorough else most
    tried = np.concatenate([tried[:1], tried[1:][unlike(tried[1:], *settings.apart[1], most)]])
    fit = atlas.fit(many, tried, settings.fine_widths(atlas), atlas.fitted(False))
    fits = Fits(fit, many, *atlas.rate(many, fit.poses, settings.model))
    return fits.select(np.argsort(-fits.scores, kind="stable"))


def _compared(
    answer: Answer, pose: AnyPose, spread: FloatArray, settings: LocalizationSettings
) -> tuple[Agreement, str, Estimate | None, tuple[Estimate, ...]]:
    """Verdict, words, fit and rivals from what was judged."""
    estimates = answer.estimates
    here, near = _places(estimates, pose, spread, settings)
    right = here & ~np.array([e.refuted for e in estimates])
    first = np.flatnonzero(right if right.any() else here | near)[:1]
    fit = estimates[first[0]] if first.size else None
    alive = tuple(e for e in estimates if e is not fit and not e.refuted)
    if answer.verdict is Verdict.LOST:
        return "disagrees", NOTHING.format(estimates[0].inliers), fit, ()
    if fit is None:
        return "disagrees", NOT_HERE, fit, alive
    if fit.refuted:
        best = estimates[0].pose
        return "disagrees", BETTER.format(best.x, best.y, np.degrees(best.yaw)), fit, alive
    if not here[first[0]]:
        away, turn = gap_of(pose, fit.pose)
        return "disagrees", PULLED.format(away, np.degrees(turn)), fit, alive
    if answer.verdict is Verdict.UNIQUE:
        return "agrees", AGREES, fit, alive
    return "cannot tell", answer.advice, fit, alive


def _places(
    estimates: tuple[Estimate, ...],
    pose: AnyPose,
    spread: FloatArray,
    settings: LocalizationSettings,
) -> tuple[BoolArray, BoolArray]:
    """Which estimates are the pose, as far as both can err, and which are near it; shape (K,)."""
    d = np.array([estimate.pose.vector[:3] for estimate in estimates]) - pose.vector[:3]
    d[:, 2] = wrap_angle(d[:, 2])
    away, turn = np.hypot(d[:, 0], d[:, 1]), np.abs(d[:, 2])
    same, turned = settings.same
    P = np.array([estimate.covariance[:3, :3] for estimate in estimates]) + spread
    inside = (d * np.linalg.solve(P, d[:, :, None])[:, :, 0]).sum(axis=1) <= INSIDE
    here = inside | ((away <= same) & (turn <= turned))
    near = (away <= REACH * same) & (turn <= REACH * turned)
    explains = np.array([estimate.score for estimate in estimates]) >= settings.poor[0]
    return here & explains, near & explains
