"""How many scans are unique by brute force, and by `locate` too?  Beside `bench calibrate`.

Caution alone makes no wrong answers, and no answers.  So on one scan of N brute force rates every
place of the map, and of the scans that it calls unique the share is told, with its 95 % interval,
that `locate` calls unique too.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.exhaustive.verdict import rate_everywhere, withheld
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.errors import InputError
from isovist.evaluation.calibrate import (
    CalibrationRun,
    Line,
    clopper_pearson,
    group_scans,
    is_unique,
    summarise_plans,
    table_text,
)
from isovist.localization import Answer
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose, pose_error
from isovist.sensing.scan import Scan

LEVELS = (0.99, 0.998)
"""Probabilities by brute force above which the share is told, too."""


def run_rated(
    plans: int,
    scans: int,
    seed: int,
    resume: Path | None,
    every: int,
    progress: Callable[[float], None] = lambda _share: None,
    *,
    jobs: int = 1,
) -> list[Line]:
    """Lines of a `CalibrationRun`, where one scan of `every` is rated too."""
    if every < 1:
        raise InputError.about("every", f"must be 1 or more, got {every}.")
    rate = partial(rate_some, every)
    return CalibrationRun(plans, scans, seed, rate).run(resume, progress, jobs=jobs)


def rate_some(
    every: int, number: int, atlas: PlaneAtlas, scan: Scan, answer: Answer, truth: Pose
) -> Line:
    """What brute force says, under `brute`, of the scan whose turn it is; else nothing."""
    if not _is_rated(number, every):
        return {}
    return {"brute": by_brute_force(atlas, scan, answer, truth)}


def _is_rated(number: int, every: int) -> bool:
    """Whether a scan is the one of `every` of a run, any of them: sensors come in turn, and each is
    to be rated.
    """
    some = int(np.random.SeedSequence(number // every).generate_state(1)[0])
    return number % every == some % every


def by_brute_force(atlas: PlaneAtlas, scan: Scan, answer: Answer, truth: Pose) -> Line:
    """What brute force says of a scan, and what keeps an answer from being unique.

    Truth and answer say where it pays to begin; the rating is the same without.
    """
    poses = [truth, *(estimate.pose for estimate in answer.estimates)]
    known = np.array([(pose @ scan.T_robot_level).vector for pose in poses])
    told = rate_everywhere(atlas, scan, known)
    near, turned = LocalizationSettings().decision.same_place
    gap = (np.inf, np.inf) if told.pose is None else pose_error(told.pose, truth)
    return {"unique": told.unique, "right": gap[0] <= near and gap[1] <= turned,
            "probability": told.probability, "ahead": float(np.clip(told.ahead, -1e9, 1e9)),
            "judged": str(told.judged), "withheld": withheld(answer)}  # fmt: skip


def rated_rows_of(lines: Sequence[Line]) -> list[Line]:
    """Rows of `summarise_plans`, with `share_of` those scans that were rated."""
    shares = [
        {"brute": share_of(asked)} if any("brute" in a for a in asked) else {}
        for _, asked in group_scans(lines)
    ]
    return [row | share for row, share in zip(summarise_plans(lines), shares, strict=True)]


def share_of(asked: Sequence[Line]) -> Line:
    """Of scans that brute force calls unique, how many are so by `locate`, and why others are not.

    `unique` counts those of brute force, `too` those among them that `locate` calls unique, `share`
    is their share, `None` of nothing; `wrong` counts where brute force calls a wrong place unique,
    `wrong_too` where `locate` does on the same scans; `given_up` those that took too long.
    `levels` has the same of scans whose place is so probable by brute force.
    """
    rated = [a for a in asked if "brute" in a]
    unique = [a for a in rated if a["brute"]["unique"]]
    reasons = Counter(a["brute"]["withheld"] for a in unique if not is_unique(a))
    likely = {p: [a for a in unique if a["brute"]["probability"] >= p] for p in LEVELS}
    return {
        "rated": len(rated),
        "given_up": sum(a["brute"]["unique"] is None for a in rated),
        **_both(unique),
        "wrong_too": sum(is_unique(a) and not a["right"] for a in rated),
        "withheld": dict(reasons.most_common()),
        "levels": [{"probability": p, **_both(some)} for p, some in likely.items()],
    }


def _both(unique: Sequence[Line]) -> Line:
    """Of scans that are unique by brute force, how many are so by `locate` too."""
    too, n = sum(is_unique(a) for a in unique), len(unique)
    return {
        "unique": n,
        "too": too,
        "share": too / n if n else None,
        "interval": clopper_pearson(too, n),
        "wrong": sum(not a["brute"]["right"] for a in unique),
    }


def rated_text_of(rows: Sequence[Line]) -> str:
    """The table of `table_text`, and below it one of the scans that brute force rated."""
    return "\n".join([table_text(rows), *_brute_lines([row for row in rows if "brute" in row])])


def _brute_lines(rows: Sequence[Line]) -> list[str]:
    """A second table, of the scans that brute force rated; nothing where it rated none."""
    if not rows:
        return []
    heads = ("brute force", "rated", "given up", "unique", "of these unique by locate (95 %)",
             "brute force unique and wrong", "locate unique and wrong")  # fmt: skip
    lines = ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        told = row["brute"]
        of = _share_text(told)
        wrong = [f"{told[key]} ({told[key] / told['rated']:.2%})" for key in ("wrong", "wrong_too")]
        cells = (row["what"], told["rated"], told["given_up"], told["unique"], of, *wrong)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for level in rows[0]["brute"]["levels"]:
        lines.append(
            f"Brute force unique with p from {level['probability']:g}: {level['unique']}, "
            f"{level['wrong']} of them wrong; of these unique by locate {_share_text(level)}"
        )
    kept = ", ".join(f"{name} {count}" for name, count in rows[0]["brute"]["withheld"].items())
    return [*lines, f"What keeps locate from calling those unique: {kept or 'nothing'}."]


def _share_text(told: Line) -> str:
    low, high = told["interval"]
    share = "–" if told["share"] is None else f"{told['share']:.1%}"
    return f"{told['too']}: {share} ({low:.1%} to {high:.1%})"
