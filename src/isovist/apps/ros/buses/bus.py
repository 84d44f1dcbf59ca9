"""Define what a node needs of a transport: topics in, topics out, a service."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from isovist.apps.ros import messages
from isovist.errors import IsovistError

log = logging.getLogger("isovist.ros")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its quality of service.

    Attributes:
        name: Name with its slashes, e.g. `/scan`.
        kind: Type of the messages, e.g. `sensor_msgs/msg/LaserScan`.
        latched: Whether late subscribers get the last message, as for `/map`.
        depth: Maximum number of waiting messages; the oldest is dropped first.
        reliable: Whether lost messages are sent again; sensors leave it off.
    """

    name: str
    kind: str
    latched: bool = False
    depth: int = 10
    reliable: bool = True


class Bus(Protocol):
    """Transport of messages; calls back one message at a time, always from the same thread."""

    def subscribe(self, topic: Topic, callback: Callable[[Any], None]) -> None:
        """Call back with each message of a topic."""
        ...

    def advertise(self, topic: Topic) -> Callable[[Any], None]:
        """Return a function that publishes messages on a topic."""
        ...

    def serve(self, name: str, callback: Callable[[], tuple[bool, str]]) -> None:
        """Offer a `std_srvs/srv/Trigger` service; the callback returns success and a message."""
        ...


def deliver(topic: Topic, data: bytes, callback: Callable[[Any], None]) -> None:
    """Decode a CDR message and call back with it; log a damaged one."""
    try:
        message = messages.decode(topic.kind, data)
    except IsovistError as error:
        log.warning("%s: %s", topic.name, error)
    else:
        call(topic, callback, message)


def call(topic: Topic, callback: Callable[[Any], None], message: Any) -> None:
    """Call back with a message; log any error, so that the node goes on."""
    try:
        callback(message)
    except IsovistError as error:
        log.warning("%s: %s", topic.name, error)
    except Exception:
        log.exception("%s: a message could not be handled", topic.name)
