"""Measure how often "unique" is wrong, and how reliable probabilities are, on generated plans.

Plans of all `KINDS` come in turn, each with scans of all sensors in turn. The result of each plan
is a line of JSON, so that a long run can be stopped and continued.
The share of wrong and unique answers has its 95 % interval (Clopper and Pearson): with k of n,

    low  = B(0.025; k, n − k + 1),      high = B(0.975; k + 1, n − k),                     (1)

where B are quantiles of the beta distribution. This takes scans as independent, which is optimistic
for scans of one plan.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from isovist.atlas import PlaneAtlas
from isovist.atlas.build import build
from isovist.compute import use_one_core
from isovist.errors import FileError, InputError
from isovist.evaluation.metrics import LEVELS, Outcome, calibration, outcome_of
from isovist.evaluation.settings import PROTOCOL
from isovist.localization import Answer, Verdict
from isovist.localization.locate import locate
from isovist.maps import standing_places
from isovist.poses import Pose
from isovist.sensing import Lidar, Placement, Scan, random_scans
from isovist.simulation import HELD_OUT, KINDS, draw_plan
from isovist.storage import existing_file, quote, replace_file

SENSORS = {
    "360°, 12 m": Lidar(2.0 * np.pi, 720, 12.0, noise=0.02),
    "270°, 10 m": Lidar(1.5 * np.pi, 541, 10.0, noise=0.03),
    "180°, 8 m": Lidar(np.pi, 181, 8.0, noise=0.03),
    "120°, 8 m": Lidar(2.0 * np.pi / 3.0, 241, 8.0, noise=0.02),
    "90°, 6 m": Lidar(0.5 * np.pi, 181, 6.0, noise=0.02),
}
Line = dict[str, Any]
Rate = Callable[[int, PlaneAtlas, Scan, Answer, Pose], Line]
"""More keys for the row of a scan, from its number, atlas, scan, answer and true pose."""


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    """A calibration of `locate` on generated plans; equal numbers and seeds give equal results.

    Attributes:
        plans: Number of plans; their kinds alternate.
        scans: Number of scans on each plan; their sensors alternate.
        seed: Seed of plans and scans.
        rate: Function that returns more keys for the row of each scan, or `None`.
    """

    plans: int
    scans: int
    seed: int = 0
    rate: Rate | None = None

    def run(
        self,
        resume: Path | None = None,
        progress: Callable[[float], None] = lambda _share: None,
        *,
        jobs: int = 1,
    ) -> list[Line]:
        """Locate scans on all plans and return the results, one line (a dictionary) per plan.

        Args:
            resume: File with the lines of an earlier run, whose plans are not repeated.  New lines
                are appended.  The file is created if it is missing.
            progress: Function that is called with the share of plans that have a line.
            jobs: Number of processes; it does not change the results.

        Raises:
            InputError: If a number is below 1.
            FileError: If the file belongs to a run with another seed or number of scans.
        """
        if min(self.plans, self.scans, jobs) < 1:
            raise InputError(
                "`plans`, `scans` and `jobs` must be 1 or more, got "
                f"{self.plans}, {self.scans} and {jobs}."
            )
        head = {"seed": self.seed, "scans": self.scans}
        lines = {} if resume is None else read_lines(resume, head)
        missing = [number for number in range(self.plans) if number not in lines]
        for line in self._try_plans(missing, jobs):
            lines[line["plan"]] = line
            if resume is not None:
                with resume.open("ab") as stream:
                    stream.write(_encode(line))
            progress(sum(number < self.plans for number in lines) / self.plans)
        return [lines[number] for number in range(self.plans)]

    def _try_plans(self, numbers: list[int], jobs: int) -> Iterator[Line]:
        """Yield the lines of plans as they are finished."""
        if jobs == 1:
            yield from map(self.try_plan, numbers)
            return
        with get_context("spawn").Pool(jobs, use_one_core) as pool:
            yield from pool.imap_unordered(self.try_plan, numbers)

    def try_plan(self, number: int) -> Line:
        """Generate the plan with a number, locate scans on it, and return the line."""
        kind = kind_of(number)
        plan = draw_plan(kind, (self.seed, number))
        atlas = build(plan.world)
        positions = standing_places(plan.built, PROTOCOL.calibration_clearance_m, 0.0)
        placement = Placement(positions=positions)
        rows = []
        for k in range(self.scans):
            name = list(SENSORS)[(number + k) % len(SENSORS)]
            ((pose, scan),) = random_scans(
                plan.built, plan.reality, SENSORS[name], 1,
                seed=int(np.random.SeedSequence((self.seed, number, k)).generate_state(1)[0]),
                placement=placement,
            )  # fmt: skip
            truth = Pose(plan.scale * pose.x, plan.scale * pose.y, pose.yaw)
            answer = locate(atlas, scan)
            rows.append({"sensor": name} | _outcome_row(outcome_of(atlas, scan, answer, truth)))
            if self.rate is not None:
                assert isinstance(atlas, PlaneAtlas)
                assert isinstance(scan, Scan)
                rows[-1] |= self.rate(number * self.scans + k, atlas, scan, answer, truth)
        return {"plan": number, "kind": kind, "scale": plan.scale, "area_m2": atlas.area,
                "asked": rows}  # fmt: skip


def _outcome_row(outcome: Outcome) -> Line:
    """Return an outcome as it is stored."""
    return {"verdict": str(outcome.verdict), "right": outcome.right, "listed": outcome.listed,
            "probability": outcome.probability, "off": min(outcome.mahalanobis, 1e9),
            "error_m": min(outcome.error_m, 1e9)}  # fmt: skip


def _outcome_of_row(row: Line) -> Outcome:
    """Return an outcome with the stored values."""
    return Outcome(
        Verdict(row["verdict"]), row["error_m"], 0.0, row["right"], row["listed"], True,
        row["probability"], row["off"], {},
    )  # fmt: skip


def kind_of(number: int) -> str:
    """Return the kind of the plan of a number; the kinds come in turn."""
    return list(KINDS)[number % len(KINDS)]


def read_lines(path: Path, head: Line) -> dict[int, Line]:
    """Read the lines of a calibration file, by plan number.

    The file is created with its first line if it is missing.  An incomplete last line, left by a
    run that was killed, is removed.
    """
    if not path.exists():
        replace_file(path, _encode(head))
    text = existing_file(path, "lines of `isovist bench calibrate`").read_bytes()
    complete = text[: text.rfind(b"\n") + 1]
    try:
        first, *rows = [json.loads(line) for line in complete.splitlines()]
        lines = {int(line["plan"]): line for line in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path.name} has no lines of `isovist bench calibrate`.") from error
    if first != head:
        raise FileError(
            f"{path.name} is of a run with {quote(first)}; this run has {quote(head)}. "
            "Name another file, or use the same numbers."
        )
    if any(line.get("kind") != kind_of(number) for number, line in lines.items()):
        raise FileError(f"{path.name} is of a version with other kinds of plans. "
                        "Name another file.", code="outdated_file")  # fmt: skip
    if complete != text:
        replace_file(path, complete)
    return lines


def _encode(row: Line) -> bytes:
    return f"{json.dumps(row)}\n".encode()


def summarise_plans(lines: Sequence[Line]) -> list[Line]:
    """Return summary rows: all scans, the held-out kinds of plans, each kind, each sensor."""
    return [{"what": name, **summary(rows)} for name, rows in group_scans(lines)]


def group_scans(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Return the scans of each summary row, with the name of the row."""
    scans = [(line["kind"], row) for line in lines for row in line["asked"]]
    groups = [("all", [row for _, row in scans])]
    groups.append(("held out", [row for kind, row in scans if kind in HELD_OUT]))
    groups += [(name, [row for kind, row in scans if kind == name]) for name in KINDS]
    groups += [(name, [row for _, row in scans if row["sensor"] == name]) for name in SENSORS]
    return [(name, rows) for name, rows in groups if rows]


def summary(rows: Sequence[Line]) -> Line:
    """Summarise a group of scans as shares, with the interval (1) and the `calibration` results."""
    n = len(rows)
    wrong = sum(is_unique(row) and not row["right"] for row in rows)
    reliability = calibration([_outcome_of_row(row) for row in rows])
    return {
        "scans": n,
        "right": sum(row["right"] for row in rows) / n,
        "unique": sum(is_unique(row) for row in rows) / n,
        "listed": sum(row["listed"] for row in rows) / n,
        "wrong_and_unique": wrong,
        "interval": clopper_pearson(wrong, n),
        **{f"ellipse{level}": share for level, share in reliability["ellipses"].items()},
        "probabilities": reliability["probabilities"],
    }


def is_unique(row: Line) -> bool:
    """Return whether the answer to a scan is unique."""
    return bool(row["verdict"] == Verdict.UNIQUE)


def clopper_pearson(k: int, n: int) -> tuple[float, float]:
    """Return the 95 % confidence interval (1) of a probability from k successes in n trials."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0


def table_text(rows: Iterable[Line]) -> str:
    """Format the rows as a table, followed by the calibration of the probabilities."""
    heads = ("what", "scans", "right", "unique", "listed", "wrong and unique (95 %)", "ellipses")
    lines, rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"], list(rows)
    for row in rows:
        low, high = row["interval"]
        ellipses = ", ".join(f"{100 * row[f'ellipse{level:g}']:.0f}" for level in LEVELS)
        shares = " | ".join(f"{row[key]:.1%}" for key in ("right", "unique", "listed"))
        wrong = f"{row['wrong_and_unique']} ({low:.2%} to {high:.2%})"
        lines.append(f"| {row['what']} | {row['scans']} | {shares} | {wrong} | {ellipses} |")
    for low, high, count, mean, share in rows[0]["probabilities"]:
        lines.append(
            f"p from {low:g} to {high:g}: {count:.0f} answers, mean {mean:.3f}, {share:.1%} right"
        )
    return "\n".join(lines)
