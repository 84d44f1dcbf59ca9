"""Read the leaves of an octree from the bytes of an OctoMap file."""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

TREE_DEPTH = 16
FREE, OCCUPIED = 0, 1
CUT_OFF, TOO_DEEP, TOO_MANY = -1, -2, -3


@kernel("u1[::1], i8 -> i8[:,::1]")
def read_leaves(data, payload, leaves):
    """Walk a tree in the order in which OctoMap writes it, depth first.

    With payload 0 (`.bt`) a node is two bytes with two bits per child: 01 free leaf, 10 occupied
    leaf, 11 a node that follows, 00 none. Otherwise (`.ot`) a node is `payload` bytes, of which the
    first four are its log odds as a float, and one byte with a bit per child that follows. A node
    without children is a leaf, occupied if its log odds are at least 0.

    Args:
        data: Bytes of the tree, shape (bytes,).
        payload: Bytes of a node before the bits of its children.
        leaves: Output, x, y, z of the least corner in cells of the finest level, counted from the
            corner of the tree, the side in cells, and the code; shape (k, 5).

    Returns:
        The number of leaves, negative on an error, and the number of bytes read.
    """
    stack = np.empty((8 * (TREE_DEPTH + 2), 4), np.int64)  # x, y, z, side
    stack[0, 0] = stack[0, 1] = stack[0, 2] = 0
    stack[0, 3] = 1 << TREE_DEPTH
    value = np.empty(4, np.uint8)
    top, at, leaf_count = 1, 0, 0
    size = payload + 1 if payload > 0 else 2
    while top > 0:
        top -= 1
        x, y, z, side = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        if at + size > len(data):
            return CUT_OFF, at
        if payload > 0:
            for i in range(4):
                value[i] = data[at + i]
            bits = 0
            children = data[at + payload]
            for i in range(8):
                if (children >> i) & 1:
                    bits |= 3 << (2 * i)
            if bits == 0:
                if leaf_count == len(leaves):
                    return TOO_MANY, at
                occupied = value.view(np.float32)[0] >= 0.0
                _write_leaf(leaves, leaf_count, x, y, z, side, OCCUPIED if occupied else FREE)
                leaf_count += 1
        else:
            bits = np.int64(data[at]) | (np.int64(data[at + 1]) << 8)
        at += size
        half = side >> 1
        if bits != 0 and half == 0:
            return TOO_DEEP, at
        # Push the last child first, so that the first child is popped first.
        for i in range(7, -1, -1):
            kind = (bits >> (2 * i)) & 3
            if kind == 0:
                continue
            cx = x + (half if i & 1 else 0)
            cy = y + (half if i & 2 else 0)
            cz = z + (half if i & 4 else 0)
            if kind == 3:
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = cx, cy, cz, half
                top += 1
                continue
            if leaf_count == len(leaves):
                return TOO_MANY, at
            _write_leaf(leaves, leaf_count, cx, cy, cz, half, FREE if kind == 1 else OCCUPIED)
            leaf_count += 1
    return leaf_count, at


@subroutine
def _write_leaf(leaves, k, x, y, z, side, code):
    """Write one leaf into row k."""
    leaves[k, 0], leaves[k, 1], leaves[k, 2], leaves[k, 3], leaves[k, 4] = x, y, z, side, code


@kernel("i8[:,::1], i8[::1] -> u1[:,:,::1]")
def fill_cells(leaves, low, cells):
    """Write leaves as blocks of cells.

    Args:
        leaves: Leaves of `read_leaves`, shape (k, 5).
        low: Place of cell 0, shape (3,).
        cells: Output, codes [z, y, x].
    """
    for k in range(len(leaves)):
        x, y, z = leaves[k, 0] - low[0], leaves[k, 1] - low[1], leaves[k, 2] - low[2]
        side = leaves[k, 3]
        cells[z : z + side, y : y + side, x : x + side] = leaves[k, 4]
