"""Compute on grids of cells: distances, sweeps, blocks and files."""
