"""Cast rays in a mesh with our own kernel, along a tree of boxes around its faces."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray
from isovist.compute import (
    BOX_MARGIN,
    LEAF_FACES,
    NODE_ROWS,
    NODE_WIDTH,
    build_tree,
    cast_faces,
    flatten_tree,
    move_nodes,
)


@dataclass(frozen=True, slots=True, eq=False)
class FaceTree:
    """The faces of a mesh in a bounding-volume hierarchy, in the form `compute.rays.mesh` takes.

    Attributes:
        centre: The middle of the mesh, shape (3,), in m.
        half: Half the size of the mesh, and the margin of its boxes, shape (3,), in m.
        normals: Unit normals of the faces, shape (m, 3).
        corners: Corners of the faces of each leaf about the centre, shape (g, 9, LEAF_FACES).
        groups: Numbers of the faces of each leaf, shape (g, LEAF_FACES).
        boxes: Boxes of the children of each node, shape (n, NODE_ROWS, NODE_WIDTH).
        depth: Maximum number of nodes that wait while a ray is cast.
    """

    centre: FloatArray
    half: FloatArray
    normals: FloatArray
    corners: FloatArray
    groups: IntArray
    boxes: Float32Array
    depth: int

    @classmethod
    def of(cls, vertices: FloatArray, faces: IntArray, normals: FloatArray) -> "FaceTree":
        """Build the tree from vertices (v, 3), faces (m, 3) and their normals (m, 3)."""
        corners, m = vertices[faces], len(faces)
        lows, highs = corners.min(axis=1), corners.max(axis=1)
        order, children = np.empty(m, np.int64), np.empty((2 * m, 2), np.int64)
        low, high = np.empty((2 * m, 3)), np.empty((2 * m, 3))
        nodes = build_tree(lows, highs, order, low, high, children)
        low, high, children = low[:nodes], high[:nodes], children[:nodes]
        move_nodes(low, high, children)
        bounds = np.stack([lows.min(axis=0), highs.max(axis=0)])
        centre, half = bounds.mean(axis=0), 0.5 * np.ptp(bounds, axis=0)
        margin = BOX_MARGIN * float(half.max())
        boxes = _aligned((nodes, NODE_ROWS, NODE_WIDTH), np.float32)
        groups = np.zeros((nodes, LEAF_FACES), np.int64)
        wide_nodes, leaves, depth = flatten_tree(
            low, high, children, order, centre, margin, boxes, boxes.view(np.int32), groups
        )
        groups = groups[:leaves]
        packed = _aligned((leaves, 9, LEAF_FACES), np.float64)
        packed[:] = (corners - centre)[groups].reshape(leaves, LEAF_FACES, 9).swapaxes(1, 2)
        return cls(centre, half + margin, normals, packed, groups, boxes[:wide_nodes], depth)

    def cast(
        self, o: FloatArray, d: FloatArray, *, counting: bool = False
    ) -> tuple[FloatArray, IntArray, FloatArray, NDArray[np.uint8]]:
        """Cast rays; return ranges, faces, normals and endings, one of each per ray.

        Args:
            o: Origins, shape (m, 3), in m.
            d: Directions of any length, shape (m, 3).
            counting: Return the number of faces that each ray meets in place of the first face;
                −1 if the ray meets an edge or a corner.
        """
        ranges, normals = np.empty(len(o)), np.empty((len(o), 3))
        faces, endings = np.empty(len(o), np.int64), np.empty(len(o), np.uint8)
        cast_faces(
            o, d, counting,
            self.centre, self.half, self.corners, self.normals, self.groups, self.boxes, self.depth,
            ranges, faces, normals, endings,
        )  # fmt: skip
        return ranges, faces, normals, endings


def _aligned(shape: tuple[int, ...], kind: type[Any]) -> NDArray[Any]:
    """Return an empty array that begins at a cache line."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    buffer = np.empty(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(kind).reshape(shape)
