"""3D maps of triangles.

Rays hit triangles from both sides, and any set of triangles is a map.  Free space needs more: a
mesh is closed if every edge belongs to an even number of faces.  A point is inside if a ray from it
crosses an odd number of faces, so a room with a closed pillar in it is free between the two.  In an
open mesh every point counts as free.  A face without area is never hit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray, as_floats, readonly
from isovist.errors import InputError
from isovist.maps.base import NO_DIRECTION, Hits
from isovist.maps.cells import as_points, check_length
from isovist.maps.surfaces.edges import Edges
from isovist.maps.surfaces.mesh_checks import checked_faces, finite_vertices
from isovist.renamed import accept_old_names

if TYPE_CHECKING:
    from isovist.maps.surfaces.face_tree import FaceTree
    from isovist.maps.surfaces.open3d_rays import Scene
    from isovist.maps.surfaces.segment_map import SegmentMap

Free = Literal["inside", "outside", "everywhere"]
"""The free points of a mesh: "inside", "outside" or "everywhere"."""
Backend = Literal["own", "open3d"]


@accept_old_names
@dataclass(frozen=True, eq=False)
class MeshMap:
    """A 3D map of triangles, and the free space between them.

    Attributes:
        vertices: Corners of the triangles, shape (v, 3), in m.  Read-only.
        faces: Three vertices of each triangle, shape (m, 3).  Read-only.
        free: Free points: those "inside" or "outside" the closed mesh, or "everywhere".
        reflectance: Reflectance of each face, shape (m,), or `None`.  Read-only.
        attribute: A surface attribute at each vertex, linear on the faces, shape (v,), or `None`.
            Read-only.
        backend: Ray caster, "own" or "open3d"; see `using`.

    Examples:
        >>> import isovist as iv
        >>> hall = iv.MeshMap.box([0.0, 0.0, 0.0], [8.0, 6.0, 3.0])
        >>> float(hall.cast([4.0, 3.0, 1.0], [1.0, 0.0, 0.0]).ranges)
        4.0
    """

    vertices: FloatArray
    faces: IntArray
    free: Free
    reflectance: FloatArray | None = None
    attribute: FloatArray | None = None
    backend: Backend = "own"

    @classmethod
    def from_arrays(
        cls,
        vertices: ArrayLike,
        faces: ArrayLike,
        *,
        free: Free | None = None,
        reflectance: ArrayLike | None = None,
        attribute: ArrayLike | None = None,
    ) -> "MeshMap":
        """Make a mesh from vertices and faces.

        Args:
            vertices: Corners of the triangles, shape (v, 3), in m.  Faces are neighbours if they
                share vertices.
            faces: Three vertices of each triangle in either orientation, shape (m, 3).
            free: Free points: "inside", "outside" or "everywhere".  By default "inside" if the mesh
                is closed, else "everywhere".
            reflectance: One value per face.
            attribute: One value per vertex.

        Raises:
            InputError: If an array has a wrong shape, the mesh is empty, or it must be closed and
                is not.
        """
        v = np.array(finite_vertices(vertices))
        f = checked_faces(faces, len(v))
        mesh = cls(readonly(v), readonly(f), "everywhere")
        if not (mesh.areas > 0.0).any():
            raise InputError(
                f"The mesh has {len(f)} faces, and none of them has an area.", code="empty"
            )
        closed = bool((mesh.edges.counts % 2 == 0).all())
        if free is None:
            free = "inside" if closed else "everywhere"
        if free not in ("inside", "outside", "everywhere"):
            raise InputError.about("free", f"must be inside, outside or everywhere, got {free!r}.")
        if free != "everywhere" and not closed:
            odd = np.flatnonzero(mesh.edges.counts % 2)
            a, b = v[mesh.edges.ends[odd[0]]]
            raise InputError(
                f"The mesh is not closed: {len(odd)} edges have an odd number of faces, the first "
                f"from ({a[0]:g}, {a[1]:g}, {a[2]:g}) to ({b[0]:g}, {b[1]:g}, {b[2]:g}). "
                'Close it, or pass free="everywhere".',
                code="conflict",
            )
        values = None if reflectance is None else as_floats("reflectance", reflectance, (len(f),))
        heights = None if attribute is None else as_floats("attribute", attribute, (len(v),))
        return cls(mesh.vertices, mesh.faces, free, _copy_of(values), _copy_of(heights))

    @classmethod
    def from_triangles(
        cls, triangles: ArrayLike, *, free: Free | None = None, reflectance: ArrayLike | None = None
    ) -> "MeshMap":
        """Make a mesh from the corners of triangles.

        Args:
            triangles: Corners, shape (m, 3, 3), in m; equal corners become one vertex.
            free: Free points, as in `from_arrays`.
            reflectance: One value per triangle.
        """
        t = np.asarray(triangles, dtype=np.float64)
        if t.ndim != 3 or t.shape[1:] != (3, 3):
            raise InputError.about("triangles", f"must have shape (any, 3, 3), got {t.shape}.")
        corners = finite_vertices(t.reshape(-1, 3)) + 0.0  # −0 and 0 are one coordinate
        vertices, faces = np.unique(corners, axis=0, return_inverse=True)
        return cls.from_arrays(vertices, faces.reshape(-1, 3), free=free, reflectance=reflectance)

    @classmethod
    def box(
        cls, low: ArrayLike, high: ArrayLike, *, reflectance: ArrayLike | None = None
    ) -> "MeshMap":
        """Make a mesh of a box with sides parallel to the axes.

        Args:
            low: Corner with the smallest coordinates, shape (3,), in m.
            high: Corner with the largest coordinates, shape (3,), in m.
            reflectance: One value per side in the order x low, x high, y low, …, shape (6,).
        """
        a, b = as_floats("low", low, (3,)), as_floats("high", high, (3,))
        if not (a < b).all():
            raise InputError.about(
                "low", f"must be below `high` in every coordinate, got {a} and {b}."
            )
        corner = np.array([[(k >> j) & 1 for j in range(3)] for k in range(8)])
        faces = []
        for axis in range(3):
            for side in (0, 1):
                p, q, r, s = np.flatnonzero(corner[:, axis] == side)
                faces += [[p, q, s], [p, s, r]] if side == axis % 2 else [[p, s, q], [p, r, s]]
        values = None
        if reflectance is not None:
            values = np.repeat(as_floats("reflectance", reflectance, (6,)), 2)
        return cls.from_arrays(np.where(corner == 1, b, a), faces, reflectance=values)

    @classmethod
    def extrude(
        cls, plan: "SegmentMap", low: float, high: float, *, caps: float = 0.0
    ) -> "MeshMap":
        """Make a mesh from a 2D plan by giving its walls a height, with a floor and a ceiling.

        If the plan has no free space of its own, there is no floor and no ceiling.

        Args:
            plan: The walls.
            low: Height of the floor, in m.
            high: Height of the ceiling, in m.
            caps: Reflectance of floor and ceiling, if the walls of the plan have one.
        """
        from isovist.maps.surfaces.solids import extruded

        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError.about("low", f"must be below `high`, got {low} and {high} m.")
        triangles, walls = extruded(plan, low, high)
        values = None
        if plan.reflectance is not None:
            values = np.where(walls >= 0, plan.reflectance[walls], caps)
        free: Free = "everywhere" if plan.free is None else "inside"
        return cls.from_triangles(triangles, free=free, reflectance=values)

    @classmethod
    def from_heights(
        cls, heights: ArrayLike, spacing: float, corner: ArrayLike = (0.0, 0.0)
    ) -> "MeshMap":
        """Make a mesh from a height field on a grid, with two faces per cell.

        The heights are also the attribute of the mesh.

        Args:
            heights: z at row i and column j, shape (rows, columns), in m; the row number grows with
                y.
            spacing: Distance between grid points, in m.
            corner: (x, y) of row 0 and column 0, in m.
        """
        from isovist.maps.surfaces.solids import lattice_faces

        z, at = as_floats("heights", heights, (None, None)), as_floats("corner", corner, (2,))
        if min(z.shape) < 2:
            raise InputError.about(
                "heights", f"must have at least 2 rows and columns, got {z.shape}."
            )
        check_length("spacing", spacing)
        y, x = np.meshgrid(*(np.arange(k) * spacing for k in z.shape), indexing="ij")
        vertices = np.stack([x + at[0], y + at[1], z], axis=-1).reshape(-1, 3)
        return cls.from_arrays(vertices, lattice_faces(*z.shape), attribute=z.ravel())

    @classmethod
    def join(cls, meshes: Sequence["MeshMap"], *, free: Free | None = None) -> "MeshMap":
        """Join meshes into one.

        The result has reflectances or an attribute only if all meshes have them.

        Args:
            meshes: One or more meshes.
            free: Free points, as in `from_arrays`.
        """
        if len(meshes) == 0:
            raise InputError.about("meshes", "must not be empty.", code="missing")
        starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        faces = [mesh.faces + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
        reflectances = [mesh.reflectance for mesh in meshes if mesh.reflectance is not None]
        values = [mesh.attribute for mesh in meshes if mesh.attribute is not None]
        return cls.from_arrays(
            np.concatenate([mesh.vertices for mesh in meshes]),
            np.concatenate(faces),
            free=free,
            reflectance=np.concatenate(reflectances) if len(reflectances) == len(meshes) else None,
            attribute=np.concatenate(values) if len(values) == len(meshes) else None,
        )

    @property
    def dimension(self) -> int:
        """The dimension of the map: 3."""
        return 3

    @property
    def bounds(self) -> FloatArray:
        """The smallest and largest coordinates of the faces, shape (2, 3), in m."""
        corners = self.vertices[self.faces.ravel()]
        return np.stack([corners.min(axis=0), corners.max(axis=0)])

    @cached_property
    def _cross(self) -> FloatArray:
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return np.cross(b - a, c - a)

    @cached_property
    def areas(self) -> FloatArray:
        """The area of each face, shape (m,), in m²."""
        return readonly(0.5 * np.linalg.norm(self._cross, axis=1))

    @cached_property
    def normals(self) -> FloatArray:
        """The unit normal of each face, shape (m, 3); zero for a face without area.

        Seen from the tip of its normal, a face is counter-clockwise.
        """
        twice = 2.0 * self.areas[:, None]
        return readonly(np.divide(self._cross, twice, out=np.zeros_like(twice * self._cross),
                                  where=twice > 0.0))  # fmt: skip

    @cached_property
    def slopes(self) -> FloatArray:
        """The norm of the attribute's gradient on each face, shape (m,), per m."""
        if self.attribute is None:
            raise InputError(
                "The mesh has no `attribute` whose gradient could be taken.", code="missing"
            )
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        u, v, w = (self.attribute[self.faces[:, k]] for k in range(3))
        # On a face with edges e, f and normal N = e × f: ∇a = (Δ_e (f × N) + Δ_f (N × e)) / |N|².
        normal, square = self._cross, (self._cross**2).sum(axis=1)
        gradient = (v - u)[:, None] * np.cross(c - a, normal)
        gradient += (w - u)[:, None] * np.cross(normal, b - a)
        size = np.linalg.norm(gradient, axis=1)
        return readonly(np.divide(size, square, out=np.zeros_like(size), where=square > 0.0))

    @cached_property
    def edges(self) -> Edges:
        """The edges of the mesh, and the faces at each edge."""
        return Edges.of_faces(self.faces)

    def using(self, backend: Backend) -> "MeshMap":
        """Return the map with its rays cast by a backend: "own" for our kernel, or "open3d".

        Open3D finds the face in float32.  For a ray within rounding of an edge it may find the
        neighbouring face, or none.  The range is always computed in float64.
        """
        if backend not in ("own", "open3d"):
            raise InputError.about("backend", f"must be own or open3d, got {backend!r}.")
        mesh = replace(self, backend=backend)
        if backend == "open3d":
            _ = mesh._scene  # an error if Open3D is not installed
        return mesh

    @cached_property
    def _tree(self) -> "FaceTree":
        from isovist.maps.surfaces.face_tree import FaceTree

        return FaceTree.of(self.vertices, self.faces, self.normals)

    @cached_property
    def _scene(self) -> "Scene":
        from isovist.maps.surfaces.open3d_rays import Scene

        return Scene.of(self.vertices, self.faces, self.normals)

    def cast(self, origins: ArrayLike, directions: ArrayLike) -> Hits:
        """Cast rays to the first face they meet.

        The shapes (..., 3) of origins and directions broadcast against each other.

        Args:
            origins: Start points, shape (..., 3), in m.
            directions: Directions of any length but 0, shape (..., 3).
        """
        o, d = as_points("origins", origins, 3), as_points("directions", directions, 3)
        if o.shape != d.shape:
            o, d = (np.array(x, order="C") for x in np.broadcast_arrays(o, d))
        shape = o.shape[:-1]
        caster = self._tree if self.backend == "own" else self._scene
        ranges, faces, normals, endings = caster.cast(o.reshape(-1, 3), d.reshape(-1, 3))
        if (endings == NO_DIRECTION).any():
            raise InputError.about("directions", "must not be zero.")
        return Hits(ranges, faces, normals, endings).reshaped(shape)

    def clearance(self, points: ArrayLike) -> FloatArray:
        """Return the distance from each point to the nearest face, shape (...), in m."""
        p = as_points("points", points, 3)
        flat, corners = p.reshape(-1, 3), self.vertices[self.faces]
        distances = [face_distances(point, corners, self.normals).min() for point in flat]
        return np.array(distances).reshape(p.shape[:-1])

    def contains(self, points: ArrayLike) -> BoolArray:
        """Return whether each point, shape (..., 3), lies in free space.

        The result for a point on a face may be either.
        """
        p = as_points("points", points, 3)
        flat = p.reshape(-1, 3)
        if self.free == "everywhere":
            return np.ones(p.shape[:-1], bool)
        crossings = np.full(len(flat), -1)
        # A ray through an edge or a corner gives no count; another direction will.
        for k in range(1, 33):
            unsure = np.flatnonzero(crossings < 0)
            if unsure.size == 0:
                break
            along = np.array([np.cos(2.4 * k), np.sin(2.4 * k), np.cos(1.7 * k) + 0.1])
            rays = np.tile(along, (len(unsure), 1))
            crossings[unsure] = self._tree.cast(flat[unsure], rays, counting=True)[1]
        inside = (crossings % 2 == 1) & (crossings >= 0)
        return (inside if self.free == "inside" else ~inside).reshape(p.shape[:-1])


def face_distances(point: FloatArray, corners: FloatArray, normals: FloatArray) -> FloatArray:
    """Return distances from a point (3,) to triangles (m, 3, 3) with unit normals, shape (m,)."""
    gap = point - corners
    along = np.roll(corners, -1, axis=1) - corners
    size = np.maximum(np.einsum("mkj,mkj->mk", along, along), 1e-300)
    share = np.clip(np.einsum("mkj,mkj->mk", gap, along) / size, 0.0, 1.0)
    edges = np.linalg.norm(gap - share[..., None] * along, axis=2).min(axis=1)
    side = np.einsum("mkj,mj->mk", np.cross(along, gap), normals)
    above = (side >= 0.0).all(axis=1) | (side <= 0.0).all(axis=1)
    height = np.abs(np.einsum("mj,mj->m", gap[:, 0], normals))
    return np.where(above & normals.any(axis=1), np.minimum(height, edges), edges)


def _copy_of(values: FloatArray | None) -> FloatArray | None:
    return None if values is None else readonly(values.copy())
