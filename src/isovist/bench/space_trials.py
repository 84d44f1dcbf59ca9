"""How well does it locate in space?  Trials for the protocols of `protocol`."""

import numpy as np

from isovist.atlas.walls import bare_walls

HEIGHT = 1.0
from isovist.bench.trials import Trial
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.cells import Cell
from isovist.maps.floor import floor_levels
from isovist.maps.voxels import VoxelMap
from isovist.poses import Pose3
from isovist.sensing.spinning import SpinningLidar


def spinning_trials(
    world: VoxelMap,
    count: int,
    lidar: SpinningLidar,
    *,
    seed: int = 0,
    height: float = HEIGHT,
    clearance: float = 0.25,
    reality: Map | None = None,
) -> list[Trial]:
    """Scans of a simulated lidar at random free places above the floor, with random headings.

    Only walls end a beam: it goes on through what the map does not know.

    Args:
        world: The map.
        count: Number of poses.
        lidar: The sensor.
        seed: Of the random numbers.
        height: Of the sensor above the floor, in m.
        clearance: Least distance of the sensor from a wall beside it, in m.
        reality: What the sensor sees; the walls of the map when `None`.
    """
    from scipy.ndimage import distance_transform_edt

    if count < 1:
        raise InputError(f"`count` must be at least 1, got {count}.")
    floor = floor_levels(world)
    level = np.floor((floor + height - world.corner[2]) / world.resolution).astype(np.int64)
    inside = (level >= 0) & (level < world.shape[0])
    level = np.where(inside, level, 0)
    around = np.take_along_axis(world.cells, level[None], axis=0)[0]
    roomy = distance_transform_edt(around != Cell.OCCUPIED) * world.resolution >= clearance
    rows, columns = np.nonzero(inside & roomy & (around == Cell.FREE))
    if rows.size == 0:
        raise InputError(
            f"No free place {height:g} m above the floor is {clearance:g} m from all walls."
        )
    random = np.random.default_rng(seed)
    walls = bare_walls(world) if reality is None else reality
    trials: list[Trial] = []
    for _ in range(20 * count):
        k = int(random.integers(rows.size))
        at = np.array([columns[k], rows[k]]) + random.random(2)
        x, y = world.corner[:2] + at * world.resolution
        pose = Pose3(float(x), float(y), float(random.uniform(-np.pi, np.pi)),
                     float(floor[rows[k], columns[k]]) + height)  # fmt: skip
        try:
            scan = lidar.scan(walls, pose, random)
        except InputError:  # almost no wall within reach
            continue
        trials.append(Trial(lambda scan=scan: scan, pose))  # type: ignore[misc]
        if len(trials) == count:
            return trials
    raise InputError("Almost nowhere on the map does the sensor reach a wall.")
