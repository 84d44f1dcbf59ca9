"""Scans in space asked on maps of other sites: none should be unique.

    python -m benchmarks.elsewhere MAP [COUNT]

COUNT scans inside MAP, leaning by up to 5°, are asked on a generated quarter of a town; as many of
that quarter on MAP; and as many of another quarter, which has streets and houses of the same kind,
on the first.
"""

import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np

from benchmarks.lean import HEIGHT as INDOORS
from benchmarks.lean import LIDAR
from benchmarks.worlds.streets import HEIGHT, quarter
from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.build import build
from isovist.evaluation.protocols import simulated_trials
from isovist.io.maps.read import read_map
from isovist.localization.locate import locate
from isovist.maps.cloud import Cloud
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.sensing.models.simulate import Placement

SIZE = 150.0
LEAN = float(np.radians(5.0))


def ask(name: str, atlas: Atlas, scans: Iterable[AnyScan]) -> None:
    answers = [locate(atlas, scan) for scan in scans]
    verdicts = Counter(str(answer.verdict) for answer in answers)
    chances = [answer.best.probability for answer in answers if answer.best is not None]
    print(
        f"{name}: {verdicts['unique']} of {len(answers)} unique, {verdicts['lost']} lost; "
        f"probability of the best {np.median(chances):.3f} (at most {max(chances):.3f})"
    )


def main() -> None:
    world = read_map(sys.argv[1])
    assert isinstance(world, VoxelMap)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    town, other = (quarter(seed, size=SIZE) for seed in (3, 4))
    cloud = Cloud(town.cloud())
    street = build(cloud.voxels(cloud.resolution()), height=HEIGHT)
    trials = simulated_trials(
        world, count, LIDAR, seed=5, placement=Placement(height=INDOORS, max_tilt=LEAN)
    )
    ask("inside, on a street", street, (trial.scan() for trial in trials))
    ask("a street, inside", build(world, height=INDOORS), (s for _, s in town.asks(count)))
    ask("another street", street, (scan for _, scan in other.asks(count)))


if __name__ == "__main__":
    main()
