"""Damaged files of every kind and destroyed scans: is every one refused with words, or harmless?

    python -m benchmarks.fuzz [--minutes N] [--count N] [--seed S] [--jobs N] [--kinds A,B,…]
    python -m benchmarks.fuzz --replay KIND K [--seed S]

Sound little files are made first; a case damages one of them and reads it, destroys a scan and
locates it, sends a broken request or types a wrong command line.  Every kind of these gets the same
time.  These are findings: an error that is not ours, a text that
is not one printable line with the file's name in front, a warning, more than 30 s, more than 4 GB,
a process that dies, an answer that is unique and wrong or not finite.  Exits with 1 on findings.
`--replay KIND K` runs case K of a kind alone and says all about it.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.fuzz.cases import Outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=20.0, help="begin no case after these")
    parser.add_argument("--count", type=int, default=20_000, help="most cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--kinds", help="these alone, e.g. state.json,cloud.ply")
    parser.add_argument("--replay", nargs=2, metavar=("KIND", "K"), help="one case, and all of it")
    given = parser.parse_args()
    os.environ.update(NUMBA_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(prefix="isovist-seeds-") as scratch:
        folder = Path(scratch) / "seeds"
        from benchmarks.fuzz.cases import rows, run_case, warm
        from benchmarks.fuzz.seeds import write_seeds
        from benchmarks.fuzz.workers import outcomes

        write_seeds(folder)
        kinds = given.kinds.split(",") if given.kinds else rows(folder)
        for kind in [*kinds, *(given.replay or ())[:1]]:
            if kind not in rows(folder):
                raise SystemExit(f"No kind {kind!r}; there are {', '.join(rows(folder))}.")
        warm(folder)  # and so the kernels are compiled before time is taken
        if given.replay is not None:
            outcome = run_case(folder, given.seed, given.replay[0], int(given.replay[1]))
            print(f"{outcome.row}: {outcome.finding or 'no finding'}\n{outcome.detail}")
            sys.exit(1 if outcome.finding else 0)
        cases = outcomes(folder, given.seed, kinds, given.count, 60.0 * given.minutes, given.jobs)
        found = tell(cases, given.seed, given.count)
    sys.exit(1 if found else 0)


def tell(outcomes: Iterable["Outcome"], seed: int, count: int) -> int:
    """Findings as they come and a table at the end; how many there were."""
    cases, refused, found = Counter[str](), Counter[str](), Counter[str]()
    told: set[tuple[str, str]] = set()
    with suppress(KeyboardInterrupt):  # who has waited long enough sees what there is
        for outcome in outcomes:
            kind = outcome.row
            cases[kind] += 1
            refused[kind] += outcome.refused and not outcome.finding
            found[kind] += bool(outcome.finding)
            if outcome.finding and (kind, outcome.finding) not in told:
                told.add((kind, outcome.finding))
                print(
                    f"--seed {seed} --replay '{kind}' {outcome.number}: {outcome.finding}",
                    flush=True,
                )
            done = cases.total()
            if done % 5000 == 0:
                print(
                    f"{done} of {count} cases, {found.total()} findings",
                    file=sys.stderr,
                    flush=True,
                )
    print("| reader | cases | refused with words | accepted | findings |\n|---|---|---|---|---|")
    for kind in [*sorted(cases), ""]:
        some = [c[kind] if kind else c.total() for c in (cases, refused, found)]
        accepted = some[0] - some[1] - some[2]
        print(f"| {kind or 'all'} | {some[0]} | {some[1]} | {accepted} | {some[2]} |")
    if not cases:
        raise SystemExit("No case was begun.")
    return found.total()


if __name__ == "__main__":
    main()
