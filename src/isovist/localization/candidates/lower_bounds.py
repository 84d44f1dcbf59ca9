"""What every node costs at least: a quick look that drops most of an atlas, and never wrongly.

An atlas keeps its descriptors in bytes besides, made when it is first searched.  Whatever is
chosen with these floors is what would be chosen if every node were tried in full.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, once_for_each, readonly
from isovist.atlas import FAR, Atlas, SearchSpace, Window

LEVELS = 207
"""Steps from nothing to the reach of an atlas: 15 of them are the most that a channel costs that is
shorter, with the usual settings, and 30 one that is longer.  The rest of a byte tells unknown."""
UNKNOWN = 255
LOWEST = 128
"""What a byte of nothing is less than 0."""
MIN_BOUNDED_NODES = 20_000
"""Nodes from which on floors are worth it: on fewer they save less than their kernel takes to
compile, and no more than they cost."""
LARGE_ATLAS_NODES = 130_000
"""Nodes of a large atlas, of 8000 m² as a rule."""
SLACK = 1e-3
"""More than sums of singles err by, as a share."""


def has_lower_bounds(atlas: SearchSpace) -> bool:
    """Whether an atlas is large enough for floors."""
    return atlas.size >= MIN_BOUNDED_NODES


@dataclass(frozen=True, slots=True, eq=False)
class LowerBounds:
    """Descriptors in bytes.

    Attributes:
        table: As `compute.search.lower_bounds` wants it, shape (B, rings n, WIDTH).
        step: q of `compute.search.lower_bounds` in log(1 + r).
        count: Of the nodes.
        n: Channels of a ring.
        last: Of a large atlas what was asked last, and the answer: a closer look begins as the
            first one did.
    """

    table: NDArray[np.int8]
    step: float
    count: int
    n: int
    last: list[tuple[bytes, Float32Array]] = field(default_factory=list)

    @staticmethod
    def of(atlas: Atlas, every: int = 1) -> "LowerBounds":
        """Those of an atlas, or of every so manieth node; made once."""
        made = _made(atlas)
        if every not in made:
            made[every] = LowerBounds.build(atlas, every)
        return made[every]

    @classmethod
    def build(cls, atlas: Atlas, every: int = 1) -> "LowerBounds":
        """Those of an atlas, or of every so manieth node, for whoever keeps them."""
        from isovist.compute import BLOCK_NODES

        nodes = atlas.descriptors[::every]
        count, rings, n = nodes.shape
        step = float(np.log1p(atlas.settings.reach)) / LEVELS
        table = np.full(
            (-(-count // BLOCK_NODES), rings * n, BLOCK_NODES), UNKNOWN - LOWEST, dtype=np.int8
        )
        for block, part in enumerate(table):
            f = np.clip(nodes[block * BLOCK_NODES : (block + 1) * BLOCK_NODES], 0.0, FAR)
            f = f.reshape(-1, rings * n)
            known = np.rint(f / np.float32(step))
            levels = np.where(f < FAR, np.minimum(known, UNKNOWN - 1), UNKNOWN)
            part[:, : len(f)] = (levels.T - LOWEST).astype(np.int8)
        return cls(table, step, count, n)

    def bound_costs(self, window: Window, allowed: BoolArray, short: float) -> Float32Array:
        """Less than what each node costs at its best heading, shape (N,).

        Args:
            window: The scan.
            allowed: Which headings count, of as many phases.
            short: Most that a channel costs (`LocalizationSettings`).
        """
        asked = b"".join(part.tobytes() for part in (window.values, window.seen, allowed))
        asked += np.array([window.ring, short]).tobytes()
        for known, answer in self.last[:1]:
            if known == asked:
                return answer
        least, most = self.least(window, allowed, short)
        # The search counts in steps of its own, and is off by one of them in each channel.
        rounded = most * window.codes(short).step * (1.0 + 10.0 * SLACK)
        step = self.step * (1.0 - SLACK)
        told = least.astype(np.float32)
        told *= np.float32(step)
        told -= np.float32(most * step + rounded)
        readonly(np.maximum(told, np.float32(0.0), out=told))
        if self.count > LARGE_ATLAS_NODES:
            self.last[:] = [(asked, told)]
        return told

    def least(
        self, window: Window, allowed: BoolArray, short: float
    ) -> tuple[NDArray[np.uint16], int]:
        """The same in whole steps, and by how many they may be too many; one for each channel."""
        from isovist.compute import BLOCK_NODES, MAX_TERM, TERMS_PER_BYTE, lower_bounds

        count = self.count
        least = np.full(
            (-(-count // BLOCK_NODES), BLOCK_NODES), np.iinfo(np.uint16).max, dtype=np.uint16
        )
        shorter, longer = (min(int(limit / self.step), MAX_TERM) for limit in (short, 2.0 * short))
        between = np.array([0, -longer, shorter])
        most = int(window.seen.sum(axis=(1, 2)).max(initial=0))
        for phase, seen in enumerate(window.seen):
            rings, columns = np.nonzero(seen)
            pad = -rings.size % TERMS_PER_BYTE
            rows = np.zeros((rings.size + pad, 2), dtype=np.int64)
            rows[: rings.size] = np.column_stack([rings + window.ring, columns])
            middle = np.rint(window.values[phase][seen] / self.step)[:, None]
            levels = np.zeros((len(rows), 3), dtype=np.int8)
            middle = np.clip(middle, 0, UNKNOWN)
            levels[: rings.size] = np.clip(middle + between, 0, UNKNOWN) - LOWEST
            heads = np.ascontiguousarray(allowed[phase :: len(window.seen)])
            lower_bounds(self.table, rows, levels, self.n, heads, most - rings.size, least)
        return least.ravel()[:count], most


@once_for_each
def _made(atlas: Atlas) -> dict[int, LowerBounds]:
    """Those of an atlas, by the arguments of `LowerBounds.of`, as far as they were needed."""
    del atlas
    return {}
