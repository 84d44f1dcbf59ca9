"""Convert between ROS 2 messages, as `rosbags` makes them, and poses, maps and answers.

Covariances of ROS have the order x, y, z, roll, pitch, yaw; ours (x, y, yaw, …). Coordinates that
were not fitted get a small variance, since many readers take 0 as unknown or invert the matrix.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError, MissingExtraError
from isovist.localization import Estimate
from isovist.maps import Cell, OccupancyMap
from isovist.poses import AnyPose, Pose, Pose3

POSE = "geometry_msgs/msg/PoseWithCovarianceStamped"
POSES = "geometry_msgs/msg/PoseArray"
MAP = "nav_msgs/msg/OccupancyGrid"
VERDICT = "diagnostic_msgs/msg/DiagnosticArray"
MARKERS = "visualization_msgs/msg/MarkerArray"
TRANSFORM = "tf2_msgs/msg/TFMessage"
TRIGGER = "std_srvs/srv/Trigger"
TRIGGER_HASH = "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f"
"""Hash of the service; rosbags knows only types of messages."""
UNFITTED_VARIANCE = 1e-6
"""Variance of a coordinate that was not fitted, in m² or rad²."""
OCCUPIED, FREE = 65, 25
"""Occupied from here on and free up to here, in %, as in map_server."""
COLOURS = ((0.0, 0.6, 0.2), (1.0, 0.6, 0.0))
"""Colours of the best estimate and of rivals in RViz."""


@cache
def typestore() -> Any:
    """Return the message types of ROS 2, with the service type that the node offers."""
    with MissingExtraError.unless_found("ROS 2", "ros"):
        from rosbags.interfaces import Nodetype
        from rosbags.typesys import Stores, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    flag: Any = (Nodetype.BASE, ("bool", 0))
    text: Any = (Nodetype.BASE, ("string", 0))
    store.register({
        f"{TRIGGER}_Request": ([], []),
        f"{TRIGGER}_Response": ([], [("success", flag), ("message", text)]),
    })  # fmt: skip
    return store


def ros_type(kind: str) -> Any:
    """Return the class of a message type; call it with the fields of a message."""
    return typestore().types[kind]


def encode(kind: str, message: Any) -> bytes:
    """Encode a message as CDR bytes."""
    return bytes(typestore().serialize_cdr(message, kind))


def decode(kind: str, data: bytes) -> Any:
    """Decode a message from CDR bytes, or raise an error."""
    try:
        return typestore().deserialize_cdr(data, kind)
    except Exception as error:  # whatever a damaged message makes rosbags raise
        raise InputError(
            f"{len(data)} bytes are no {kind}.", code="invalid_file", field="data"
        ) from error


def prepare(kind: str) -> None:
    """Generate the code of a message type now, not when it is first used."""
    typestore().get_msgdef(kind)


def hash_of(kind: str) -> str:
    """Return the hash of a type (REP 2011) that is part of the keys of rmw_zenoh."""
    return TRIGGER_HASH if kind == TRIGGER else str(typestore().hash_rihs01(kind))


def header(time: float, frame: str) -> Any:
    """Create a message header from a time in s and a frame."""
    sec = math.floor(time)
    nanosec = round(1e9 * (time - sec))
    sec, nanosec = (sec + 1, 0) if nanosec >= 10**9 else (sec, nanosec)
    stamp = ros_type("builtin_interfaces/msg/Time")(sec=sec, nanosec=nanosec)
    return ros_type("std_msgs/msg/Header")(stamp=stamp, frame_id=frame)


def pose_message(pose: AnyPose) -> Any:
    """Convert a pose to a geometry_msgs/Pose message."""
    T = Pose3.lifted(pose)
    return ros_type("geometry_msgs/msg/Pose")(
        position=ros_type("geometry_msgs/msg/Point")(**_fields("xyz", T.position)),
        orientation=ros_type("geometry_msgs/msg/Quaternion")(**_fields("xyzw", T.quaternion)),
    )


def stamped_pose(estimate: Estimate, time: float, frame: str) -> Any:
    """Convert an estimate to a PoseWithCovarianceStamped with variances above 0."""
    covariance = estimate.covariance_ros.copy()
    diagonal = np.arange(0, 36, 7)
    covariance[diagonal] = np.maximum(covariance[diagonal], UNFITTED_VARIANCE)
    pose = ros_type("geometry_msgs/msg/PoseWithCovariance")(
        pose=pose_message(estimate.pose), covariance=covariance
    )
    return ros_type(POSE)(header=header(time, frame), pose=pose)


def pose_of(message: Any) -> tuple[Pose, FloatArray]:
    """Return the 2D pose and covariance of (x, y, yaw) of a PoseWithCovarianceStamped."""
    T = transform_of(message.pose.pose.position, message.pose.pose.orientation)
    full = np.asarray(message.pose.covariance, dtype=np.float64).reshape(6, 6)
    part = full[np.ix_([0, 1, 5], [0, 1, 5])]
    if not np.isfinite(part).all() or np.linalg.eigvalsh(0.5 * (part + part.T))[0] < -1e-9:
        raise InputError(
            "The covariance of the pose is not finite, or negative.", field="covariance"
        )
    return T.flat, 0.5 * (part + part.T)


def transform_of(position: Any, rotation: Any) -> Pose3:
    """Return the 3D pose of a position and a quaternion, or raise an error."""
    q = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    p = np.array([position.x, position.y, position.z])
    if not (np.isfinite(p).all() and 0.99 < float(np.linalg.norm(q)) < 1.01):
        raise InputError("The pose is not finite, or its quaternion is no rotation.", field="pose")
    return Pose3.from_quaternion(q, p)


def poses_message(estimates: Iterable[Estimate], time: float, frame: str) -> Any:
    """Convert estimates to a PoseArray message."""
    return ros_type(POSES)(
        header=header(time, frame), poses=[pose_message(e.pose) for e in estimates]
    )


def transforms_message(pose: Pose, time: float, parent: str, child: str) -> Any:
    """Convert a pose to a TFMessage with one link."""
    T = Pose3.lifted(pose)
    transform = ros_type("geometry_msgs/msg/Transform")(
        translation=ros_type("geometry_msgs/msg/Vector3")(**_fields("xyz", T.position)),
        rotation=ros_type("geometry_msgs/msg/Quaternion")(**_fields("xyzw", T.quaternion)),
    )
    link = ros_type("geometry_msgs/msg/TransformStamped")(
        header=header(time, parent), child_frame_id=child, transform=transform,
    )  # fmt: skip
    return ros_type(TRANSFORM)(transforms=[link])


def verdict_message(
    time: float, frame: str, name: str, level: int, words: str, values: Mapping[str, str]
) -> Any:
    """Create a DiagnosticArray of one status; level 0 is fine, 1 a warning, 2 an error."""
    pairs = [ros_type("diagnostic_msgs/msg/KeyValue")(key=k, value=v) for k, v in values.items()]
    status = ros_type("diagnostic_msgs/msg/DiagnosticStatus")(
        level=level, name=name, message=words, hardware_id="", values=pairs,
    )  # fmt: skip
    return ros_type(VERDICT)(header=header(time, frame), status=[status])


def markers_message(estimates: Iterable[Estimate], time: float, frame: str) -> Any:
    """Create a MarkerArray with an arrow per estimate; the best is green, unlikely ones pale."""
    clear = _marker(time, frame, 0, pose_message(Pose()), (0.0, 0.0, 0.0, 0.0), action=3)
    arrows = [
        _marker(time, frame, k, pose_message(e.pose), (*COLOURS[k > 0], max(0.2, e.probability)))
        for k, e in enumerate(estimates)
    ]
    return ros_type(MARKERS)(markers=[clear, *arrows])


def map_of(message: Any) -> OccupancyMap:
    """Convert an OccupancyGrid message to a map."""
    info = message.info
    values = np.asarray(message.data, dtype=np.int8)
    if info.width * info.height != values.size or values.size == 0:
        raise InputError(
            f"The map has {values.size} cells, and says {info.width} × {info.height} of them.",
            code="conflict",
            field="data",
        )
    cells = np.full(values.shape, Cell.UNKNOWN, dtype=np.uint8)
    cells[(values >= 0) & (values <= FREE)] = Cell.FREE
    cells[values >= OCCUPIED] = Cell.OCCUPIED
    origin = transform_of(info.origin.position, info.origin.orientation).flat
    side = float(f"{info.resolution:.6g}")  # a float32 on the wire: 0.05 again
    return OccupancyMap(cells.reshape(info.height, info.width), side, origin)


def map_message(world: OccupancyMap, time: float, frame: str) -> Any:
    """Convert a map to an OccupancyGrid message."""
    values = np.full(world.cells.shape, -1, dtype=np.int8)
    values[world.cells == Cell.FREE] = 0
    values[world.cells == Cell.OCCUPIED] = 100
    info = ros_type("nav_msgs/msg/MapMetaData")(
        map_load_time=header(time, "").stamp, resolution=world.resolution,
        width=world.cells.shape[1], height=world.cells.shape[0], origin=pose_message(world.origin),
    )  # fmt: skip
    return ros_type(MAP)(header=header(time, frame), info=info, data=values.ravel())


def _marker(
    time: float, frame: str, number: int, pose: Any, colour: tuple[float, ...], action: int = 0
) -> Any:
    zero = ros_type("builtin_interfaces/msg/Duration")(sec=0, nanosec=0)
    empty = np.empty(0, dtype=np.uint8)
    texture = ros_type("sensor_msgs/msg/CompressedImage")
    mesh_file = ros_type("visualization_msgs/msg/MeshFile")
    return ros_type("visualization_msgs/msg/Marker")(
        header=header(time, frame), ns="isovist", id=number, type=0, action=action, pose=pose,
        scale=ros_type("geometry_msgs/msg/Vector3")(x=0.6, y=0.12, z=0.12),
        color=ros_type("std_msgs/msg/ColorRGBA")(**_fields("rgba", colour)),
        lifetime=zero, frame_locked=False, points=[], colors=[], texture_resource="",
        texture=texture(header=header(0.0, ""), format="", data=empty),
        uv_coordinates=[], text="", mesh_resource="",
        mesh_file=mesh_file(filename="", data=empty),
        mesh_use_embedded_materials=False,
    )  # fmt: skip


def _fields(names: str, values: Iterable[Any]) -> dict[str, float]:
    return dict(zip(names, (float(value) for value in values), strict=True))
