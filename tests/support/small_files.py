"""Small sound files of many kinds, to be read, or damaged first."""

import json
import struct
import zlib

import numpy as np
from tests.support.space_writer import POINTS, VALUES

OFFSET = "PARAM robot_frontlaser_offset -0.04 1.0 host 1.0\n"
ODOM = "ODOM 1 2 3 0 0 0 1.0 host 1.0\n"
LASER_SCAN = {
    "angle_min": -1.5,
    "angle_increment": 0.5,
    "ranges": [1.0, None, 2.0, np.nan, np.inf, 30.0, 0.0],
    "range_min": 0.1,
    "range_max": 30.0,
}


def laid(path, content):
    """Write bytes, text, what a function of the path writes, or anything else as JSON."""
    if callable(content):
        content(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def laser_scan(**changes):
    """The fields of a LaserScan; those that are "gone" are left out."""
    return {k: v for k, v in {**LASER_SCAN, **changes}.items() if not np.array_equal(v, "gone")}


def npz(**arrays):
    """What writes those arrays."""
    return lambda path: np.savez(path, **arrays)


def way(count=5):
    """Poses of a robot that drives a curve."""
    steps = np.arange(count)
    return np.stack([0.3 * steps, 0.1 * steps**2, 0.2 * steps], axis=-1)


def scan_set(prefix="", **changes):
    """What writes a log of three scans of which the second is blind; `None` leaves one out."""
    arrays = {
        "ranges_cm": np.array([[100, 250, 0], [0, 0, 0], [300, 8000, 400]], dtype=np.uint16),
        "pose": way(3),
        "odom": way(3) + 1.0,
        "t": np.array([5.0, 6.0, 7.0]),
        "angle_min": -0.5,
        "angle_inc": 0.5,
        "range_max": 80.0,
        "in_map_split": np.array([True, False, False]),
        **changes,
    }
    return npz(**{prefix + key: value for key, value in arrays.items() if value is not None})


def flaser(ranges=(1.0, 2.0, 3.0), laser=(1.0, 2.0, 0.5), robot=(1.1, 2.1, 0.6), time=7.5):
    """A line of a CARMEN log."""
    words = ["FLASER", len(ranges), *ranges, *laser, *robot, time, "host", time]
    return " ".join(map(str, words)) + "\n"


def robotlaser(ranges, kind="ROBOTLASER1", maximum=30.0, start=-1.0, step=0.5):
    """A line of a newer one; a raw laser has no poses."""
    poses = [1.0, 2.0, 0.5, 1.1, 2.1, 0.6, 0.3, 0.1, 0.5, 0.5, 0.0]
    words = [kind, 0, start, 2.0, step, maximum, 0.01, 0, len(ranges), *ranges, 2, 9, 9]
    words += (poses if kind == "ROBOTLASER1" else []) + [7.5, "host", 7.5]
    return " ".join(map(str, words)) + "\n"


def feature(kind, coordinates, **properties):
    """A feature of GeoJSON."""
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def plan(*features):
    """Several of them."""
    return {"type": "FeatureCollection", "features": list(features)}


def png(width, height, data, bits=8):
    """A grey PNG that announces such a size and holds such bytes."""
    head = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(data)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def pcd(path):
    """Write the points of `space_writer` with their values, one of them missing."""
    import pypcd4

    table = np.c_[POINTS, VALUES].astype(np.float32)
    table[7, 1] = np.nan
    pypcd4.PointCloud.from_xyzi_points(table).save(path)


def las(path, points=POINTS):
    """Write points in 0.1 mm with the values of `space_writer`; the suffix says if packed."""
    import laspy

    made = laspy.create()
    made.header.scales = [1e-4] * 3
    made.x, made.y, made.z = points.T
    if len(points) == len(VALUES):
        made.intensity = VALUES.astype(np.uint16)
    made.write(path)


def box(path):
    """Write a closed mesh of 2 × 3 × 4 km, as the suffix says."""
    import trimesh

    trimesh.creation.box((2000.0, 3000.0, 4000.0)).export(path)


def off_floor(vertex, form="ascii"):
    """A PLY mesh whose only face names such a vertex of four."""
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    head = f"ply\nformat {form} 1.0\nelement vertex 4\n"
    head += "".join(f"property float {name}\n" for name in "xyz")
    head += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    if form == "ascii":
        rows = "".join(f"{x} {y} {z}\n" for x, y, z in corners)
        return f"{head}{rows}3 0 1 {vertex}\n".encode()
    body = np.array(corners, "<f4").tobytes() + struct.pack("<Biii", 3, 0, 1, vertex)
    return head.encode() + body
