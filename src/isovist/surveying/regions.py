"""Areas where an answer is seldom unique, and why."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from isovist.atlas.plane import PlaneAtlas
from isovist.localization.settings import LocalizationSettings
from isovist.surveying.aliases import Aliases, lattice_of
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.views import Views
from isovist.types import FloatArray, IntArray

SELDOM = 0.5
"""Nodes with a smaller share of unique answers, the minority, are bad."""


class Reason(StrEnum):
    """Why a place is not localized."""

    BLIND = "sees too little"
    SLIDES = "slides"
    ALIASED = "aliased"


@dataclass(frozen=True, slots=True)
class Area:
    """Bad nodes next to each other that are bad for the same reason.

    Attributes:
        x: Of the node in its middle, in m.
        y: The same.
        size: In m².
        unique_share: Mean over its nodes.
        reason: Why.
        axis_deg: Direction along which it slides, in [0, 180) degrees, or `None`.
        alias: Where it looks like, (x, y) in m, or `None`.
        turn_deg: When it looks like itself, turned by how much, in degrees, or `None`.
    """

    x: float
    y: float
    size: float
    unique_share: float
    reason: Reason
    axis_deg: float | None = None
    alias: tuple[float, float] | None = None
    turn_deg: float | None = None


def reasons(
    atlas: PlaneAtlas,
    floor: IntArray,
    views: Views,
    aliases: Aliases,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
) -> IntArray:
    """What would be wrong with each node, if something is: place in `Reason`, shape (N,).

    A node sees too little where half of its headings have too few witnesses.  It slides where the
    fit is loose at half of its headings, or where its alias lies in sight, along the weakest
    direction to within two blocks of the scan, at the same heading.
    """
    blind = (views.witnesses < localization.witnesses).mean(axis=1) >= 0.5
    loose = (views.sigma > localization.loose).mean(axis=1) >= 0.5
    each = np.arange(len(floor))
    worst = aliases.worst
    here = atlas.positions[floor]
    gap = np.nan_to_num(aliases.place[each, worst] - here)
    away = np.maximum(np.hypot(gap[:, 0], gap[:, 1]), 1e-9)
    near = np.cos(2.0 * localization.block[0])
    along = np.abs(np.sum(gap * views.weakest, axis=1)) >= near * away
    same = np.abs(aliases.turn[each, worst]) <= settings.rival[1]
    gap[away <= 1e-9, 0] = 1.0
    visible = atlas.world.cast(here, gap).ranges >= away
    return np.where(blind, 0, np.where(loose | (along & same & visible), 1, 2))


def find_areas(
    atlas: PlaneAtlas,
    floor: IntArray,
    views: Views,
    aliases: Aliases,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    unique_share: FloatArray,
) -> tuple[Area, ...]:
    """The areas, those with the most places that are not localized first.

    Those smaller than the square of what a rival is away are left out.
    """
    from scipy.ndimage import label

    codes = reasons(atlas, floor, views, aliases, settings, localization)
    lattice = lattice_of(atlas)[floor]
    apart = settings.rival[0]
    at = tuple((lattice - lattice.min(axis=0)).T)

    def area(members: IntArray, reason: Reason) -> Area:
        places = atlas.positions[floor[members]]
        x, y = places[np.argmin(np.sum((places - places.mean(axis=0)) ** 2, axis=1))].tolist()
        size, share = len(members) * atlas.spacing**2, float(unique_share[members].mean())
        axis = alias = turn = None
        if reason is Reason.SLIDES:
            # Axes have no sign: their mean is that of the doubled angles.
            u, v = views.weakest[members].T
            double = np.arctan2(np.sum(2.0 * u * v), np.sum(u**2 - v**2))
            axis = float(np.degrees(0.5 * double) % 180.0)
        if reason is Reason.ALIASED:
            worst = aliases.worst[members]
            node = int(np.argmin(aliases.cost[members, worst]))
            at = members[node], worst[node]
            if np.hypot(*(places[node] - aliases.place[at])) < apart:
                turn = float(np.abs(np.degrees(aliases.turn[at])))
            else:
                alias = tuple(aliases.place[at].tolist())
        return Area(x, y, size, share, reason, axis, alias, turn)

    areas = []
    for code, reason in enumerate(Reason):
        bad = np.zeros(np.ptp(lattice, axis=0) + 1, dtype=np.bool_)
        bad[at] = (unique_share < SELDOM) & (codes == code)
        parts, number = label(bad, np.ones((3, 3)))
        for part in range(1, number + 1):
            members = np.flatnonzero(parts[at] == part)
            if len(members) * atlas.spacing**2 >= apart**2:
                areas.append(area(members, reason))
    return tuple(sorted(areas, key=lambda found: found.size * (found.unique_share - 1.0)))
