"""Does `locate` in space agree with what `survey` says of a place?

    python -m benchmarks.survey_space [--count N] [--seeds 1,2] [--length M] [--rows N]

A generated office floor with floor and ceiling is surveyed for a lidar of 16 rings.  Nodes are
unique by the survey where at least 9 in 10 answers would be, and look-alikes where fewer than half
would.  From fresh places beside such nodes, at any heading, with fresh noise, a scan is simulated
and located.  The two agree on a unique node when the answer is unique, and on a look-alike when it
is not and lists a place within 1 m of the alias that the survey names (the distance by which it
tells rivals apart), or at another heading where a node is its own alias.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

import numpy as np

from benchmarks.worlds.drives3d import building
from isovist.arrays import IntArray
from isovist.atlas.build import build
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.errors import InputError
from isovist.localization import Answer, Verdict, is_same_place
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose3
from isovist.sensing.models.spinning import SpinningLidar
from isovist.simulation.demo import HEIGHT
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.survey import Survey, survey

LIDAR = SpinningLidar(16, azimuths=360, range_max=8.0, noise=0.03, clutter=0.05)
OFTEN = 0.9
"""Least share of unique answers at a node that is called unique here."""
USUAL, SURVEYING = LocalizationSettings(), SurveyingSettings()


@dataclass
class Row:
    """What came of nodes of one kind: scans, unique, predicted so, wrong so, alias listed."""

    asked: int = 0
    unique: int = 0
    predicted: float = 0.0
    wrong: int = 0
    listed: int = 0

    def add(self, answer: Answer, truth: Pose3, alias: bool, chance: float) -> None:
        """Count an answer that the survey calls unique with a chance."""
        best = answer.best
        said = answer.verdict is Verdict.UNIQUE and best is not None
        self.asked += 1
        self.unique += said
        self.predicted += chance
        self.wrong += said and best is not None and not is_same_place(best.pose, truth, USUAL)
        self.listed += alias and not said


def looks(
    atlas: SpaceAtlas, found: Survey, nodes: IntArray, count: int, rng: np.random.Generator
) -> Iterator[tuple[int, Pose3, Answer]]:
    """Nodes of some, where a sensor stood beside each, and what was answered there."""
    for node in rng.permutation(np.repeat(nodes, -(-count // max(len(nodes), 1))))[:count]:
        x, y, z = found.places[node]
        dx, dy = rng.uniform(-0.5, 0.5, 2) * found.spacing
        pose = Pose3(x + dx, y + dy, rng.uniform(-np.pi, np.pi), z)
        try:
            scan = LIDAR.scan(atlas.world, pose, rng)
        except InputError:  # inside a wall, or nothing in reach
            continue
        yield int(node), pose, locate(atlas, scan)


def tells(found: Survey, node: int, truth: Pose3, answer: Answer) -> bool:
    """Whether an answer lists the alias that a survey names for a node."""
    alias = found.summary.alias_xy[node]
    itself = np.hypot(*(alias - found.places[node, :2])) < SURVEYING.aliases.min_distance_m
    for estimate in answer.estimates:
        near = np.hypot(*(estimate.pose.position[:2] - alias)) <= SURVEYING.aliases.min_distance_m
        if near and not (itself and is_same_place(estimate.pose, truth, USUAL)):
            return True
    return False


def compare(seed: int, length: float, rows: int, count: int) -> tuple[Row, Row]:
    """Print the row of one floor."""
    begun = process_time()
    site = building(seed, length=length, rows=rows)
    atlas = build(site.plan, height=HEIGHT, spacing=0.5)
    assert isinstance(atlas, SpaceAtlas)
    found = survey(atlas, LIDAR)
    surveyed = process_time() - begun
    rng = np.random.default_rng(10_000 + seed)
    kinds = (found.unique_share >= OFTEN, found.unique_share < SURVEYING.areas.max_unique_share)
    told = Row(), Row()
    for row, kind in zip(told, kinds, strict=True):
        for node, pose, answer in looks(atlas, found, np.flatnonzero(kind), count, rng):
            chance = float(found.unique_share[node])
            row.add(answer, pose, tells(found, node, pose, answer), chance)
    sure, alike = told
    print(
        f"| {seed} | {found.area:.0f} m² | {found.share:.0%} | {kinds[0].mean():.0%} | "
        f"{sure.unique} of {sure.asked}, {sure.predicted:.0f} | {kinds[1].mean():.0%} | "
        f"{alike.asked - alike.unique} of {alike.asked}, {alike.asked - alike.predicted:.0f} | "
        f"{alike.listed} | "
        f"{sure.wrong + alike.wrong} | {len(found.areas)} | {surveyed:.0f} |",
        flush=True,
    )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="scans of each kind and floor")
    parser.add_argument("--seeds", default="1,2", help="of the floors")
    parser.add_argument("--length", type=float, default=20.0, help="of a floor, in m")
    parser.add_argument("--rows", type=int, default=2, help="of rooms")
    given = parser.parse_args()
    print(
        "| floor | area | predicted unique | nodes ≥ 90 % | there unique, predicted | nodes < 50 % "
        "| there not unique, predicted | alias listed | unique and wrong | areas | CPU s of the "
        "survey |\n" + "|---" * 11 + "|"
    )
    all_told = [
        compare(int(seed), given.length, given.rows, given.count) for seed in given.seeds.split(",")
    ]
    sure, alike = ([pair[k] for pair in all_told] for k in range(2))
    agreed = sum(row.unique for row in sure), sum(row.asked - row.unique for row in alike)
    asked = sum(row.asked for row in sure), sum(row.asked for row in alike)
    print(
        f"locate agrees on {agreed[0]} of {asked[0]} unique places, {agreed[1]} of {asked[1]} not"
    )


if __name__ == "__main__":
    main()
