"""How often is "unique" wrong, and do probabilities mean what they say?  Over generated plans.

Plans of all kinds of `plans.KINDS` come in turn, each with scans of all sensors in turn.  What came
of each plan is a line of JSON, so that a long run can be stopped, gone on with and added up.
The share of wrong and unique answers has its 95 % interval (Clopper and Pearson): with k of n,

    low  = B(0.025; k, n − k + 1),      high = B(0.975; k + 1, n − k),                     (1)

B being quantiles of the beta law.  It takes scans to be independent; those of one plan are less so.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from isovist.atlas.build import build
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.compute.infra import threads
from isovist.errors import FileError, InputError
from isovist.evaluation.metrics import Outcome, calibration, outcome_of
from isovist.localization.answer import Answer, Verdict
from isovist.localization.locate import locate
from isovist.maps.floor import standing_places
from isovist.poses import Pose
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import Placement, random_scans
from isovist.sensing.scan import Scan
from isovist.simulation.plans import HELD_OUT, KINDS, draw_plan
from isovist.storage.files import existing_file, quote, replace_file

SENSORS = {
    "360°, 12 m": Lidar(2.0 * np.pi, 720, 12.0, noise=0.02),
    "270°, 10 m": Lidar(1.5 * np.pi, 541, 10.0, noise=0.03),
    "180°, 8 m": Lidar(np.pi, 181, 8.0, noise=0.03),
    "120°, 8 m": Lidar(2.0 * np.pi / 3.0, 241, 8.0, noise=0.02),
    "90°, 6 m": Lidar(0.5 * np.pi, 181, 6.0, noise=0.02),
}
CLEARANCE = 0.3
"""Of a sensor from walls and furniture, in m."""
Line = dict[str, Any]
Rate = Callable[[int, PlaneAtlas, Scan, Answer, Pose], Line]
"""More keys for the line of a scan, from its number, atlas, scan, answer and true pose."""


def try_plan(number: int, scans: int, seed: int, rate: Rate | None = None) -> Line:
    """Locate scans on one generated plan; equal numbers and seeds give equal results."""
    kind = kind_of(number)
    plan = draw_plan(kind, (seed, number))
    atlas = build(plan.world)
    placement = Placement(positions=standing_places(plan.built, CLEARANCE, 0.0))
    asked = []
    for k in range(scans):
        name = list(SENSORS)[(number + k) % len(SENSORS)]
        ((truth, scan),) = random_scans(
            plan.built, plan.reality, SENSORS[name], 1,
            seed=int(np.random.SeedSequence((seed, number, k)).generate_state(1)[0]),
            placement=placement,
        )  # fmt: skip
        there = Pose(plan.scale * truth.x, plan.scale * truth.y, truth.yaw)
        answer = locate(atlas, scan)
        came = outcome_of(atlas, scan, answer, there)
        asked.append({"sensor": name, "verdict": str(came.verdict), "right": came.right,
                      "listed": came.listed, "probability": came.probability,
                      "off": min(came.off, 1e9), "error_m": min(came.error_m, 1e9)})  # fmt: skip
        if rate is not None:
            assert isinstance(atlas, PlaneAtlas)
            assert isinstance(scan, Scan)
            asked[-1] |= rate(number * scans + k, atlas, scan, answer, there)
    return {"plan": number, "kind": kind, "scale": plan.scale, "area_m2": atlas.area,
            "asked": asked}  # fmt: skip


def kind_of(number: int) -> str:
    """Return the kind of the plan of a number; the kinds come in turn."""
    return list(KINDS)[number % len(KINDS)]


def run(
    plans: int,
    scans: int,
    seed: int,
    resume: Path | None,
    progress: Callable[[float], None] = lambda _share: None,
    *,
    jobs: int = 1,
    rate: Rate | None = None,
) -> list[Line]:
    """Try all plans and return their lines; skip plans that `resume` has, and append new ones.

    Args:
        plans: Number of plans.
        scans: Number of scans on each plan.
        seed: Seed of plans and scans.
        resume: File of lines of an earlier run; created if it is missing.
        progress: Called with the share that is done.
        jobs: Processes that try plans side by side; lines come as they end, and are the same.
        rate: Gives more keys for the line of each scan.
    """
    if min(plans, scans, jobs) < 1:
        raise InputError(
            f"`plans`, `scans` and `jobs` must be 1 or more, got {plans}, {scans} and {jobs}."
        )
    head = {"seed": seed, "scans": scans}
    done = {} if resume is None else read_lines(resume, head)
    missing = [number for number in range(plans) if number not in done]
    for line in _tried(missing, scans, seed, jobs, rate):
        done[line["plan"]] = line
        if resume is not None:
            with resume.open("ab") as stream:
                stream.write(_line(line))
        progress(sum(number < plans for number in done) / plans)
    return [done[number] for number in range(plans)]


def _tried(
    numbers: list[int], scans: int, seed: int, jobs: int, rate: Rate | None
) -> Iterator[Line]:
    """Lines of plans, in the order in which they are done."""
    ask = partial(try_plan, scans=scans, seed=seed, rate=rate)
    if jobs == 1:
        yield from map(ask, numbers)
        return
    with get_context("spawn").Pool(jobs, threads.use_one_core) as pool:
        yield from pool.imap_unordered(ask, numbers)


def read_lines(path: Path, head: Line) -> dict[int, Line]:
    """Read the lines of a file by plan number; create the file with its first line if missing.

    What was being written when an earlier run was killed is cut off.
    """
    if not path.exists():
        replace_file(path, _line(head))
    text = existing_file(path, "lines of `isovist bench calibrate`").read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    try:
        first, *rest = [json.loads(line) for line in whole.splitlines()]
        lines = {int(line["plan"]): line for line in rest}
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path.name} has no lines of `isovist bench calibrate`.") from error
    if first != head:
        raise FileError(
            f"{path.name} is of a run with {quote(first)}, and this one has {quote(head)}. "
            "Name another file, or repeat its numbers."
        )
    if any(line.get("kind") != kind_of(number) for number, line in lines.items()):
        raise FileError(f"{path.name} is of a version that draws other kinds of plans. "
                        "Name another file.", code="outdated_file")  # fmt: skip
    if whole != text:
        replace_file(path, whole)
    return lines


def _line(row: Line) -> bytes:
    return f"{json.dumps(row)}\n".encode()


def rows_of(lines: Sequence[Line]) -> list[Line]:
    """Return summary rows for all scans, the held-out kinds, each kind and each sensor."""
    return [{"what": name, **summary(some)} for name, some in groups_of(lines)]


def groups_of(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Return the scans of each summary row, with the name of the row."""
    flat = [(line["kind"], asked) for line in lines for asked in line["asked"]]
    groups = [("all", [a for _, a in flat])]
    groups.append(("held out", [a for kind, a in flat if kind in HELD_OUT]))
    groups += [(name, [a for kind, a in flat if kind == name]) for name in KINDS]
    groups += [(name, [a for _, a in flat if a["sensor"] == name]) for name in SENSORS]
    return [(name, some) for name, some in groups if some]


def summary(asked: Sequence[Line]) -> Line:
    """Summarise a group of scans as shares, with the interval (1) and the `calibration` results."""
    n = len(asked)
    wrong = sum(is_unique(a) and not a["right"] for a in asked)
    told = calibration([_outcome(a) for a in asked])
    return {
        "scans": n,
        "right": sum(a["right"] for a in asked) / n,
        "unique": sum(is_unique(a) for a in asked) / n,
        "listed": sum(a["listed"] for a in asked) / n,
        "wrong_and_unique": wrong,
        "interval": clopper_pearson(wrong, n),
        **{f"ellipse{level}": share for level, share in told["ellipses"].items()},
        "probabilities": told["probabilities"],
    }


def is_unique(asked: Line) -> bool:
    return bool(asked["verdict"] == Verdict.UNIQUE)


def clopper_pearson(k: int, n: int) -> tuple[float, float]:
    """Equation (1): the 95 % interval of a share of which k of n cases were seen."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0


def text_of(rows: Iterable[Line]) -> str:
    """Return the rows as a table, with the probabilities of all scans below it."""
    heads = ("what", "scans", "right", "unique", "listed", "wrong and unique (95 %)", "ellipses")
    lines, rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"], list(rows)
    for row in rows:
        low, high = row["interval"]
        held = ", ".join(f"{100 * row[f'ellipse{level}']:.0f}" for level in ("0.5", "0.68", "0.95"))
        shares = " | ".join(f"{row[key]:.1%}" for key in ("right", "unique", "listed"))
        wrong = f"{row['wrong_and_unique']} ({low:.2%} to {high:.2%})"
        lines.append(f"| {row['what']} | {row['scans']} | {shares} | {wrong} | {held} |")
    for low, high, count, mean, share in rows[0]["probabilities"]:
        lines.append(
            f"p from {low:g} to {high:g}: {count:.0f} answers, mean {mean:.3f}, {share:.1%} right"
        )
    return "\n".join(lines)


def _outcome(asked: Line) -> Outcome:
    """An outcome with what `calibration` looks at."""
    return Outcome(
        Verdict(asked["verdict"]), asked["error_m"], 0.0, asked["right"], asked["listed"], True,
        asked["probability"], asked["off"], {},
    )  # fmt: skip
