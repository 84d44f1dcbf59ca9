"""Replay a bag as a message bus, and store what the node publishes.

Nothing waits and nothing is random, so the same bag gives the same bytes. What a node publishes is
written as if it had been recorded with the message that it answers.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Topic
from isovist.errors import FileError, InputError, MissingExtraError
from isovist.io import TRANSFORMS, read_timed_messages

SUFFIX = ".mcap"


class BagBus:
    """A message bus that replays a bag.

    Attributes:
        published: Published messages: topic, recording time in ns, and message.
    """

    def __init__(self, path: Path, output: Path | None = None) -> None:
        """Open the bag to replay, and a bag for published messages, if any.

        Args:
            path: A bag of ROS 1 or ROS 2.
            output: An .mcap file that must not be there yet; `None` keeps the messages in memory.
        """
        self.path = path
        self.published: list[tuple[Topic, int, Any]] = []
        self._subscriptions: dict[str, tuple[Topic, list[Callable[[Any], None]]]] = {}
        self._time = 0
        self._writer = None if output is None else BagWriter(output)

    def subscribe(self, topic: Topic, callback: Callable[[Any], None]) -> None:
        """Register a function that is called with each message of a topic of the bag."""
        self._subscriptions.setdefault(topic.name, (topic, []))[1].append(callback)

    def advertise(self, topic: Topic) -> Callable[[Any], None]:
        """Return a function that stores or writes messages on a topic."""

        def publish(message: Any) -> None:
            if self._writer is None:
                self.published.append((topic, self._time, message))
            else:
                self._writer.write(topic, self._time, message)

        return publish

    def serve(self, name: str, callback: Callable[[], tuple[bool, str]]) -> None:
        """Ignore a service, since a bag has no clients."""

    def run(self) -> int:
        """Replay the whole bag and return the number of messages."""
        count = 0
        try:
            for connection, time, message in read_timed_messages(self.path, self._choose):
                self._time, count = time, count + 1
                for callback in self._subscriptions[connection.topic][1]:
                    callback(message)
        finally:
            if self._writer is not None:
                self._writer.close()
        return count

    def _choose(self, connections: list[Any]) -> list[Any]:
        selected = [c for c in connections if self._fits(c)]
        scans = [t for t, _ in self._subscriptions.values() if t.kind.startswith("sensor_msgs/")]
        for topic in scans:
            if topic.name not in {c.topic for c in selected}:
                short = topic.kind.rsplit("/", 1)[-1]
                topics = sorted(c.topic for c in connections if c.msgtype == topic.kind)
                raise InputError(
                    f"{self.path.name} has no topic {topic.name!r} of type {short}. "
                    f"It has: {', '.join(topics) or 'none'}."
                )
        return selected

    def _fits(self, connection: Any) -> bool:
        if connection.topic not in self._subscriptions:
            return False
        kind = self._subscriptions[connection.topic][0].kind
        return connection.msgtype == kind or {connection.msgtype, kind} <= set(TRANSFORMS)


class BagWriter:
    """A writer of an `.mcap` file of messages with times in ns."""

    def __init__(self, path: Path) -> None:
        """Begin a file that is not there yet."""
        with MissingExtraError.unless_found("Writing a bag", "ros"):
            from rosbags.rosbag2 import StoragePlugin, Writer
        if path.suffix != SUFFIX:
            raise InputError(f"{path.name}: a bag is written as {SUFFIX}.", code="unknown_format")
        if path.exists():
            raise FileError(
                f"{path} is there already. Take another name, or remove it.", code="file_exists"
            )
        if not path.parent.is_dir():
            raise FileError(
                f"{path.parent} is no folder, so no bag can be written there.", code="not_found"
            )
        self.path, self._folder = path, path.with_name(path.name + ".partial")
        if self._folder.exists():
            raise FileError(f"{self._folder} is there already. Remove it.", code="file_exists")
        self._connections: dict[str, Any] = {}
        self._folder.mkdir()
        # The name of this folder is written into the file: the same for the same bytes.
        subfolder = self._folder / "isovist"
        self._writer = Writer(subfolder, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()

    def write(self, topic: Topic, time: int, message: Any) -> None:
        """Write a message on a topic, with its time in ns."""
        if topic.name not in self._connections:
            self._connections[topic.name] = self._writer.add_connection(
                topic.name, topic.kind, typestore=messages.typestore()
            )
        data = messages.encode(topic.kind, message)
        self._writer.write(self._connections[topic.name], time, data)

    def close(self) -> None:
        """Finish the file and move it to its final path."""
        self._writer.close()
        (file,) = self._folder.glob(f"*/*{SUFFIX}")
        file.rename(self.path)
        shutil.rmtree(self._folder)
