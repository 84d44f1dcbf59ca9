"""Files of space, byte by byte: PLY clouds and OctoMaps."""

import struct

import numpy as np

POINTS = np.random.default_rng(0).uniform(-3, 5, (150, 3)).astype("<f4").astype(float)
VALUES = np.arange(150.0)


def ply(form, faces=0):
    header = f"ply\nformat {form} 1.0\ncomment made by hand\nelement vertex 150\n"
    header += "".join(f"property float {name}\n" for name in ("x", "y", "z", "scalar_intensity"))
    if faces:
        header += f"element face {faces}\nproperty list uchar int vertex_indices\n"
    header += "end_header\n"
    table = np.c_[POINTS, VALUES]
    if form == "ascii":
        body = "".join(" ".join(repr(float(x)) for x in row) + "\n" for row in table)
        return (header + body + "3 0 1 2\n" * faces).encode()
    order = "<" if "little" in form else ">"
    tail = struct.pack(order + "Biii", 3, 0, 1, 2) * faces
    return header.encode() + table.astype(order + "f4").tobytes() + tail


def octree(kinds, binary=True, resolution=0.5):
    """An OctoMap whose finest cells next to the origin, in its eight octants, are as given.

    kinds: "f" free, "o" occupied or "." unknown for the octants, in the order of their bits.
    """
    nodes = 1
    value = {"f": -1.0, "o": 2.0}
    bits = {"f": 1, "o": 2, ".": 0}
    used = [i for i in range(8) if kinds[i] != "."]
    root = struct.pack("<H", sum(3 << (2 * i) for i in used))
    body = root if binary else struct.pack("<fB", 0.0, sum(1 << i for i in used))
    for i in used:
        # Towards the origin an octant goes down to its child on the opposite side.
        child = 7 - i
        step = (
            struct.pack("<H", 3 << (2 * child)) if binary else struct.pack("<fB", 0.0, 1 << child)
        )
        body += 14 * step
        nodes += 16
        if binary:
            body += struct.pack("<H", bits[kinds[i]] << (2 * child))
        else:
            body += struct.pack("<fB", 0.0, 1 << child) + struct.pack("<fB", value[kinds[i]], 0)
    kind = "binary file" if binary else "file"
    header = f"# Octomap OcTree {kind}\nid OcTree\nsize {nodes}\nres {resolution}\ndata\n"
    return header.encode() + body


def write_ply(path, points, faces=()):
    """A PLY file in text."""
    head = f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n"
    head += "".join(f"property float {name}\n" for name in "xyz")
    head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\n" if faces else ""
    rows = [f"{x:.6f} {y:.6f} {z:.6f}" for x, y, z in points]
    rows += [f"3 {a} {b} {c}" for a, b, c in faces]
    path.write_text(head + "end_header\n" + "\n".join(rows) + "\n")
