"""A zenoh router on the loopback of this machine, and queries to a server beside it."""

import json
import socket
from contextlib import contextmanager

from tests.support.serve_door import serving

from isovist.apps import Router, ZenohDoor, open_session


@contextmanager
def routed():
    """The address of a router, and what asks a server through it.

    `ask` tells whether a query is answered, and the JSON of its one reply.
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        endpoint = f"tcp/localhost:{free.getsockname()[1]}"
    with Router(endpoint):
        session = open_session(
            {"mode": "client", "connect/endpoints": [endpoint],
             "scouting/multicast/enabled": False}, "no router",
        )  # fmt: skip

        def ask(selector, body=None, **more):
            payload = json.dumps(body) if isinstance(body, dict) else body
            (reply,) = session.get(f"isovist/{selector}", payload=payload, timeout=120.0, **more)
            told = reply.err if reply.ok is None else reply.ok
            return reply.ok is not None, json.loads(bytes(told.payload))

        try:
            yield endpoint, ask
        finally:
            session.close()


def serving_at(endpoint, folder, **limits):
    """A server with both doors."""
    return serving(folder, door=ZenohDoor(endpoint), **limits)
