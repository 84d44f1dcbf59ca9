"""Compute what can be known of the nodes of a plan before any scan is located."""

from dataclasses import dataclass

from isovist.arrays import FloatArray
from isovist.atlas import SpaceAtlas
from isovist.errors import InputError
from isovist.surveying.aliases import Aliases, find_aliases
from isovist.surveying.plan import SurveyPlan
from isovist.surveying.views.slopes import descriptor_slopes
from isovist.surveying.views.view_set import Progress, Views
from isovist.surveying.views.views2d import view_in_2d
from isovist.surveying.views.views3d import view_in_3d


@dataclass(frozen=True, slots=True, eq=False)
class Visibility:
    """The views of a sensor from N nodes, and the places that look like them.

    Attributes:
        plan: The nodes, the sensor and the settings.
        mu: μ, how fast the descriptor changes in its weakest direction, per m, shape (N,).
        height: Height of the sensor above the floor, in m; 0 in 2D.
        views: What is seen from the nodes.
        aliases: What they can be mistaken for.
    """

    plan: SurveyPlan
    mu: FloatArray
    height: float
    views: Views
    aliases: Aliases

    @classmethod
    def of(cls, plan: SurveyPlan, progress: Progress) -> "Visibility":
        """Compute the views of the sensor from the nodes of a plan.

        Raises:
            InputError: If it sees no wall from any node.
        """

        def half(share: float) -> None:
            progress(0.5 * share)

        views: Views
        if isinstance(plan.atlas, SpaceAtlas):
            views = view_in_3d(plan, half)
            mu = descriptor_slopes(plan.atlas)[0][plan.nodes]
            height = 0.5 * sum(plan.atlas.heights)
        else:
            views = view_in_2d(plan, half)
            mu, height = views.mu.mean(axis=1), 0.0
        if not views.beams.any():
            raise InputError(
                f"The sensor sees no wall within {plan.lidar.range_max:g} m from any place on the "
                "map. Give a sensor with a longer range.",
                code="empty",
            )
        aliases = find_aliases(plan, views)
        progress(1.0)
        return cls(plan, mu, height, views, aliases)
