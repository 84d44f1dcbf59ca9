"""Lifts and doors between maps.

A robot that is near one end of a link may be at the other: what it did before is the same, what it
sees from now on tells.  So at every scan a place near an end gets a twin on the other map that
shares its frames but the last, and whichever explains the next ones worse is refuted as any rival
is (`bank`).  Where a twin stands already, the one with the better past stays: a robot may ride at
any moment, so what it saw before says nothing against the other end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.atlas import MultiMap, SearchSpace
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose
from isovist.tracking.bank import Bank


@dataclass(frozen=True, slots=True)
class Link:
    """A lift or a door: where a robot is on one map when it is at a place of another.

    Attributes:
        first: Name of a map.
        at_first: T_world_robot on it, e.g. in the lift.
        second: Name of another.
        at_second: The same place on that, e.g. in the same lift one floor up.
    """

    first: str
    at_first: Pose
    second: str
    at_second: Pose


def check_links(site: SearchSpace, links: Sequence[Link]) -> tuple[Link, ...]:
    """The links, or an error unless they join maps of a site."""
    names = site.names if isinstance(site, MultiMap) else ()
    for link in links:
        if not isinstance(link, Link):
            raise InputError.about(
                "links",
                "must be links, Link('floor 1', pose, 'floor 2', pose), "
                f"got {type(link).__name__}.",
            )
        if not isinstance(site, MultiMap):
            raise InputError.about(
                "links", "join several maps, and this tracker has one.", code="conflict"
            )
        if site.dimension != 2:
            raise InputError.about(
                "links", "join maps of the plane, and these are in space.", code="wrong_dimension"
            )
        for name, pose in ((link.first, link.at_first), (link.second, link.at_second)):
            if name not in names:
                known = ", ".join(repr(known) for known in names)
                raise InputError(f"A link is of {name!r}, and the maps are {known}.", field="links")
            if not isinstance(pose, Pose) or pose.shape != () or not np.isfinite(pose.vector).all():
                raise InputError(
                    f"A link needs a finite Pose(x, y, yaw) on {name!r}, got {pose}.", field="links"
                )
        if link.first == link.second:
            raise InputError(f"A link joins two maps, got {link.first!r} twice.", field="links")
    return tuple(links)


def cross(
    bank: Bank, site: SearchSpace, links: Sequence[Link], mount: AnyPose, near: float
) -> bool:
    """Give every place near an end of a link a twin at the other end; whether any was given.

    Args:
        bank: Places of the sensor side by side; its `sort` leaves one of each.
        site: The maps.
        links: Between them.
        mount: T_robot_sensor.
        near: How near to an end the robot must be, in m.
    """
    count = len(bank)
    if not isinstance(site, MultiMap) or not links:
        return False
    robots = (site.lift(bank.poses) @ mount.inverse).position  # twins get none at once
    for link in links:
        ends = (
            site.to_common(link.first, link.at_first),
            site.to_common(link.second, link.at_second),
        )
        for a, b in (ends, ends[::-1]):
            index = np.flatnonzero(np.hypot(*(robots - a.position).T) < near)
            if index.size:
                bank.branch(index, b @ a.inverse)
    return len(bank) > count
