"""Reasons for a verdict: stable codes for programs, and the numbers behind them.

Sentences are made from them in `localization.advice` and `tracking.advice`.
"""

from enum import StrEnum
from typing import TypedDict


class Reason(StrEnum):
    """Why a verdict was reached. The values are stable.

    The reasons for one verdict are in the order of the rules.
    """

    # Lost.
    OUTSIDE_MAP = "outside_map"
    """Every beam is longer than the map is wide."""
    SCAN_BLIND = "scan_blind"
    """The scan has too few valid beams."""
    NO_SCAN = "no_scan"
    """A tracker has not had a scan yet."""
    NO_CANDIDATES = "no_candidates"
    """The region or the scan leaves no candidate."""
    POOR_FIT = "poor_fit"
    """The scan fits nowhere in the map."""

    # Ambiguous.
    POSE_DOUBTED = "pose_doubted"
    """The last scan does not fit the pose of the tracker."""
    NOTHING_FITS_WELL = "nothing_fits_well"
    """It is more likely that no place is right than that one is."""
    POSITION_SLIDES = "position_slides"
    """The position is uncertain along one axis, as in a corridor."""
    HEADING_UNCERTAIN = "heading_uncertain"
    """The heading is uncertain, as in a round room."""
    FEW_GROUPS = "few_groups"
    """The scan has too few independent groups of beams."""
    COMPETITORS = "competitors"
    """Other places explain the scan about as well."""
    SEVERAL_MAPS = "several_maps"
    """Places that are not ruled out lie on several maps."""
    OTHER_ATTITUDES = "other_attitudes"
    """Other places explain the scan about as well in another attitude."""
    LOW_PROBABILITY = "low_probability"
    """One place is the best, but its probability is too low."""
    LEAD_TOO_NEW = "lead_too_new"
    """One place leads, but has not led for long enough."""
    SEARCH_INCOMPLETE = "search_incomplete"
    """Places that were not searched may explain the scan as well."""
    FIRST_SEARCH_ONLY = "first_search_only"
    """A preview searches once; `locate` would search more."""
    TILT_FITS_BETTER = "tilt_fits_better"
    """The scan fits better with another roll and pitch."""
    ATTITUDE_UNCERTAIN = "attitude_uncertain"
    """Roll and pitch are uncertain."""
    MIRROR_FITS_BETTER = "mirror_fits_better"
    """The mirrored scan fits better somewhere."""
    SCALE_FITS_BETTER = "scale_fits_better"
    """The scan fits better at another scale."""
    MAPS_NOT_SEARCHED = "maps_not_searched"
    """Some maps were neither searched nor ruled out."""

    # Unique.
    ONLY_PLACE = "only_place"
    """One place explains the scan, and all others are ruled out."""
    RECENT_SCANS_DECIDE = "recent_scans_decide"
    """The last scans together rule out all other places."""

    # Of a pose that is checked.
    POSE_CONFIRMED = "pose_confirmed"
    """The pose explains the scan, and all other places are ruled out."""
    NO_FIT_NEARBY = "no_fit_nearby"
    """Nothing near the pose explains the scan."""
    BETTER_ELSEWHERE = "better_elsewhere"
    """Another place explains the scan better."""
    FIT_DISPLACED = "fit_displaced"
    """The scan fits near the pose, but not at it."""


class Facts(TypedDict, total=False):
    """Numbers behind the reasons; each is present if it was computed."""

    groups: float
    """Number of groups of beams with independent errors."""
    competitors: int
    """Number of other places that are not ruled out."""
    maps: tuple[str, ...]
    """Names of the maps with places that are not ruled out, if there are several maps."""
    inliers: float
    """Share of the beams that the best place explains."""
    probability: float
    """Probability of the best place."""
    position_std: float
    """Standard deviation of the position along its worst axis, in m."""
    heading_std: float
    """Standard deviation of the heading, in rad."""
    attitude_std: float
    """Standard deviation of roll and pitch together, in rad."""
    scale: float
    """Factor for the ranges with which the scan fits better."""
    maps_searched: int
    """Number of maps that were searched, if not all were."""
    maps_given: int
    """Number of all maps, if not all were searched."""
    lean: float
    """Fitted lean beyond the roll and pitch that the scan states, in rad."""
    ignored_intensities: tuple[float, ...]
    """Median of the intensities that were ignored, and smallest and largest on the walls of the
    map; empty for several maps."""
    distance: float
    """Distance from the checked pose to where the scan fits, in m."""
    rotation: float
    """Angle from the checked heading to the one that fits, in rad."""
    place: str
    """Place where the scan fits better than at the checked pose."""
