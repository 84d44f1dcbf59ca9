"""A router of zenoh on a free port: a robot that talks by it as rmw_zenoh does, and queries."""

import json
import socket
from contextlib import contextmanager

from tests.support.serve_door import serving

from isovist.apps import TOPICS, Router, Topic, ZenohBus, ZenohEntrance, attachment, open_session
from isovist.apps.ros import messages
from isovist.io import time_of


@contextmanager
def routed():
    """A router; where it listens."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    with Router(f"tcp/localhost:{port}"):
        yield f"tcp/localhost:{port}"


@contextmanager
def asking(endpoint):
    """What asks a server through a router: whether it answers, and the JSON of its one reply."""
    session = open_session(
        {"mode": "client", "connect/endpoints": [endpoint], "scouting/multicast/enabled": False},
        "no router",
    )

    def ask(selector, body=None, **more):
        payload = json.dumps(body) if isinstance(body, dict) else body
        (reply,) = session.get(f"isovist/{selector}", payload=payload, timeout=120.0, **more)
        told = reply.err if reply.ok is None else reply.ok
        return reply.ok is not None, json.loads(bytes(told.payload))

    try:
        yield ask
    finally:
        session.close()


def serving_at(endpoint, folder, **limits):
    """A server with both entrances."""
    return serving(folder, zenoh=ZenohEntrance(endpoint), **limits)


def until(bus, condition, act=lambda: None):
    """Act and call back until something is so, for a minute at most."""
    for _ in range(1200):
        if condition():
            return True
        act()
        bus.run(0.05)
    return False


class Peer(ZenohBus):
    """What a robot says, and what it hears of a node: poses and verdicts."""

    def __init__(self, endpoint, domain):
        super().__init__(endpoint=endpoint, domain=domain, node="robot")
        self.poses, self.verdicts = [], []
        self.subscribe(Topic("/initialpose", messages.POSE), self.poses.append)
        self.subscribe(Topic("/isovist/verdict", messages.VERDICT), self.verdicts.append)
        names = ("map", "tf_static", "scan", "odom")
        self._publish = {f"/{name}": self.advertise(TOPICS[name]) for name in names}

    def send(self, name, message):
        self._publish[name](message)

    def send_map(self, world):
        self.send("/map", messages.map_message(world, 1.0, "map"))

    @property
    def stamps(self):
        """Of the scans that were answered, in s."""
        return {round(time_of(verdict.header), 3) for verdict in self.verdicts}

    def relocalize(self):
        """Call the service; whether it went well."""
        kind = f"std_srvs::srv::dds_::Trigger_/{messages.TRIGGER_HASH}"
        ask = attachment(1, 5, b"x" * 16)
        key = f"{self._domain}/isovist/relocalize/{kind}"
        (reply,) = self._session.get(key, payload=b"\0\1\0\0\0", attachment=ask)
        assert bytes(reply.ok.attachment) == ask
        return messages.decode(f"{messages.TRIGGER}_Response", bytes(reply.ok.payload)).success
