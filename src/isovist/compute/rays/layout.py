"""Define how 3D grids are cut into blocks (`compute.grids.blocks`); nothing is compiled here."""

BLOCK_SHIFT = 4
BLOCK_SIDE = 1 << BLOCK_SHIFT
"""Cells of the side of a block."""
BLOCK_MASK = BLOCK_SIDE - 1
FREE_ROW, UNKNOWN_ROW, FIRST_OWN_ROW = 0, 1, 2
"""Rows of blocks that are all free, all unknown, and the first of the others."""
FREE_BLOCK = 255
"""Code of a cell of a block that is all free, which `compute.rays.grid3d` leaves at once."""
