"""Turn candidates into fits: fit and score all with few beams, then the better ones with many."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import Beams, SearchSpace
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.fitting.sequence_fit import fit_and_rate, fit_sequence
from isovist.localization.query.scan_views import SequenceBeams, select_beams
from isovist.localization.scoring.hypotheses import (
    Fits,
    best_first,
    group_ratings,
    is_refuted,
    summarize,
)
from isovist.localization.scoring.removed_walls import allows_removed_walls, see_through_settings
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import ScanInput

Leader = FloatArray
"""Summary of the best place so far by few beams (`hypotheses.summarize`), shape (3 + C,)."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFitter:
    """Fits the candidates of one query with few beams, and the better ones with many.

    Attributes:
        space: The map or maps.
        scan: One scan, or a sequence of scans.
        settings: How to fit and to rate.
        tilt: Whether to fit roll and pitch too, in 3D.
        thorough: Whether the candidates come from a larger search: more of them are fitted, and in
            3D the height is fitted from the start, since that of a node may be wrong.
    """

    space: SearchSpace
    scan: ScanInput
    settings: LocalizationSettings
    tilt: bool = False
    thorough: bool = False

    def fit(
        self, candidates: FloatArray, leader: Leader | None = None
    ) -> tuple[Fits, Leader | None]:
        """Fit candidates, and with many beams those that few beams cannot rule out.

        Args:
            candidates: Poses of the level sensor frame in m and rad, shape (K, D).
            leader: The leader of candidates that were fitted before.

        Returns:
            The fits, best first, and the leader of all candidates so far.
        """
        settings = self.settings
        fit, full = settings.fit, settings.search.full_candidates
        max_rated = settings.share(self.space, fit.first_rated)
        min_fitted = settings.share(self.space, fit.first_refined)
        if self.thorough:
            max_rated = max(max_rated, round(fit.full_rated / full * len(candidates)))
            min_fitted = max(min_fitted, round(fit.full_refined / full * len(candidates)))
        poses, summaries = self._fit_coarsely(candidates, max_rated)
        is_open, leader = _open_places(summaries, leader, settings)
        return self._fit_finely(poses[is_open | (np.arange(len(poses)) < min_fitted)]), leader

    def fit_best(self, candidates: FloatArray, count: int) -> Fits:
        """Fit candidates, and the best `count` of them with many beams, best first."""
        count_rated = self.settings.fit.rated(is_full=self.thorough)
        max_rated = self.settings.share(self.space, count_rated)
        poses, _ = self._fit_coarsely(candidates, max_rated)
        return self._fit_finely(poses[:count])

    def _fit_coarsely(
        self, candidates: FloatArray, max_rated: int
    ) -> tuple[FloatArray, FloatArray]:
        """Fit candidates with few beams, and rate those that the beams constrain best.

        Returns:
            Distinct poses, best first, shape (K, D), and their summaries, shape (K, 3 + C).
        """
        space, settings = self.space, self.settings
        beams = select_beams(space, self.scan, settings.fit.coarse_beams, settings.scoring.group)
        # Few beams say little about the height, and that of a node is usually right.
        n = space.fitted(False) if self.thorough else 3
        fit, rated = fit_and_rate(space, beams, candidates, n, settings, max_rated)
        summaries = summarize(beams, *rated)
        order = np.argsort(-summaries[:, 0], kind="stable")
        order = order[distinct_indices(fit.poses[order], *settings.fit.separation)]
        return fit.poses[order], summaries[order]

    def _fit_finely(self, poses: FloatArray) -> Fits:
        settings = self.settings
        beams = select_beams(self.space, self.scan, settings.fit.fine_beams, settings.scoring.group)
        return refit(self.space, beams, poses, settings, tilt=self.tilt)


def _open_places(
    summaries: FloatArray, leader: Leader | None, settings: LocalizationSettings
) -> tuple[BoolArray, Leader | None]:
    """Return which places the best one so far does not rule out, and that best one."""
    if len(summaries) == 0:
        return np.empty(0, dtype=np.bool_), leader
    best = summaries[0] if leader is None or summaries[0, 0] > leader[0] else leader
    rows = np.concatenate([best[None], summaries])
    out = is_refuted(group_ratings(rows), rows[:, 0], float(best[1]), settings.careful())
    return ~out, best


def refit(
    space: SearchSpace,
    beams: Beams,
    poses: FloatArray,
    settings: LocalizationSettings,
    *,
    tilt: bool,
) -> Fits:
    """Fit poses that are nearly right with many beams, and score them, best first.

    Args:
        space: The map or maps.
        beams: Many beams, of one scan or of a sequence.
        poses: Poses of the level sensor frame in m and rad, shape (K, D).
        settings: How to fit and to rate.
        tilt: Whether to fit roll and pitch too, in 3D.
    """
    widths, n = settings.fine_widths(space), space.fitted(tilt)
    if isinstance(beams, SequenceBeams):
        fit, rated, information = fit_sequence(space, beams, poses, widths, n, settings)
        return best_first(Fits(fit, beams, *rated, information))
    models = [settings.model]
    if allows_removed_walls(space):
        models.append(see_through_settings(settings).model)
    fit, (rated, *others) = space.fit_and_rate(beams, poses, widths, n, models)
    see_through = others[0].ratings if others else None
    return best_first(Fits(fit, beams, *rated, see_through_ratings=see_through))
