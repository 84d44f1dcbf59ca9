"""A bus without transport, and a robot that stands or drives on a site."""

from collections import defaultdict

import numpy as np
from tests.support.sites import PLANE

from isovist import Pose
from isovist.apps import Topic, odometry_message, scan_message
from isovist.io import LASER_SCAN, ODOMETRY
from isovist.ros import messages

START = 1000.0


class Wire:
    """A bus that calls back at once and keeps what is published."""

    def __init__(self):
        self.heard, self.kinds, self.services = {}, {}, {}
        self.said = defaultdict(list)

    def subscribe(self, topic, callback):
        assert isinstance(topic, Topic)
        self.heard[topic.name], self.kinds[topic.name] = callback, topic

    def advertise(self, topic):
        self.kinds.setdefault(topic.name, topic)

        def publish(message):
            data = messages.encode(topic.kind, message)
            self.said[topic.name].append(messages.decode(topic.kind, data))

        return publish

    def serve(self, name, callback):
        self.services[name] = callback

    def send(self, name, message):
        """A message through the encoding of the wire."""
        kind = self.kinds[name].kind
        self.heard[name](messages.decode(kind, messages.encode(kind, message)))

    @property
    def verdicts(self):
        """Of our own pose: level, words and values by name."""
        rows = [message.status[0] for message in self.said["/isovist/verdict"]]
        return [
            (row.level, row.message, {pair.key: pair.value for pair in row.values})
            for row in rows
            if row.name == "isovist"
        ]


class Robot:
    """Sends what a robot at a true pose sees and believes to have driven."""

    def __init__(self, wire, truth=PLANE.places[0], *, mount=None, site=PLANE):
        self.wire, self.truth, self.site = wire, truth, site
        self.mount = Pose() if mount is None else mount
        self.odometry, self.time, self.sent = Pose(3.0, -1.0, 0.5), START, 0

    def link(self, child="laser", parent="base"):
        """Say where the sensor sits."""
        message = messages.transforms_message(self.mount, self.time, parent, child)
        self.wire.send("/tf_static", message)

    def drive(self, motion):
        """Move, and let odometry know."""
        self.truth, self.odometry = self.truth @ motion, self.odometry @ motion

    def say_odometry(self, at=0.0):
        """Odometry of a time after now, in s."""
        message = odometry_message(self.odometry, self.time + at, "odom", "base")
        self.wire.send("/odom", message)

    def scan(self, frame="laser", **changes):
        """A LaserScan of now."""
        seen = self.site.look(self.truth, mount=self.mount, seed=self.sent)
        self.sent += 1
        message = scan_message(seen, self.time, frame)
        for name, value in changes.items():
            setattr(message, name, value)
        return message

    def look(self, **changes):
        """Odometry, a scan and odometry again, 0.1 s later than the last."""
        self.say_odometry()
        self.wire.send("/scan", self.scan(**changes))
        self.say_odometry(0.02)
        self.time = round(self.time + 0.1, 6)


def empty_scan(robot):
    """A scan without any return."""
    message = robot.scan()
    message.ranges = np.full(len(message.ranges), np.nan, dtype=np.float32)
    return message


__all__ = ["LASER_SCAN", "ODOMETRY", "START", "Robot", "Wire", "empty_scan"]
