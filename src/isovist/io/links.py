"""Read the lifts and doors between maps from a YAML or JSON file with one entry for each.

    - ground: [7.6, 5.9, 0.0]     # x, y (m) and yaw (rad) of the robot in the lift, on each map
      first: [7.6, 5.9, 0.0]
      second: [12.1, 3.3, 1.57]

An entry connects each pair of its maps.
"""

import math
from itertools import combinations
from pathlib import Path

from isovist.errors import FileError
from isovist.io.plain_yaml import read_yaml
from isovist.poses import Pose
from isovist.storage import PathLike, quote
from isovist.tracking import Link

KIND = "a file of links"


def read_links(path: PathLike) -> tuple[Link, ...]:
    """Read the links between maps, such as lifts and doors, from a file.

    `Tracker` checks that the maps exist.
    """
    name, entries = Path(path).name, read_yaml(path, KIND)
    if not isinstance(entries, list):
        raise FileError(
            f"{name} is not {KIND}: it should be a list of entries such as "
            f"`{{ground: [7.6, 5.9, 0.0], first: [7.6, 5.9, 0.0]}}`, got {quote(entries)}.",
            code="unknown_format",
        )
    links: list[Link] = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or len(entry) < 2:
            raise FileError(
                f"{name}: entry {number} must have a pose on two maps or more, got {quote(entry)}."
            )
        ends = [(str(at), _pose(f"{name}: entry {number}", at, row)) for at, row in entry.items()]
        links += [Link(*a, *b) for a, b in combinations(ends, 2)]
    return tuple(links)


def _pose(where: str, at: object, row: object) -> Pose:
    """Return three finite numbers as a pose."""
    numbers = row if isinstance(row, list) and len(row) == 3 else [math.nan]
    if not all(isinstance(v, int | float) and math.isfinite(v) for v in numbers):
        raise FileError(
            f"{where} must have x, y (m) and yaw (rad) on {quote(at)}, got {quote(row)}."
        )
    return Pose(*numbers)
