"""Collect what a survey needs: the atlas, its nodes, the sensor and the settings."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import Atlas, PlaneAtlas, SpaceAtlas
from isovist.errors import InputError
from isovist.localization import LocalizationSettings
from isovist.maps import standing_cells, standing_places
from isovist.sensing import Lidar, SpinningLidar
from isovist.surveying.settings import SurveyingSettings


@dataclass(frozen=True, slots=True, eq=False)
class SurveyPlan:
    """The input of a survey: N nodes of an atlas, and a sensor.

    Attributes:
        atlas: The map.
        nodes: Numbers of the nodes in the atlas, shape (N,).
        lidar: The sensor; a spinning one in 3D.
        settings: Settings of the survey.
        localization: Settings of `locate`.
    """

    atlas: Atlas
    nodes: IntArray
    lidar: Lidar | SpinningLidar
    settings: SurveyingSettings
    localization: LocalizationSettings

    @classmethod
    def of(
        cls,
        atlas: Atlas,
        lidar: Lidar | SpinningLidar,
        settings: SurveyingSettings,
        localization: LocalizationSettings,
    ) -> "SurveyPlan":
        """Plan a survey of all nodes where the sensor has room.

        Raises:
            InputError: If there is no such node.
        """
        nodes = standing_nodes(atlas)
        if nodes.size == 0:
            raise InputError(
                f"No node of the atlas has room for a sensor. Build it with less than "
                f"{atlas.spacing:g} m between nodes.",
                code="empty",
            )
        return cls(atlas, nodes, lidar, settings, localization)

    @property
    def places(self) -> FloatArray:
        """The world coordinates of the nodes, in m, shape (N, d)."""
        return self.atlas.positions[self.nodes]


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
