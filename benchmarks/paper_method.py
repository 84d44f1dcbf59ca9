"""The paper's localizer on a real log: nearest node and Gauss–Newton, heading unknown.

    python -m benchmarks.paper_method LOG [EVERY]

The protocol of `isovist bench carmen`: every fifth scan asks, the map is made of the others; right
is within 0.5 m and 10°.  EVERY takes one of so many queries.
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np

from isovist import AtlasSettings, Range
from isovist.evaluation.protocols import carmen_trials
from isovist.io.logs.carmen import read_carmen
from isovist.paper import PaperLocalizer, make_basis
from isovist.poses import wrap_angle

RUNS = ((64, "linear", "euclid"), (64, "logarithmic", "euclid"), (32, "linear", "euclid"),
        (32, "logarithmic", "euclid"), (32, "logarithmic", "truncated"))  # fmt: skip


def main() -> None:
    world, trials = carmen_trials(read_carmen(Path(sys.argv[1])))
    trials = trials[:: int(sys.argv[2]) if len(sys.argv) > 2 else 1]
    print("| channels | signal | norm | nearest node right | right | median m | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for channels, transform, norm in RUNS:
        localizer = PaperLocalizer(
            world, make_basis(2, channels), Range(AtlasSettings().reach, transform), norm
        )
        assert len(localizer.grid.nodes)  # described before the clock runs
        start, nodes, errors = process_time(), 0, []
        for trial in trials:
            answer, truth = localizer.locate(trial.scan()), trial.truth
            first = answer.nodes.places[0], answer.nodes.yaws[0]
            nodes += _right(*first, truth) <= 0.5
            errors.append(_right(answer.pose.position, answer.pose.yaw, truth))
        right = np.array(errors) <= 0.5
        spent = (process_time() - start) / len(trials)
        print(
            f"| {channels} | {transform} | {norm} | {nodes / len(trials):.1%} | {right.mean():.1%} "
            f"| {np.median(np.array(errors)[right]):.3f} | {spent:.2f} |",
            flush=True,
        )


def _right(place, yaw, truth) -> float:
    """Distance to the truth in m; infinite when turned by more than 10°."""
    turned = abs(float(wrap_angle(yaw - truth.yaw))) > np.radians(10.0)
    return np.inf if turned else float(np.linalg.norm(np.asarray(place)[:2] - truth.position[:2]))


if __name__ == "__main__":
    main()
