"""What becomes of scans that are mirrored, or of the wrong size.

    python -m benchmarks.misuse LOG.log.gz [COUNT]

The map is that of `isovist bench carmen`; COUNT of its queries, 60 unless something else is said,
spread evenly over the log, are asked mirrored (a lidar mounted upside down) and with ranges times
0.9 to 1.1 (a map or a sensor whose unit is off).  Right is within 0.5 m and 10° of the pose of the
query.  A hint is right when it names the cause, and the factor to 2 %.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.build import build
from isovist.evaluation.protocols import Trial, carmen_trials
from isovist.io.logs.carmen import read_carmen
from isovist.localization import Hint, Verdict, hints, is_same_place
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings

FACTORS = (0.9, 0.95, 1.05, 1.1)
MILLIMETRES = 1000.0


@dataclass(frozen=True, slots=True)
class Misuse:
    """A way to spoil a scan, and what would put it right."""

    name: str
    spoil: Callable[[AnyScan], AnyScan]
    cause: str
    factor: float = 1.0

    def is_told(self, told: tuple[Hint, ...]) -> bool:
        """Whether a hint names the cause."""
        return any(h.cause == self.cause and abs(h.factor / self.factor - 1.0) < 0.02 for h in told)


def misuses() -> list[Misuse]:
    """As they are, mirrored, of other sizes and in mm."""
    rows = [Misuse("as it is", lambda scan: scan, ""), Misuse("mirrored", _mirror, "mirror")]
    for factor in (*FACTORS, MILLIMETRES):
        rows.append(
            Misuse(f"× {factor:g}", lambda s, k=factor: s.scaled(k), "scale", 1.0 / factor)  # type: ignore[misc]
        )
    return rows


def _mirror(scan: AnyScan) -> AnyScan:
    return scan.mirrored()


def row(atlas: Atlas, trials: list[Trial], misuse: Misuse) -> str:
    """One row of the table."""
    settings = LocalizationSettings()
    unique = right = wrong = lost = told = any_ = 0
    for trial in trials:
        scan = misuse.spoil(trial.scan())
        answer = locate(atlas, scan)
        good = answer.best is not None and is_same_place(answer.best.pose, trial.truth, settings)
        sure = answer.verdict is Verdict.UNIQUE
        given = hints(atlas, scan, answer)
        unique, right, wrong = unique + sure, right + good, wrong + (sure and not good)
        lost += answer.verdict is Verdict.LOST
        told, any_ = told + misuse.is_told(given), any_ + bool(given)
    return f"| {misuse.name} | {len(trials)} | {unique} | {wrong} | {lost} | {any_} | {told} |"


def main() -> None:
    log = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    world, trials = carmen_trials(read_carmen(log))
    atlas = build(world)
    few = np.linspace(0, len(trials) - 1, min(count, len(trials))).astype(np.int64)
    some = [trials[int(k)] for k in few]
    print(f"{log.name.split('.')[0]}\n")
    print("| scans | asked | unique | unique and wrong | lost | hints | right hints |")
    print("|---|---|---|---|---|---|---|")
    for misuse in misuses():
        print(row(atlas, some, misuse), flush=True)


if __name__ == "__main__":
    main()
