"""Is the best place the only one?

Beams side by side see the same wall, and err together.  So the scan is cut into blocks of 10°, in
space of azimuth and of elevation, and a block counts as one witness: with ℓ_jb the mean rating of
block b from place j at the best pose near it (`refine.polish`), a place is worth

    L_j = Σ_b (ℓ_jb + κ e_j − υ u_j),                                                      (1)

where e_j is the share of beams explained and u_j that of beams which end in unknown space.  Clutter
and unknown space explain any beam a little, so that a place which leaves much to them can rate as
high as one that accounts for the walls.  That none of the places is right is worth ℓ₀ a block:

    p_j ∝ exp(β L_j),        p_none ∝ exp(β B ℓ₀).                                          (2)

A rival is refuted when the witnesses agree that it is worse.  What stands on the floor of a map in
space fills several blocks above each other; so here columns of blocks, one for each azimuth, are
the witnesses.  With δ_b = ℓ_0b − ℓ_jb,

    t_j = Σ_b δ_b / √(Σ_b δ_b² + τ²),       d_j = mean rating of all beams, less the rival's:   (3)

ratings of the fits as they are, since what a place gains nearby is not what makes it the only one.
t is about 1 when a single block speaks against the rival, something that a moved cupboard can do,
and √B when all B of them do.  The place is unique when every rival has

    t_j · (share of beams explained) ≥ t_min    and    d_j ≥ d_min,                       (4)

there are enough witnesses, the fit is loose neither along an axis nor in its heading, and it is
more likely than not that one of the places is right.  It is lost when even the best place explains
the scan badly.
"""

import numpy as np

from isovist.atlas.base import Site
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.refine import Fits, polish
from isovist.localization.search import unlike
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import covariances, information, of_robot
from isovist.poses import AnyPose, Pose3, wrap_angle
from isovist.sensing.joined import Look, last_of
from isovist.types import BoolArray, FloatArray, readonly

NOWHERE = "No place of the map can be tried: the prior leaves none, or the scan sees nothing."


def judge(atlas: Site, scan: Look, fits: Fits, settings: LocalizationSettings) -> Answer:
    """Turn fits into distinct estimates, their probabilities and a verdict."""
    if len(fits) == 0:
        return Answer(Verdict.LOST, NOWHERE, ())
    plain = fits.select(unlike(fits.poses, *settings.same))
    fits, totals = polish(atlas, plain, settings)
    order = np.argsort(-totals, kind="stable")
    plain, fits, totals = plain.select(order), fits.select(order), totals[order]
    chances = chances_of(totals, fits.beams.blocks, settings)
    scores, inliers = fits.scores, fits.inliers
    witnesses = plain.beams.by_column(plain.blocks)
    out = np.append(False, refuted(witnesses, plain.scores, float(plain.inliers[0]), settings))
    listed = fits.select(np.arange(min(settings.listed, len(fits))))
    known = listed.known
    if known is None:
        known = information(listed.fit, listed.beams.blocks, atlas.cell(listed.poses), settings)
    spreads = covariances(known, settings)
    robots, spreads = of_robot(atlas, scan.T_level_robot, listed.poses, spreads)
    estimates = tuple(
        Estimate(robots[k], readonly(spreads[k]), float(chances[k]), float(inliers[k]),
                 float(scores[k]), bool(out[k]))
        for k in range(len(listed))
    )  # fmt: skip
    alive = int((~out).sum()) - 1
    verdict, advice = verdict_of(
        witnesses.shape[1], alive, estimates[0], float(chances[-1]), settings
    )
    return Answer(verdict, advice + atlas.note(last_of(scan)), estimates)


def chances_of(totals: FloatArray, blocks: int, settings: LocalizationSettings) -> FloatArray:
    """Probabilities of places, and last that of none of them, equation (2), shape (K + 1,)."""
    beta, none = settings.sure
    worth = beta * np.append(totals, none * blocks)
    chances = np.exp(worth - worth.max())
    return np.asarray(chances / chances.sum())


def verdict_of(
    witnesses: int, rivals: int, best: Estimate, none: float, settings: LocalizationSettings
) -> tuple[Verdict, str]:
    """What follows from the number of witnesses and of rivals, and what to do about it."""
    if best.score < settings.poor[0]:
        return Verdict.LOST, (
            f"Nowhere in the map does the scan fit: at best {best.inliers:.0%} of the beams end at "
            "a wall. Check that the map is of this place and up to date."
        )
    if none > 0.5:
        return Verdict.AMBIGUOUS, (
            f"Nothing fits well: at best {best.inliers:.0%} of the beams end at a wall. Check that "
            "the map is of this place and up to date, or move and look again."
        )
    loosest = float(np.sqrt(np.linalg.eigvalsh(best.covariance[:2, :2])[-1]))
    if loosest > settings.loose:
        return Verdict.AMBIGUOUS, (
            f"The place can slide by {loosest:.1f} m (standard deviation) along one axis, as in a "
            "corridor. Move until an end or a door is in view."
        )
    turned = float(np.sqrt(best.covariance[2, 2]))
    if turned > 0.75 * settings.same[1]:
        return Verdict.AMBIGUOUS, (
            f"The heading is known to ± {np.degrees(turned):.0f}° (standard deviation) alone, as "
            "in a round room. Move until something else is in view."
        )
    if witnesses < settings.witnesses:
        return Verdict.AMBIGUOUS, (
            f"The scan covers only {witnesses} blocks of 10°, too few to exclude other "
            "places. Turn, or take more beams."
        )
    if rivals:
        return Verdict.AMBIGUOUS, (
            f"{rivals} other place{'s' if rivals > 1 else ''} would explain the scan about as "
            "well. Move and look again."
        )
    return Verdict.UNIQUE, "One place explains the scan, and no other comes near."


def refuted(
    witnesses: FloatArray, scores: FloatArray, inliers: float, settings: LocalizationSettings
) -> BoolArray:
    """Which of the other places are excluded by equation (4), shape (K − 1,)."""
    agreement, margin, soft = settings.refuted
    delta = witnesses[0] - witnesses[1:]
    t = delta.sum(axis=1) / np.sqrt((delta**2).sum(axis=1) + soft)
    behind = scores[0] - scores[1:]
    return np.asarray((t * inliers >= agreement) & (behind >= margin))


def is_same(a: AnyPose, b: AnyPose, settings: LocalizationSettings) -> bool:
    """Whether two poses are of one place: near enough for an answer to be right."""
    near, turned = settings.same
    gap = float(np.hypot(a.x - b.x, a.y - b.y))
    if isinstance(a, Pose3) and isinstance(b, Pose3):
        gap = float(np.hypot(gap, a.z - b.z))
    return gap <= near and float(abs(wrap_angle(a.yaw - b.yaw))) <= turned
