"""Grids of cells: distances, sweeps, blocks and files."""
