"""PointCloud2 as three vendors lay it out, to be written into bags."""

import numpy as np

TYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
VENDORS = {
    "velodyne": (
        22,
        [("x", 0, "f4"), ("y", 4, "f4"), ("z", 8, "f4"), ("intensity", 12, "f4"),
         ("ring", 16, "u2"), ("time", 18, "f4")],
    ),
    "ouster": (
        48,
        [("x", 0, "f4"), ("y", 4, "f4"), ("z", 8, "f4"), ("intensity", 16, "f4"), ("t", 20, "u4"),
         ("reflectivity", 24, "u2"), ("ring", 26, "u2"), ("ambient", 28, "u2"),
         ("range", 32, "u4")],
    ),
    "livox": (
        26,
        [("x", 0, "f4"), ("y", 4, "f4"), ("z", 8, "f4"), ("intensity", 12, "f4"), ("tag", 16, "u1"),
         ("line", 17, "u1"), ("timestamp", 18, "f8")],
    ),
    "doubles": (32, [("z", 0, "f8"), ("x", 8, "f8"), ("y", 16, "f8")]),
}  # fmt: skip
"""Step of a point in bytes, and name, offset and type of its fields."""


def laid_out(time, columns, vendor, *, rows=1, padding=0, order="<", **other):
    """A PointCloud2 of columns by name, to be written (`bag_writer.write_bag`).

    rows: how many the cloud is organised in; padding: bytes at the end of each.
    """
    step, fields = VENDORS[vendor]
    names, offsets, kinds = zip(*fields, strict=True)
    kind = np.dtype(
        {"names": names, "formats": [order + k for k in kinds], "offsets": offsets,
         "itemsize": step}
    )  # fmt: skip
    count = len(columns["x"])
    table = np.zeros(count, kind)
    for name in names:
        table[name] = columns.get(name, 5)
    lines = np.frombuffer(table.tobytes(), dtype=np.uint8).reshape(rows, -1)
    data = np.pad(lines, [(0, 0), (0, padding)], constant_values=255)
    message = {
        "fields": [(name, offset, TYPES[k]) for name, offset, k in fields],
        "shape": (rows, count // rows), "steps": (data.shape[1], step), "big": order == ">",
        "data": data.ravel(), "frame": "lidar", **other,
    }  # fmt: skip
    return "/points", "layout", time, message


def layout(types, header, said):
    """The message of what `laid_out` gave."""
    make = types["sensor_msgs/msg/PointField"]
    return types["sensor_msgs/msg/PointCloud2"](
        header=header,
        height=said["shape"][0],
        width=said["shape"][1],
        fields=[make(name=n, offset=at, datatype=kind, count=1) for n, at, kind in said["fields"]],
        is_bigendian=said["big"],
        point_step=said["steps"][1],
        row_step=said["steps"][0],
        data=said["data"],
        is_dense=False,
    )
