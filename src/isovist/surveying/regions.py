"""Areas where an answer is seldom unique, and why."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.localization.settings import LocalizationSettings
from isovist.surveying.aliases import Aliases
from isovist.surveying.lattice import lattice_of, shares_of_columns
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.views import Views

SELDOM = 0.5
"""Nodes with a smaller share of unique answers, the minority, are bad."""


class Reason(StrEnum):
    """The reason why a place cannot be localized."""

    BLIND = "sees too little"
    SLIDES = "slides"
    ALIASED = "aliased"


@dataclass(frozen=True, slots=True)
class Area:
    """An area of adjacent nodes that cannot be localized for the same reason.

    Attributes:
        x: x of the node in its middle, in m.
        y: y of the node in its middle, in m.
        size: Area in m².
        unique_share: Share of unique answers, the mean over its nodes.
        reason: Why its nodes cannot be localized.
        axis_deg: Direction along which the position slides, in [0, 180) degrees, or `None`.
        alias: The place that it looks like, (x, y) in m, or `None`.
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
    atlas: Atlas,
    floor: IntArray,
    views: Views,
    aliases: Aliases,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
) -> IntArray:
    """Return what would be wrong with each node, as its place in `Reason`, shape (N,).

    A node sees too little where half of its headings have too few witnesses.  It slides where the
    fit is loose at half of its headings, or where its alias lies in sight, along the weakest
    direction to within two blocks of the scan, at the same heading.
    """
    blind = (views.witnesses < localization.witnesses).mean(axis=1) >= 0.5
    loose = (views.sigma > localization.loose).mean(axis=1) >= 0.5
    each = np.arange(len(floor))
    worst = aliases.worst
    here = atlas.positions[floor]
    gap = np.nan_to_num(aliases.place[each, worst] - here[:, :2])
    away = np.maximum(np.hypot(gap[:, 0], gap[:, 1]), 1e-9)
    near = np.cos(2.0 * localization.block[0])
    along = np.abs(np.sum(gap * views.weakest, axis=1)) >= near * away
    same = np.abs(aliases.turn[each, worst]) <= settings.rival[1]
    towards = np.zeros_like(here)
    towards[:, :2] = gap
    towards[away <= 1e-9, 0] = 1.0
    visible = atlas.world.cast(here, towards).ranges >= away
    return np.where(blind, 0, np.where(loose | (along & same & visible), 1, 2))


def find_areas(
    atlas: Atlas,
    floor: IntArray,
    views: Views,
    aliases: Aliases,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    unique_share: FloatArray,
) -> tuple[Area, ...]:
    """Find the areas that cannot be localized, those with the most such places first.

    Areas smaller than the square of the least distance of a rival are left out.  Nodes above each
    other share the floor below them.
    """
    from scipy.ndimage import label

    codes = reasons(atlas, floor, views, aliases, settings, localization)
    lattice = lattice_of(atlas)[floor, -2:]
    floors = shares_of_columns(atlas, floor) * atlas.spacing**2
    apart = settings.rival[0]
    at = tuple((lattice - lattice.min(axis=0)).T)

    def area(members: IntArray, reason: Reason) -> Area:
        places = atlas.positions[floor[members], :2]
        x, y = places[np.argmin(np.sum((places - places.mean(axis=0)) ** 2, axis=1))].tolist()
        size, share = float(floors[members].sum()), float(unique_share[members].mean())
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
        held = (unique_share < SELDOM) & (codes == code)
        bad = np.zeros(np.ptp(lattice, axis=0) + 1, dtype=np.bool_)
        bad[tuple(k[held] for k in at)] = True
        parts, number = label(bad, np.ones((3, 3)))
        for part in range(1, number + 1):
            members = np.flatnonzero(held & (parts[at] == part))
            if floors[members].sum() >= apart**2:
                areas.append(area(members, reason))
    return tuple(sorted(areas, key=lambda found: found.size * (found.unique_share - 1.0)))
