"""Descriptors on a lattice of nodes, and between the nodes by interpolation.

Nodes are every k-th cell that is free.  Between them, with lattice weights w_a(p) of the nodes
around p that p can see,

    F(p) = Σ_a w_a(p) F_a / Σ_a w_a(p),                                                     (1)
    J(p) = (Σ_a F_a ∇w_a(p)ᵀ − F(p) Σ_a ∇w_a(p)ᵀ) / Σ_a w_a(p).                             (2)

The weights are bilinear (four nodes; J jumps from square to square) or bicubic (Catmull–Rom,
sixteen nodes; J is continuous).  Bicubic needs a neighbourhood without a wall and is bilinear
elsewhere.  A node behind a wall describes another room and takes no part; a point that sees none
of its four nodes, or is not in free space, gets NaN.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isovist.errors import InputError
from isovist.maps.base import Ending
from isovist.maps.cells import Cell, OccupancyMap
from isovist.maps.sweep import KNOWN, Transform, describe_field, free_nodes
from isovist.types import ArrayLike, BoolArray, Float32Array, FloatArray, as_floats, readonly

Order = Literal["bilinear", "bicubic"]
CHUNK = 2048


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorField:
    """F and its known mass at the nodes of a lattice.

    Attributes:
        world: The map.
        stride: Distance of the nodes in cells.
        nodes: Row and column of each node, int32, shape (N, 2).  Read-only.
        F: Descriptors, float32, shape (N, n).  Read-only.
        K: Mass of the directions that count, float32, shape (N, n).  Read-only.
    """

    world: OccupancyMap
    stride: int
    nodes: NDArray[np.int32]
    F: Float32Array
    K: Float32Array

    @classmethod
    def over(
        cls,
        world: OccupancyMap,
        angles: ArrayLike,
        weights: ArrayLike,
        stride: int = 5,
        *,
        transform: Transform = "linear",
        scale: float = 1.0,
        maximum: float = np.inf,
        known: Iterable[Ending] = KNOWN,
    ) -> "DescriptorField":
        """Describe every `stride`-th cell that is free; 1 is every cell.

        The other arguments are those of `maps.sweep.describe_field`.
        """
        rows, cols = free_nodes(world, stride)
        F, K = describe_field(
            world,
            angles,
            weights,
            rows,
            cols,
            transform=transform,
            scale=scale,
            maximum=maximum,
            known=known,
        )
        nodes = readonly(np.stack([rows, cols], axis=-1).astype(np.int32))
        return cls(world, stride, nodes, F, K)

    @property
    def positions(self) -> FloatArray:
        """World coordinates of the nodes, shape (N, 2), in m."""
        return self.world.centres(self.nodes[:, 0], self.nodes[:, 1])

    def at(self, points: ArrayLike, order: Order = "bicubic") -> FloatArray:
        """F at world points (..., 2), equation (1), shape (..., n)."""
        return self._evaluate(self.F, points, order)[0]

    def known_at(self, points: ArrayLike, order: Order = "bilinear") -> FloatArray:
        """K at world points (..., 2), shape (..., n)."""
        return self._evaluate(self.K, points, order)[0]

    def jacobian_at(
        self, points: ArrayLike, order: Order = "bicubic"
    ) -> tuple[FloatArray, FloatArray]:
        """F, shape (..., n), and its derivative J by the world point, shape (..., n, 2)."""
        return self._evaluate(self.F, points, order)

    def _evaluate(
        self, values: Float32Array, points: ArrayLike, order: Order
    ) -> tuple[FloatArray, FloatArray]:
        if order not in ("bilinear", "bicubic"):
            raise InputError(f"`order` must be bilinear or bicubic, got {order}.")
        where = as_floats("points", points)
        if where.ndim == 0 or where.shape[-1] != 2:
            raise InputError(f"`points` must have shape (..., 2), got {where.shape}.")
        flat = where.reshape(-1, 2)
        F = np.empty((len(flat), values.shape[1]))
        J = np.empty((*F.shape, 2))
        lattice = _Lattice(self)
        for first in range(0, len(flat), CHUNK):
            part = slice(first, first + CHUNK)
            index, weights, slopes = lattice.stencil(flat[part], order)
            around = values[index].astype(np.float64)
            total = weights.sum(axis=1)
            with np.errstate(invalid="ignore"):
                F[part] = np.einsum("pa,pan->pn", weights, around) / total[:, None]
                J[part] = np.einsum("pac,pan->pnc", slopes, around)
                J[part] -= F[part][:, :, None] * slopes.sum(axis=1)[:, None, :]
                J[part] /= total[:, None, None]
        J = J @ (self.world.origin.rotation.T / (self.stride * self.world.resolution))
        shape = where.shape[:-1]
        return F.reshape(*shape, -1), J.reshape(*shape, -1, 2)


class _Lattice:
    """Which node sits where, and which squares between nodes hold no wall."""

    def __init__(self, field: DescriptorField) -> None:
        self.world, self.stride = field.world, field.stride
        height, width = field.world.shape
        self.first = self.stride // 2
        shape = [(size - 1 - self.first) // self.stride + 1 for size in (height, width)]
        # Two rings of missing nodes, so that a stencil never leaves the table.
        self.table = np.full((shape[0] + 4, shape[1] + 4), -1, dtype=np.int64)
        rows, cols = (field.nodes.T - self.first) // self.stride
        self.table[rows + 2, cols + 2] = np.arange(len(field.nodes))
        self.clear = self._clear_squares(shape)

    def _clear_squares(self, shape: list[int]) -> BoolArray:
        """Whether square (r, c), from node (r, c) of the table up and right, is all free."""
        sums = np.zeros([size + 1 for size in self.world.shape], dtype=np.int64)
        sums[1:, 1:] = (self.world.cells != Cell.FREE).cumsum(axis=0).cumsum(axis=1)
        low = [self.first + self.stride * np.arange(size - 1) for size in shape]
        r0, c0 = low[0][:, None], low[1][None, :]
        r1, c1 = r0 + self.stride + 1, c0 + self.stride + 1
        blocked = sums[r1, c1] - sums[r0, c1] - sums[r1, c0] + sums[r0, c0]
        clear = np.zeros(self.table.shape, dtype=np.bool_)
        clear[2 : shape[0] + 1, 2 : shape[1] + 1] = blocked == 0
        return clear

    def stencil(
        self, points: FloatArray, order: Order
    ) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
        """Nodes around each point (p, 16), their weights (p, 16) and slopes (p, 16, 2).

        Slopes are by lattice coordinates (x, y).  A node that takes no part has weight 0.
        """
        place = (self.world.to_grid(points) - self.first - 0.5) / self.stride
        last = np.array([self.table.shape[1], self.table.shape[0]]) - 4
        corner = np.clip(np.floor(place).astype(np.int64), -1, last - 1)
        part = place - corner
        cols = corner[:, 0, None, None] + 1 + np.arange(4)[None, None, :]
        rows = corner[:, 1, None, None] + 1 + np.arange(4)[None, :, None]
        index = self.table[rows, cols].reshape(-1, 16)
        wide = np.zeros(len(points), dtype=np.bool_)
        if order == "bicubic":
            wide = self.clear[rows[:, :3], cols[:, :, :3]].all(axis=(1, 2))
        weights, slopes = _blend(part, wide)
        use = self._visible(points, index, rows, cols) | wide[:, None]
        weights, slopes = weights * use, slopes * use[:, :, None]
        return np.where(use, index, 0), weights, slopes

    def _visible(
        self,
        points: FloatArray,
        index: NDArray[np.int64],
        rows: NDArray[np.int64],
        cols: NDArray[np.int64],
    ) -> BoolArray:
        """Which of the sixteen nodes are among the inner four, and seen from the point."""
        inner = np.zeros((4, 4), dtype=np.bool_)
        inner[1:3, 1:3] = True
        seen = (index >= 0) & inner.reshape(-1)
        whose, which = np.nonzero(seen & ~self.clear[rows[:, 1], cols[:, :, 1]])
        if whose.size:
            row = (rows[whose, which // 4, 0] - 2) * self.stride + self.first
            col = (cols[whose, 0, which % 4] - 2) * self.stride + self.first
            towards = self.world.centres(row, col) - points[whose]
            away = np.hypot(towards[:, 0], towards[:, 1])
            towards[away == 0.0, 0] = 1.0
            reach = self.world.cast(points[whose], towards).ranges
            seen[whose, which] = (reach >= away) & self.world.contains(points[whose])
        return np.asarray(seen)


def _blend(part: FloatArray, wide: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Products of one-dimensional weights: Catmull–Rom where `wide`, linear elsewhere.

    Linear ones keep a millionth away from 0, so that a point never loses all nodes it sees.
    """
    part = np.where(wide[:, None], part, np.clip(part, 1e-6, 1.0 - 1e-6))
    t = part[:, :, None] ** np.arange(4)
    d = np.arange(4) * part[:, :, None] ** np.maximum(np.arange(4) - 1, 0)
    cubic = 0.5 * np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]])
    linear = np.array([[0, 1, 0, 0], [0, -1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    shape = np.where(wide[:, None, None], cubic, linear)
    w, dw = t @ shape, d @ shape
    weights = w[:, 1, :, None] * w[:, 0, None, :]
    slopes = np.stack(
        [w[:, 1, :, None] * dw[:, 0, None, :], dw[:, 1, :, None] * w[:, 0, None, :]], -1
    )
    return weights.reshape(-1, 16), slopes.reshape(-1, 16, 2)
