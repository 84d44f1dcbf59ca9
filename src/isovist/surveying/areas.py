"""Find the areas where an answer is seldom unique, and why."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.surveying.lattice import lattice_of, shares_of_columns
from isovist.surveying.visibility import Visibility


class Reason(StrEnum):
    """The reason why a place cannot be localized."""

    BLIND = "sees too little"
    SLIDES = "slides"
    ALIASED = "aliased"


@dataclass(frozen=True, slots=True)
class Area:
    """An area of adjacent nodes that cannot be localized for the same reason.

    Attributes:
        x: x of the node in the middle of the area, in m.
        y: y of the node in the middle of the area, in m.
        size: Size of the area, in m².
        unique_share: Mean share of unique answers over the nodes.
        reason: Reason why a robot cannot be localized there.
        axis_deg: Direction along which the position is uncertain, in [0, 180) degrees, or `None`.
        alias: Position (x, y) of a place that looks alike, in m, or `None`.
        turn_deg: Rotation under which the place looks like itself, in degrees, or `None`.
    """

    x: float
    y: float
    size: float
    unique_share: float
    reason: Reason
    axis_deg: float | None = None
    alias: tuple[float, float] | None = None
    turn_deg: float | None = None


def reasons(visibility: Visibility) -> IntArray:
    """Return why each node could not be localized, as an index of `Reason`, shape (N,).

    A node sees too little if it has too few witnesses at half of its headings.  It slides if the
    fit is loose at half of its headings.  It also slides if its alias is in sight, along the
    weakest direction to within two blocks of the scan, at the same heading.
    """
    plan, views, aliases = visibility.plan, visibility.views, visibility.aliases
    settings, localization = plan.settings.areas, plan.localization
    share = settings.min_headings_share
    is_blind = (views.witnesses < localization.decision.min_groups).mean(axis=1) >= share
    is_loose = (views.sigma > localization.decision.max_position_std_m).mean(axis=1) >= share
    index, worst, places = np.arange(len(plan.nodes)), aliases.worst, plan.places
    gap = np.nan_to_num(aliases.place[index, worst] - places[:, :2])
    distance = np.maximum(np.hypot(gap[:, 0], gap[:, 1]), 1e-9)
    cosine = np.cos(settings.axis_blocks * localization.scoring.group_rad)
    is_along = np.abs(np.sum(gap * views.weakest, axis=1)) >= cosine * distance
    is_same_heading = np.abs(aliases.turn[index, worst]) <= plan.settings.aliases.min_turn_rad
    directions = np.zeros_like(places)
    directions[:, :2] = gap
    directions[distance <= 1e-9, 0] = 1.0
    is_visible = plan.atlas.world.cast(places, directions).ranges >= distance
    slides = is_loose | (is_along & is_same_heading & is_visible)
    return np.where(is_blind, 0, np.where(slides, 1, 2))


def find_areas(visibility: Visibility, unique_share: FloatArray) -> tuple[Area, ...]:
    """Find the areas that cannot be localized, those with the most such places first.

    Areas smaller than the square of the least distance of an alias are left out.  Nodes above each
    other share the floor below them.

    Args:
        visibility: What is seen from N nodes.
        unique_share: Share of unique answers at each node, shape (N,).
    """
    from scipy.ndimage import label

    plan = visibility.plan
    codes = reasons(visibility)
    lattice = lattice_of(plan.atlas)[plan.nodes, -2:]
    sizes = shares_of_columns(plan.atlas, plan.nodes) * plan.atlas.spacing**2
    cells = tuple((lattice - lattice.min(axis=0)).T)
    areas = []
    for code, reason in enumerate(Reason):
        is_bad = (unique_share < plan.settings.areas.max_unique_share) & (codes == code)
        grid = np.zeros(np.ptp(lattice, axis=0) + 1, dtype=np.bool_)
        grid[tuple(k[is_bad] for k in cells)] = True
        parts, number = label(grid, np.ones((3, 3)))
        for part in range(1, number + 1):
            members = np.flatnonzero(is_bad & (parts[cells] == part))
            size = float(sizes[members].sum())
            if size >= plan.settings.aliases.min_distance_m**2:
                share = float(unique_share[members].mean())
                areas.append(_area(visibility, members, reason, size, share))
    return tuple(sorted(areas, key=lambda area: area.size * (area.unique_share - 1.0)))


def _area(
    visibility: Visibility, members: IntArray, reason: Reason, size: float, share: float
) -> Area:
    """Describe the area of some nodes."""
    plan, aliases = visibility.plan, visibility.aliases
    places = plan.places[members, :2]
    x, y = places[np.argmin(np.sum((places - places.mean(axis=0)) ** 2, axis=1))].tolist()
    axis = alias = turn = None
    if reason is Reason.SLIDES:
        # Axes have no sign: their mean is that of the doubled angles.
        u, v = visibility.views.weakest[members].T
        double = np.arctan2(np.sum(2.0 * u * v), np.sum(u**2 - v**2))
        axis = float(np.degrees(0.5 * double) % 180.0)
    if reason is Reason.ALIASED:
        worst = aliases.worst[members]
        node = int(np.argmin(aliases.cost[members, worst]))
        at = members[node], worst[node]
        distance = np.hypot(*(places[node] - aliases.place[at]))
        if distance < plan.settings.aliases.min_distance_m:
            turn = float(np.abs(np.degrees(aliases.turn[at])))
        else:
            alias = tuple(aliases.place[at].tolist())
    return Area(x, y, size, share, reason, axis, alias, turn)
