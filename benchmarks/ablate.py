"""What is each mechanism of `locate` worth?

    python -m benchmarks.ablate [--every N] [--jobs N] [--inputs FOLDER] [SET …]

Each row switches one mechanism off by its settings and asks the questions of `benchmarks.reference`
again.  Right, unique, unique and wrong, and listed are counts; CPU is the mean of a question over
that of the usual settings, in one run.  A mechanism that no row supports should go.
"""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import isovist as iv
from benchmarks.reference.adapter import Adapter, told_of
from benchmarks.reference.outcomes import Counts, Outcome, mcnemar, outcome_of
from benchmarks.reference.sets import sets_of
from benchmarks.reference.shards import read_shard
from benchmarks.reference.trees import CACHE, ROOT

USUAL = iv.LocalizationSettings()
SETS = ("carmen-*", "*-clean", "*-furniture", "*-walls-removed", "calibrate")
NEVER = 1e9


def changed(**stages: Mapping[str, Any]) -> iv.LocalizationSettings:
    """Return the usual settings with some fields of some stages changed."""
    return replace(
        USUAL, **{name: replace(getattr(USUAL, name), **how) for name, how in stages.items()}
    )


MECHANISMS = {
    "all mechanisms": USUAL,
    "one batch": changed(search={"full_candidates": 1}),
    "no stop by the bound": changed(search={"stop_cost_ratio": NEVER}),
    "unique whatever was not searched": changed(decision={"min_cost_ratio": 1.0}),
    "no more agreement while little is searched": changed(
        refutation={"early_agreement_factor": 1.0, "early_share_factor": 1.0}
    ),
    "every beam a group": changed(scoring={"group_rad": 1e-6, "group_length_m": 1e-6}),
    "groups need not agree": changed(refutation={"min_agreement": 0.0, "min_group_share": 0.0}),
    "no least lead": changed(refutation={"min_lead_nats": 0.0}),
    "no least probability": changed(decision={"min_probability": 1e-6}),
    "explained beams weigh no more": changed(scoring={"explained_weight": 0.0}),
    "no climb to the best score nearby": changed(scoring={"climb_range_nats": 0.0}),
    "few beams refute nothing": changed(fit={"first_refined": 150, "full_refined": 1500}),
    "mirrored and far rescaled scans not tried": changed(alternatives={"good_score_nats": 0.0}),
}


def ask(job: tuple[str, int, int, Path, Path]) -> dict[str, list[tuple[Outcome, float]]]:
    """Ask every n-th question of a file by each of the settings."""
    file, every, first, inputs, data = job
    adapter = Adapter(inputs, data)
    adapter.path, adapter.shard = file, read_shard(inputs / file)
    found: dict[str, list[tuple[Outcome, float]]] = {name: [] for name in MECHANISMS}
    for query in adapter.shard.queries[first::every]:
        if query.get("verb", "locate") != "locate" or len(query["scans"]) > 1:
            continue
        atlas, scan = adapter.atlas(query["maps"], False), adapter.scan(query["scans"][0])
        iv.locate(atlas, scan)  # tables of a map are made at its first scans
        for name, settings in MECHANISMS.items():
            begin = process_time()
            answer = iv.locate(atlas, scan, settings=settings)
            spent = process_time() - begin
            found[name].append((outcome_of(told_of(answer), query, adapter.shard.near), spent))
    return found


def table(answers: Mapping[str, Sequence[tuple[Outcome, float]]]) -> str:
    """Return a row for each mechanism."""
    heads = "without", "questions", "right", "p", "unique", "unique and wrong", "listed", "CPU"
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    usual = answers["all mechanisms"]
    for name, rows in answers.items():
        counts = Counts.of(outcome for outcome, _ in rows)
        p = mcnemar([one.right for one, _ in usual], [one.right for one, _ in rows])
        ratio = sum(spent for _, spent in rows) / sum(spent for _, spent in usual)
        cells = (counts.queries, counts.right, f"{p:.2g}", counts.unique, counts.wrong,
                 counts.listed, f"{ratio:.2f}")  # fmt: skip
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--every", type=int, default=10, help="ask every n-th question [10]")
    parser.add_argument("--jobs", type=int, default=2, help="processes [2]")
    parser.add_argument("--inputs", type=Path, default=CACHE / "inputs")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    parts = max(1, given.jobs)
    jobs = [
        (file, given.every * parts, given.every * part, given.inputs, given.data)
        for one in sets_of(list(given.sets))
        for file in one.files("default")
        if (given.inputs / file).exists()
        for part in range(parts if "calibrate" not in one.name else 1)
    ]
    if not jobs:
        parser.exit(2, "No inputs: python -m benchmarks.reference compare makes them.\n")
    answers: dict[str, list[tuple[Outcome, float]]] = {name: [] for name in MECHANISMS}
    with ProcessPoolExecutor(given.jobs) as pool:
        for found in pool.map(ask, jobs):
            for name, rows in found.items():
                answers[name] += rows
    print(table(answers))


if __name__ == "__main__":
    main()
