"""Read messages of bags without ROS: ROS 1 `.bag`, ROS 2 folders, `.db3` and `.mcap`.

The package `rosbags` reads the bags; it is optional: pip install 'isovist[bags]'.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from isovist.errors import FileError, InputError, MissingExtraError, TopicChoiceError
from isovist.io.bag_limits import limit_rosbags
from isovist.io.settings import LIMITS
from isovist.sensing import Scan
from isovist.storage import check_size, decoder_errors, existing_file, is_folder

LASER_SCAN = "sensor_msgs/msg/LaserScan"
"""Type of ROS messages with a 2D scan."""
BAG_SUFFIXES = (".bag", ".db3", ".mcap")
POINT_CLOUD = "sensor_msgs/msg/PointCloud2"
"""Type of ROS messages with a 3D scan."""
ODOMETRY = "nav_msgs/msg/Odometry"
"""Type of ROS messages with odometry."""
TRANSFORMS = ("tf2_msgs/msg/TFMessage", "tf/msg/tfMessage")
TOPICS = {LASER_SCAN: "scan_topic", POINT_CLOUD: "scan_topic", ODOMETRY: "odometry_topic"}
"""The parameter that chooses the topic, by type of message."""


def time_of(header: Any) -> float:
    """Return the time stamp of a message header, in s."""
    return float(header.stamp.sec + 1e-9 * header.stamp.nanosec)


def scan_of(path: Path, message: Any) -> Scan | None:
    """Convert a LaserScan message to a `Scan`; return `None` when no beam is valid."""
    ranges = message.ranges
    low, high = float(message.range_min), float(message.range_max)
    if not ((ranges > 0.0) & (ranges >= low) & (ranges < high)).any():
        return None
    try:
        return Scan.from_laserscan(
            float(message.angle_min),
            float(message.angle_increment),
            ranges,
            range_min=low,
            range_max=high,
            intensities=message.intensities if len(message.intensities) else None,
        )
    except InputError as error:
        raise FileError(f"{path.name} has a broken scan: {error}") from error


def read_messages(
    path: Path, choice: Callable[[list[Any]], list[Any]]
) -> Iterator[tuple[Any, Any]]:
    """Read messages in the order of the bag; yield connection and message.

    Args:
        path: The bag.
        choice: Function that selects some of the connections of the bag.
    """
    for connection, _, message in read_timed_messages(path, choice):
        yield connection, message


def read_timed_messages(
    path: Path, choice: Callable[[list[Any]], list[Any]]
) -> Iterator[tuple[Any, int, Any]]:
    """Read messages in the order of the bag; yield connection, recording time (ns) and message.

    Args:
        path: The bag.
        choice: Function that selects some of the connections of the bag.

    Raises:
        FileError: If the bag is missing or damaged.
    """
    with MissingExtraError.unless_found("Reading a bag", "bags"):
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    if not is_folder(path):
        existing_file(path, "a bag")
    elif not (path / "metadata.yaml").exists():
        raise FileError(
            f"{path} is a folder without metadata.yaml, so it is not a ROS 2 bag.",
            code="unknown_format",
        )
    else:
        for part in sorted(path.iterdir()):  # opening a pipe would block
            if part.suffix in (".yaml", ".db3", ".mcap"):
                existing_file(part, "a part of a bag")
        check_size(path / "metadata.yaml", "that of a bag", LIMITS.bag_metadata_bytes)
    limit_rosbags()
    # Bags before ROS 2 Iron do not bring the definitions of their messages.
    types = get_typestore(Stores.ROS2_HUMBLE)
    with (
        decoder_errors(path, "is no sound bag"),
        AnyReader([path], default_typestore=types) as reader,
    ):
        selection = choice(reader.connections)
        if not selection:  # rosbags takes an empty selection for all connections
            return
        # Its cursor must end before its database closes, also when nobody reads to the end.
        with closing(reader.messages(connections=selection)) as messages:
            for connection, time, data in messages:
                yield connection, time, reader.deserialize(data, connection.msgtype)


def select_connections(
    path: Path, connections: list[Any], *kinds: str, topic: str | None
) -> list[Any]:
    """Return the connections of a topic, or of the only topic of some message types.

    Args:
        path: The bag, for the error text.
        connections: All connections of the bag.
        kinds: Types of the messages of the topic.
        topic: The topic; `None` if the bag has only one topic of the given types.

    Raises:
        FileError: If the bag has no topic of the given types.
        TopicChoiceError: If the bag has several such topics and none is given.
        InputError: If the bag does not have the given topic.
    """
    short, option = " or ".join(map(_short, kinds)), TOPICS[kinds[0]]
    topics = sorted({c.topic for c in connections if c.msgtype in kinds})
    if not topics:
        others = sorted({f"{c.topic} ({_short(c.msgtype)})" for c in connections})
        has = f" It has: {', '.join(others)}." if others else " It has none at all."
        raise FileError(f"{path.name} has no topic of type {short}.{has}")
    if topic is None and len(topics) > 1:
        several = f"{path.name} has {len(topics)} topics of type {short}"
        error = TopicChoiceError.about(
            option, f"must name a topic; {several}: {', '.join(topics)}."
        )
        error.topics = tuple(topics)
        raise error
    if topic is not None and topic not in topics:
        raise InputError(
            f"{path.name} has no topic {topic!r} of type {short}. It has: {', '.join(topics)}."
        )
    name = topics[0] if topic is None else topic
    return [c for c in connections if c.topic == name and c.msgtype in kinds]


def _short(kind: str) -> str:
    return kind.rsplit("/", 1)[-1]
