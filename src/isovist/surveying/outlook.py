"""What is known of the nodes of an atlas before `locate` is asked: the seam of plane and space.

Nodes are those where the sensor has room to stand (`maps.floor`).  `views` and `space_views` say
what is seen from each and how firmly that holds, `aliases` what each can be taken for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.errors import InputError
from isovist.localization.settings import LocalizationSettings
from isovist.maps.floor import standing_cells, standing_places
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.spinning import SpinningLidar
from isovist.surveying.aliases import Aliases, find_aliases
from isovist.surveying.regions import Area, find_areas
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.slopes import descriptor_slopes
from isovist.surveying.space_views import look_in_space
from isovist.surveying.views import Views, look


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is known of N nodes before `locate` is asked at any pose.

    Attributes:
        nodes: Numbers of the nodes in the atlas, shape (N,).
        mu: μ, how fast the descriptor changes in its weakest direction, per m, shape (N,).
        height: Height of the sensor above the floor, in m; 0 in 2D.
        views: What is seen from them.
        aliases: What they can be taken for.
        find_areas: Function from the share of unique answers at each node to the areas where it is
            small.
    """

    nodes: IntArray
    mu: FloatArray
    height: float
    views: Views
    aliases: Aliases
    find_areas: Callable[[FloatArray], tuple[Area, ...]]


def look_out(
    atlas: Atlas,
    lidar: Lidar | SpinningLidar,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    progress: Callable[[float], None],
) -> Outlook:
    """Compute what can be known of the nodes of an atlas without asking `locate`."""
    floor = standing_nodes(atlas)
    if floor.size == 0:
        raise InputError(
            f"No node of the atlas has room for a sensor; build it with less than "
            f"{atlas.spacing:g} m between nodes.",
            code="empty",
        )
    half = lambda part: progress(0.5 * part)  # noqa: E731
    views: Views
    if isinstance(atlas, SpaceAtlas):
        assert isinstance(lidar, SpinningLidar)  # `survey` has checked that the sensor fits
        views = look_in_space(atlas, lidar, floor, settings, localization, half)
        mu, height = descriptor_slopes(atlas)[0][floor], 0.5 * sum(atlas.heights)
    else:
        assert isinstance(atlas, PlaneAtlas)
        assert isinstance(lidar, Lidar)
        views = look(atlas, lidar, floor, settings, localization, half)
        mu, height = views.mu.mean(axis=1), 0.0
    if not views.beams.any():
        raise InputError(
            f"From nowhere on the map does the sensor see a wall within {lidar.range_max:g} m.",
            code="empty",
        )
    aliases = find_aliases(atlas, views, floor, settings, localization)
    progress(1.0)
    areas = partial(find_areas, atlas, floor, views, aliases, settings, localization)
    return Outlook(floor, mu, height, views, aliases, areas)


def standing_nodes(atlas: Atlas) -> IntArray:
    """Return the numbers of the nodes where a sensor has room on all sides, in order."""
    if isinstance(atlas, PlaneAtlas):
        return np.flatnonzero(standing_cells(atlas.world).ravel()[atlas.nodes])
    assert isinstance(atlas, SpaceAtlas)
    low, high = atlas.heights
    rooms = [
        atlas.world.index(standing_places(atlas.world, height=height))
        for height in np.arange(low, high + 1e-9, atlas.spacing)
    ]
    return np.flatnonzero(np.isin(atlas.nodes, np.concatenate(rooms)))
