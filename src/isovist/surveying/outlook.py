"""What is known of the nodes of an atlas before `locate` is asked: the seam of plane and space.

In the plane, nodes are those where the sensor has room to stand (`maps.floor.standing_room`);
`views` says what is seen from each and how firmly that holds, `aliases` what each can be taken for.
In space all nodes count, and `slopes` says how fast the descriptor changes; views and aliases are
not made there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.plane import PlaneAtlas
from isovist.atlas.space import SpaceAtlas
from isovist.errors import InputError
from isovist.localization.settings import LocalizationSettings
from isovist.maps.floor import standing_room
from isovist.sensing.lidar import Lidar
from isovist.sensing.spinning import SpinningLidar
from isovist.surveying.aliases import Aliases, find_aliases
from isovist.surveying.regions import Area, find_areas
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.slopes import descriptor_slopes
from isovist.surveying.views import Views, look
from isovist.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is known of N nodes.

    Attributes:
        nodes: Their numbers in the atlas, shape (N,).
        mu: μ, how fast the descriptor changes in its weakest direction, per m, shape (N,).
        weakest: That direction, a unit vector in the world, shape (N, 2).
        height: Of the sensor above the floor, in m; 0 in the plane.
        seen: Views and aliases, or `None` in space.
        find_areas: From the share of unique answers of each node to where it is small.
    """

    nodes: IntArray
    mu: FloatArray
    weakest: FloatArray
    height: float
    seen: tuple[Views, Aliases] | None
    find_areas: Callable[[FloatArray], tuple[Area, ...]]


def look_out(
    atlas: Atlas,
    lidar: Lidar | SpinningLidar,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    progress: Callable[[float], None],
) -> Outlook:
    """What can be known of an atlas without asking."""
    if isinstance(atlas, SpaceAtlas):
        nodes, height = np.arange(len(atlas.nodes)), 0.5 * sum(atlas.heights)
        return Outlook(nodes, *descriptor_slopes(atlas), height, None, lambda _share: ())
    # `survey` has checked that the sensor fits.
    assert isinstance(atlas, PlaneAtlas)
    assert isinstance(lidar, Lidar)
    floor = np.flatnonzero(standing_room(atlas.world).ravel()[atlas.nodes])
    if floor.size == 0:
        raise InputError(
            f"No node of the atlas has room for a sensor; build it with less than "
            f"{atlas.spacing:g} m between nodes."
        )
    views = look(atlas, lidar, floor, settings, localization, lambda part: progress(0.5 * part))
    if not views.beams.any():
        raise InputError(
            f"From nowhere on the map does the sensor see a wall within {lidar.range_max:g} m."
        )
    aliases = find_aliases(atlas, views, floor, settings, localization)
    progress(1.0)
    areas = partial(find_areas, atlas, floor, views, aliases, settings, localization)
    return Outlook(floor, views.mu.mean(axis=1), views.weakest, 0.0, (views, aliases), areas)
