"""Find the edges of a mesh, and the faces at each."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import IntArray, readonly


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The edges of a mesh, and the faces at each.

    Attributes:
        ends: Vertices of each edge, shape (e, 2), the smaller index first.
        offsets: Where the faces of each edge begin in `faces`, shape (e + 1,).
        faces: Faces at each edge, edge after edge.
        opposite: For each of those, the vertex of the face that is not on the edge.
    """

    ends: IntArray
    offsets: IntArray
    faces: IntArray
    opposite: IntArray

    @classmethod
    def of_faces(cls, faces: IntArray) -> "Edges":
        """Make the edges from faces of three vertices each, shape (m, 3)."""
        m, vertices = len(faces), int(faces.max()) + 1
        face = np.repeat(np.arange(m), 3)
        a, b, c = (np.roll(faces, -k, axis=1).ravel() for k in range(3))
        key = np.minimum(a, b) * vertices + np.maximum(a, b)
        order = np.argsort(key, kind="stable")
        keys, starts = np.unique(key[order], return_index=True)
        ends = np.stack([keys // vertices, keys % vertices], axis=1)
        arrays = ends, np.append(starts, len(key)), face[order], c[order]
        return cls(*(readonly(array) for array in arrays))

    @property
    def counts(self) -> IntArray:
        """The number of faces at each edge, shape (e,)."""
        return np.diff(self.offsets)
