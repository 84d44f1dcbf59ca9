"""What becomes of many simulated scans, as benchmarks measure it."""

import isovist as iv
from isovist.evaluation import run_trials, simulated_trials, summarise
from isovist.simulation import office_floor


def office(seed, length):
    """A generated floor of offices in cells of 5 cm."""
    walls = office_floor(seed, length=length, rows=2).plan.walls
    return iv.OccupancyMap.from_segments(walls.reshape(-1, 2, 2), 0.05)


def row_of(atlas, lidar, scans, seed):
    """The row of a benchmark: shares of scans, and errors in m."""
    return summarise(
        list(run_trials(atlas, simulated_trials(atlas.world, scans, lidar, seed=seed)))
    )
