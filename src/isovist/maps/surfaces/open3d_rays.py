"""Cast rays in a mesh with Open3D, an optional package."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray
from isovist.errors import MissingExtraError
from isovist.maps.base import NO_DIRECTION, Ending


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The Open3D ray-casting scene of a mesh, in float32 about the middle of the mesh.

    Attributes:
        scene: The `RaycastingScene`.
        centre: The middle, shape (3,), in m.
        corners: First corner of each face about the middle, shape (m, 3), in m.
        normals: Unit normals of the faces, shape (m, 3).
    """

    scene: Any
    centre: FloatArray
    corners: FloatArray
    normals: FloatArray

    @classmethod
    def of(cls, vertices: FloatArray, faces: IntArray, normals: FloatArray) -> "Scene":
        """Make a scene from vertices (v, 3), faces (m, 3) and their normals (m, 3)."""
        try:
            import open3d
        except (ImportError, OSError) as error:
            raise MissingExtraError.of("Casting rays with Open3D", "fast-mesh") from error
        centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
        scene = open3d.t.geometry.RaycastingScene()
        scene.add_triangles((vertices - centre).astype("f4"), faces.astype("u4"))
        return cls(scene, centre, vertices[faces[:, 0]] - centre, normals)

    def cast(
        self, o: FloatArray, d: FloatArray
    ) -> tuple[FloatArray, IntArray, FloatArray, NDArray[np.uint8]]:
        """Cast rays; return ranges, faces, normals and endings as `FaceTree.cast` does."""
        start = o - self.centre
        rays = self.scene.cast_rays(np.concatenate([start, d], axis=1).astype("f4"))
        faces = rays["primitive_ids"].numpy().astype(np.int64)
        hit = np.isfinite(rays["t_hit"].numpy())
        faces[~hit] = -1
        n = np.where(hit[:, None], self.normals[faces], 0.0)
        slope = np.einsum("ij,ij->i", n, d)
        height = np.einsum("ij,ij->i", n, self.corners[faces] - start)
        length = np.linalg.norm(d, axis=1)
        ranges = np.full(len(o), np.inf)
        np.divide(height * length, slope, out=ranges, where=hit & (slope != 0.0))
        endings = np.where(hit, Ending.WALL, Ending.EDGE).astype(np.uint8)
        endings[length == 0.0] = NO_DIRECTION
        return ranges, faces, np.where(slope[:, None] > 0.0, -n, n), endings
