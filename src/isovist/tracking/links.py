"""Lifts and doors between maps.

A robot that is near one end of a link may be at the other end.  Its past is the same, and the next
scans show which end is right.  So at every scan a place near an end gets a twin on the other map,
which shares all its keyframes but the last.  The one that explains the next scans worse is refuted
like any competitor (`hypotheses.bank`).  If there is a twin already, the one with the better past
stays: a robot may ride at any time, so its past says nothing against the other end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.atlas import MultiMap, SearchSpace
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose
from isovist.tracking.hypotheses.bank import HypothesisBank


@dataclass(frozen=True, slots=True)
class Link:
    """A lift or a door: a place that is on two maps.

    Attributes:
        first: Name of a map.
        at_first: T_world_robot on it, such as in a lift.
        second: Name of another map.
        at_second: T_world_robot of the same place on that map, such as in the lift one floor up.
    """

    first: str
    at_first: Pose
    second: str
    at_second: Pose


def check_links(space: SearchSpace, links: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links.

    Raises:
        InputError: If they are no links, or do not join 2D maps of this space.
    """
    for link in links:
        if not isinstance(link, Link):
            raise InputError.about(
                "links",
                "must be links, Link('floor 1', pose, 'floor 2', pose), "
                f"got {type(link).__name__}.",
            )
        if not isinstance(space, MultiMap):
            raise InputError.about(
                "links", "join several maps, and this tracker has one.", code="conflict"
            )
        if space.dimension != 2:
            raise InputError.about(
                "links", "join 2D maps, and these are 3D.", code="wrong_dimension"
            )
        _check_end(link.first, link.at_first, space.names)
        _check_end(link.second, link.at_second, space.names)
        if link.first == link.second:
            raise InputError(f"A link joins two maps, got {link.first!r} twice.", field="links")
    return tuple(links)


def _check_end(name: str, pose: Pose, names: Sequence[str]) -> None:
    if name not in names:
        maps = ", ".join(map(repr, names))
        raise InputError(f"A link is of {name!r}, and the maps are {maps}.", field="links")
    if not isinstance(pose, Pose) or pose.shape != () or not np.isfinite(pose.vector).all():
        raise InputError(
            f"A link needs a finite Pose(x, y, yaw) on {name!r}, got {pose}.", field="links"
        )


def cross_links(bank: HypothesisBank, links: Sequence[Link], mount: AnyPose) -> bool:
    """Give each place near an end of a link a twin at the other end; return whether any was given.

    Args:
        bank: Hypotheses of the sensor; its `sort` leaves one of each place.
        links: Links between the maps of the bank.
        mount: T_robot_sensor.
    """
    count, maps = len(bank), bank.atlas
    if not isinstance(maps, MultiMap) or not links:
        return False
    max_distance = bank.localization.decision.same_place_m
    robots = (maps.lift(bank.poses) @ mount.inverse).position  # new twins get none at once
    for link in links:
        ends = (
            maps.to_common(link.first, link.at_first),
            maps.to_common(link.second, link.at_second),
        )
        for a, b in (ends, ends[::-1]):
            index = np.flatnonzero(np.hypot(*(robots - a.position).T) < max_distance)
            if index.size:
                bank.spawn_twins(index, b @ a.inverse)
    return len(bank) > count
