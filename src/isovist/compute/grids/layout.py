"""How grids in space are cut into blocks (`compute.grids.blocks`); nothing is compiled for it."""

SHIFT = 4
SIDE = 1 << SHIFT
"""Cells of the side of a block."""
MASK = SIDE - 1
FREE_ROW, UNKNOWN_ROW, OWN = 0, 1, 2
"""Rows of blocks that are all free, all unknown, and the first of the others."""
OPEN = 255
"""Code of a cell of a block that is all free, which `compute.rays.grid3d` leaves at once."""
