"""Speak ROS 2 over zenoh without ROS: router, sessions, keys and QoS of rmw_zenoh.

A message travels as CDR on the key

    DOMAIN/TOPIC/PACKAGE::msg::dds_::TYPE_/RIHS01_HASH                                       (1)

with an attachment of 33 bytes: sequence number and time in ns, 8 bytes each, and the publisher's
own 16 with their count before them.  Publishers, subscribers and services announce themselves by a
liveliness token

    @ros2_lv/DOMAIN/SESSION/0/NUMBER/KIND/%/%/NODE/%TOPIC/TYPE/HASH/QOS,                      (2)

which `ros2 topic list` and similar tools read.  Other versions of ROS may have another hash, so
subscribers take any.  Publishers cache latched topics, and late subscribers query them.
"""

import hashlib
import json
import struct
from collections import deque
from collections.abc import Callable
from threading import Condition
from time import time_ns
from typing import Any

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Topic, deliver
from isovist.errors import InputError, MissingExtraError

ROUTER = "tcp/localhost:7447"
"""Where the routers of rmw_zenoh listen."""
MAX_WAITING = 1000
"""Maximum number of waiting messages of a topic, e.g. while an atlas is built."""
DEFAULT_DEPTH = 42
"""Default depth of rmw_zenoh, which a token leaves out."""


class ZenohBus:
    """A message bus over zenoh; callbacks run in the thread that calls `run`.

    Attributes:
        lost: Number of messages dropped because too many waited, by topic.
    """

    def __init__(self, *, endpoint: str = ROUTER, domain: int = 0, node: str = "isovist") -> None:
        """Open a session.

        Args:
            endpoint: Where a router listens, e.g. `tcp/localhost:7447`.
            domain: ROS_DOMAIN_ID.
            node: Name of the node.
        """
        zenoh = _zenoh()
        self._session = open_session({
            "mode": "peer", "connect/endpoints": [endpoint], "scouting/multicast/enabled": False,
            "listen/endpoints": ["tcp/localhost:0"], "connect/timeout_ms": 5000,
            "connect/exit_on_failure": True, "timestamping/enabled": True,
        }, f"No zenoh router answers at {endpoint}. Start one, or give `--router`.")  # fmt: skip
        self._zenoh, self._domain, self._node = zenoh, domain, node
        self._declarations: list[Any] = []
        self._entities = 0
        self._queues: dict[str, deque[tuple[Topic, bytes, Callable[[Any], None]]]] = {}
        self._order: deque[str] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._awake = Condition()
        self._ends = False
        self.lost: dict[str, int] = {}
        self._token("NN", "")

    def subscribe(self, topic: Topic, callback: Callable[[Any], None]) -> None:
        """Register a function that is called with each message of a topic, by `run`."""
        ext, zenoh = self._zenoh.ext, self._zenoh
        self._queues[topic.name] = deque()

        def receive(sample: Any) -> None:
            self._enqueue(topic, bytes(sample.payload), callback)

        late = ext.HistoryConfig(detect_late_publishers=True, max_samples=topic.depth)
        self._declarations.append(ext.declare_advanced_subscriber(
            self._session, f"{self._key(topic.name, topic.kind)}/*", receive,
            allowed_origin=zenoh.Locality.REMOTE, history=late if topic.latched else None,
        ))  # fmt: skip
        self._token("MS", topic.name, topic.kind, _qos(topic))

    def advertise(self, topic: Topic) -> Callable[[Any], None]:
        """Return a function that publishes messages on a topic."""
        ext, zenoh = self._zenoh.ext, self._zenoh
        key = f"{self._key(topic.name, topic.kind)}/{messages.hash_of(topic.kind)}"
        options: dict[str, Any] = {}
        if topic.latched:
            options = {
                "cache": ext.CacheConfig(max_samples=topic.depth),
                "publisher_detection": True,
            }
        publisher = ext.declare_advanced_publisher(
            self._session, key, congestion_control=zenoh.CongestionControl.BLOCK
            if topic.reliable else zenoh.CongestionControl.DROP, **options,
        )  # fmt: skip
        self._declarations.append(publisher)
        token = self._token("MP", topic.name, topic.kind, _qos(topic)).encode()
        gid = hashlib.md5(token, usedforsecurity=False).digest()
        count = 0

        def publish(message: Any) -> None:
            nonlocal count
            count += 1
            publisher.put(
                messages.encode(topic.kind, message), attachment=attachment(count, time_ns(), gid)
            )

        return publish

    def serve(self, name: str, callback: Callable[[], tuple[bool, str]]) -> None:
        """Offer a `std_srvs/srv/Trigger` service, whose callbacks run in the thread of `run`."""
        kind = messages.TRIGGER
        key = f"{self._key(name, kind)}/{messages.hash_of(kind)}"

        def handle(query: Any) -> None:
            def answer() -> None:
                success, words = callback()
                reply = messages.ros_type(f"{kind}_Response")(success=success, message=words)
                query.reply(
                    key, messages.encode(f"{kind}_Response", reply), attachment=query.attachment
                )
                query.drop()

            with self._awake:
                self._calls.append(answer)
                self._awake.notify()

        self._declarations.append(self._session.declare_queryable(key, handle, complete=True))
        self._token("SS", name, kind, "::,10:,:,:,,")

    def run(self, seconds: float | None = None) -> None:
        """Handle messages until `stop` is called, or until none came for the given time in s."""
        while True:
            with self._awake:
                ready = self._awake.wait_for(
                    lambda: self._ends or self._calls or self._order, timeout=seconds
                )
                if self._ends or not ready:
                    return
                call = self._calls.popleft() if self._calls else None
                item = None if call else self._queues[self._order.popleft()].popleft()
            if call is not None:
                call()
            elif item is not None:
                deliver(*item)

    def stop(self) -> None:
        """Make `run` return; this can be called from any thread."""
        with self._awake:
            self._ends = True
            self._awake.notify()

    def close(self) -> None:
        """Stop `run` and leave the network."""
        self.stop()
        self._declarations.clear()
        self._session.close()

    def __enter__(self) -> "ZenohBus":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enqueue(self, topic: Topic, data: bytes, callback: Callable[[Any], None]) -> None:
        """Queue a message for `run`; drop the oldest of a topic with too many."""
        with self._awake:
            queue = self._queues[topic.name]
            queue.append((topic, data, callback))
            if len(queue) > max(topic.depth, MAX_WAITING):
                queue.popleft()
                self.lost[topic.name] = self.lost.get(topic.name, 0) + 1
            else:
                self._order.append(topic.name)
            self._awake.notify()

    def _key(self, name: str, kind: str) -> str:
        """Return the key (1) without the hash."""
        package, group, short = kind.split("/")
        return f"{self._domain}/{name.strip('/')}/{package}::{group}::dds_::{short}_"

    def _token(self, entity: str, name: str, kind: str = "", qos: str = "") -> str:
        """Declare the liveliness token (2), and return it."""
        number, self._entities = self._entities, self._entities + 1
        parts = ["@ros2_lv", str(self._domain), str(self._session.zid()), "0", str(number)]
        parts += [entity, "%", "%", self._node]
        if kind:
            dds = self._key(name, kind).rsplit("/", 1)[-1]
            parts += [name.replace("/", "%"), dds, messages.hash_of(kind), qos]
        token = "/".join(parts)
        self._declarations.append(self._session.liveliness().declare_token(token))
        return token


class Router:
    """A zenoh router in this process, for machines where none runs."""

    def __init__(self, endpoint: str = ROUTER) -> None:
        """Listen at an endpoint."""
        _zenoh()
        self._session = open_session(
            {"mode": "router", "listen/endpoints": [endpoint],
             "scouting/multicast/enabled": False},
            f"No router can listen at {endpoint}. Does one run already? Then leave out `--router`.",
        )  # fmt: skip

    def close(self) -> None:
        """Stop the router."""
        self._session.close()

    def __enter__(self) -> "Router":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def attachment(number: int, time: int, gid: bytes) -> bytes:
    """Return the attachment of an rmw_zenoh message: sequence number, time in ns, publisher."""
    return struct.pack("<qqB16s", number, time, 16, gid)


def _qos(topic: Topic) -> str:
    """Return reliability, durability, history and depth where they are not the default."""
    depth = "" if topic.depth == DEFAULT_DEPTH else str(topic.depth)
    return f"{'' if topic.reliable else '2'}:{'1' if topic.latched else ''}:,{depth}:,:,:,,"


def _zenoh(purpose: str = "ROS 2 without a ROS installation") -> Any:
    with MissingExtraError.unless_found(purpose, "ros"):
        import zenoh
        import zenoh.ext
    return zenoh


def open_session(values: dict[str, Any], failure: str, *purpose: str) -> Any:
    """Open a zenoh session.

    Args:
        values: Configuration values by key.
        failure: Error text for a session that cannot be opened.
        purpose: Name of the function that needs zenoh, if it is not ROS 2.
    """
    zenoh = _zenoh(*purpose)
    config = zenoh.Config()
    try:
        for key, value in values.items():
            config.insert_json5(key, json.dumps(value))
        return zenoh.open(config)
    except zenoh.ZError as error:
        raise InputError(failure, code="unavailable") from error
