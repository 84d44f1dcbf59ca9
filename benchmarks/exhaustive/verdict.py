"""Would brute force call a place unique?  The judge's formula over every place of the map.

Of a map of the plane all free space and all headings are searched (`everywhere`): what may be worth
as much as the best place, less what no longer counts, is fitted and rated by ray casting as places
of `locate` are, with nothing left out.  Brute force calls the best place unique by its ratings:

- its probability, `decide` (2), over all places and "none of these" is at least p_min:
  this counts ratings by witnesses, the share of beams that are explained, and unknown space (1);
- no other place comes within d_min of its mean rating, the second half of (4);
- its mean rating is that of a place at all (`poor`).

It has none of the cautions of `locate`: no agreement of the witnesses (the first half of (4)), no
least number of them, no limit on how loosely the fit holds (where a place can slide by more than
`same` the poses along it are places of their own), no lead over what was not looked at, no first
look that a closer one must agree with, no mirrored scan and no other sizes (`alternative_scans`).

Places whose chance is below a tenth of 1 − p_min of that of the best are not looked for; `locate`,
too, knows some dozens of places.  What is told of a scan that is not unique is what was known when
that was settled: its probability is at most this.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.exhaustive.search import Worth, boxes
from isovist.arrays import FloatArray
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.errors import InputError
from isovist.localization import Answer, Verdict, adjusted_log_likelihoods, decide, probabilities
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.reasons import Reason
from isovist.localization.scoring.coarse_to_fine import refit
from isovist.localization.scoring.hypotheses import Fits
from isovist.localization.scoring.likelihood_climb import climb_likelihood
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose
from isovist.sensing.scan import Scan


@dataclass(frozen=True, slots=True, eq=False)
class Rating:
    """What brute force says of a scan.

    Attributes:
        unique: Whether one place is; `None` when the search was given up.
        pose: T_world_robot of the best place; `None` without one.
        probability: Of the best place, equation (2) of `decide`.
        ahead: Least d_j of (4) over all others, in nats per beam; `inf` without any.
        places: How many were judged.
        judged: What `decide`, with its cautions, says of these places.
    """

    unique: bool | None
    pose: Pose | None = None
    probability: float = 0.0
    ahead: float = math.inf
    places: int = 0
    judged: Verdict = Verdict.LOST


def rate_everywhere(
    atlas: PlaneAtlas,
    scan: Scan,
    known: FloatArray | None = None,
    settings: LocalizationSettings | None = None,
) -> Rating:
    """Rate all places of a map.

    A scan can be unique only where a place is worth C ℓ₀ + log(p_min / (1 − p_min)) / β, so that
    "none of these" leaves it p_min.  What is worth more than that, and than any place known, is
    looked for first; then rivals, as far behind the best as a single one may be, then as all
    together may be, until it is settled.

    Args:
        atlas: The map, described.
        scan: What the sensor saw, ranges alone.
        known: Poses of the sensor, shape (K, 3), any: good ones spare time and change nothing.
        settings: How to judge.
    """
    chosen = settings or LocalizationSettings()
    held = scan.within(atlas.diagonal)
    if held is None:
        return Rating(False)
    beams = atlas.beams(held, chosen.fit.fine_beams, chosen.scoring.group)
    if beams.sigmas.size or beams.strengths.size:
        raise InputError(
            "Brute force knows ranges alone; leave out `sigmas` and `intensities`.", code="conflict"
        )
    rules, margin = chosen.decision, chosen.refutation.min_lead_nats
    beta, least = rules.likelihood_power, rules.min_probability
    odds = math.log(least / (1.0 - least)) / beta
    enough = rules.no_place_score_nats * len(beams.columns) + odds
    look = _Look(atlas, held, chosen)
    fits = look.fitted(np.empty((0, 3)) if known is None else known)
    by_judge, by_rating = Worth.of_judge(beams, chosen), Worth.of_ratings(beams)
    for behind in (0.0, odds, math.log(10.0 / (1.0 - least)) / beta):
        floor = max(look.worth(fits), enough) - behind
        found = boxes(atlas, beams, by_judge, floor, chosen)
        if found is None:
            return look.told(fits, None)
        fits = look.joined(fits, found)
        if not look.is_unique(fits):
            return look.told(fits, False)
    floor = len(beams) * (look.best_rating(fits) - margin)
    found = boxes(atlas, beams, by_rating, floor, chosen)
    if found is None:
        return look.told(fits, None)
    fits = look.joined(fits, found)
    return look.told(fits, look.is_unique(fits))


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A scan before a map."""

    atlas: PlaneAtlas
    scan: Scan
    settings: LocalizationSettings

    def fitted(self, poses: FloatArray) -> Fits:
        """Places that fits from some poses end at, best first."""
        beams = self.atlas.beams(
            self.scan, self.settings.fit.fine_beams, self.settings.scoring.group
        )
        fits = refit(self.atlas, beams, poses, self.settings, tilt=False)
        return (
            fits.select(distinct_indices(fits.poses, *self.settings.decision.same_place))
            if len(poses)
            else fits
        )

    def joined(self, fits: Fits, found: FloatArray) -> Fits:
        """These places and those in some boxes."""
        radius, turn = self.settings.fit.separation
        seeds = self.atlas.from_cells(found[:, :3])
        seeds = seeds[distinct_indices(seeds, 0.5 * radius, 0.5 * turn)]
        if len(seeds) == 0:
            return fits
        both = fits.merge(self.fitted(seeds))
        return both.select(distinct_indices(both.poses, *self.settings.decision.same_place))

    def worth(self, fits: Fits) -> float:
        """L of the best place in nats."""
        return float(self._ranked(fits)[1][0]) if len(fits) else -math.inf

    def best_rating(self, fits: Fits) -> float:
        """Mean rating of the best place in nats."""
        return float(self._ranked(fits)[0].scores[0])

    def _ranked(self, fits: Fits) -> tuple[Fits, FloatArray]:
        """Places as `decide` ranks them, and what each is worth."""
        worth = adjusted_log_likelihoods(self.atlas, fits, self.settings)
        _, totals = climb_likelihood(self.atlas, fits, self.settings, worth)
        order = np.argsort(-totals, kind="stable")
        return fits.select(order), totals[order]

    def rated(self, fits: Fits) -> tuple[float, float]:
        """Probability of the best place, and how far its mean rating is ahead."""
        ranked, totals = self._ranked(fits)
        chances = probabilities(totals, len(fits.beams.columns), self.settings)
        others = ranked.scores[1:]
        return float(chances[0]), float(ranked.scores[0] - others.max(initial=-math.inf))

    def is_unique(self, fits: Fits) -> bool:
        """By ratings alone."""
        if len(fits) == 0 or self.best_rating(fits) < self.settings.decision.min_score_nats:
            return False
        chance, ahead = self.rated(fits)
        return (
            chance >= self.settings.decision.min_probability
            and ahead >= self.settings.refutation.min_lead_nats
        )

    def told(self, fits: Fits, unique: bool | None) -> Rating:
        if len(fits) == 0:
            return Rating(unique)
        pose = self.atlas.lift(self._ranked(fits)[0].poses[:1]) @ self.scan.T_level_robot
        judged = decide(self.atlas, self.scan, fits, self.settings).verdict
        return Rating(unique, pose[0], *self.rated(fits), len(fits), judged)


def withheld(answer: Answer, settings: LocalizationSettings | None = None) -> str:
    """Which condition keeps an answer from being unique; empty for none.

    A value of `Reason`, "lost" for no place at all, or "agreement" where every competitor that is
    listed and not refuted lies d_min behind, so that only the first half of (4) speaks for it.
    """
    if answer.best is None or answer.verdict is Verdict.UNIQUE:
        return "" if answer.verdict is Verdict.UNIQUE else "lost"
    reason = answer.reasons[0]
    alive = [one.score for one in answer.estimates[1:] if not one.refuted]
    margin = (settings or LocalizationSettings()).refutation.min_lead_nats
    if reason is Reason.COMPETITORS and alive and answer.best.score - max(alive) >= margin:
        return "agreement"
    return reason.value
