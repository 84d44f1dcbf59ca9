"""Calibration beside brute force.

python -m benchmarks.exhaustive [--plans 70] [--scans 10] [--seed 0] [--every 100] [--jobs 1]
    [--resume FILE] [--json]
"""

import argparse
import json
from pathlib import Path

from benchmarks.exhaustive.calibrate import rated_rows_of, rated_text_of, run_rated
from isovist.apps.cli.support.progress import bar


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("plans", 70), ("scans", 10), ("seed", 0), ("every", 100), ("jobs", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with bar("Locating on generated plans") as advance:
        lines = run_rated(
            given.plans, given.scans, given.seed, given.resume, given.every, advance,
            jobs=given.jobs,
        )  # fmt: skip
    rows = rated_rows_of(lines)
    print(json.dumps(rows) if given.json else rated_text_of(rows))


if __name__ == "__main__":
    main()
