"""Run benchmarks: all at a quick size, or one at full size to keep its result.

    python -m benchmarks [--data FOLDER] [NAME …]  # quick; `make bench`, `make bench DATA=FOLDER`
    python -m benchmarks --save NAME ARGUMENT…     # as `python -m benchmarks.NAME`, and keep it

A benchmark that needs data says so in one line and is skipped if the folder lacks them.  Exits
with 1 when a benchmark does.  docs/benchmarks has the results, each with its command.
"""

import argparse
import runpy
import shlex
import sys
from pathlib import Path

from benchmarks.results import saving

RUNS = {
    "first_minutes": (),
    "demo": ("6",),
    "misuse": ("DATA/carmen/seattle-corrected.log.gz", "8"),
    "several": ("--count", "4", "DATA/carmen/seattle-corrected.log.gz"),
    "floors": ("--scans", "10"),
    "library": ("--floors", "20", "--scans", "4"),
    "many": ("--count", "24", "DATA/carmen/seattle-corrected.log.gz"),
    "cores": ("--scans", "24"),
    "against": (".", "--count", "6", "DATA/carmen/seattle-corrected.log.gz"),
    "inner": (),
    "check": ("DATA/carmen/seattle-corrected.log.gz", "--count", "8"),
    "explore": ("--starts", "2", "hall"),
    "survey": ("--count", "50", "--sensor", "360,10", "DATA/maps/tb3_sandbox.yaml"),
    "survey_space": ("--count", "4", "--seeds", "1", "--length", "12"),
    "office3d": ("0", "10"),
    "tower": ("--scans", "10"),
    "track_space": ("--starts", "2", "--kidnaps", "1"),
    "pair": ("DATA/3d", "2"),
    "street": ("4", "100"),
    "lean": ("DATA/3d/geb079.bt", "2", "4"),
    "elsewhere": ("DATA/3d/geb079.bt", "2"),
    "mesh": (),
    "voxels": (),
    "descriptor": (),
    "occupancy": (),
    "paper_method": ("DATA/carmen/seattle-corrected.log.gz", "20"),
    "static_bound": ("300",),
    "static_bound_3d": ("6",),
    "certificate": ("200",),
    "complete": ("300", "2"),
    "exhaustive": ("--plans", "2", "--scans", "2", "--every", "2"),
    "baselines": ("descriptors", "DATA/maps/tb3_sandbox.yaml", "--count", "2"),
    "twins": ("--scans", "12", "--copies", "2,4"),
    "dynamic_bound": ("30",),
    "growth": ("4", "4"),
    "long": ("--updates", "400", "--side", "4000"),
    "cuda": ("2000", "20"),
    "studio": ("1",),
    "serve": ("--scans", "100", "--clients", "16", "--malformed", "500"),
    "ros": ("60",),
    "ros_bag": ("DATA/jarvis",),
    "fuzz": ("--count", "300"),
    "results": ("compare", "--tolerance", "inf"),
    "reference": ("sets",),
}
"""Arguments of a quick run; DATA is the folder of `--data`."""
NOT_RUN = ("ablate", "building", "mutate", "result_pages")
"""Ablations, which need inputs of `benchmarks.reference`; a world for others to measure on; a check
of the tests that takes an hour; what writes pages."""


def arguments_of(name: str, data: Path) -> list[str] | Path:
    """Arguments of a quick run, or the first path of it that is missing."""
    given = []
    for part in RUNS[name]:
        path = data / part.removeprefix("DATA/")
        if part.startswith("DATA/") and not path.exists():
            return path
        given.append(str(path) if part.startswith("DATA/") else part)
    return given


def run(name: str, data: Path) -> bool:
    """Run one benchmark at its quick size; return if it succeeded."""
    arguments = arguments_of(name, data)
    if isinstance(arguments, Path):
        print(f"\nbenchmarks.{name} is skipped: there is no {arguments}.", flush=True)
        return True
    print(f"\n$ {' '.join(['python -m', f'benchmarks.{name}', *arguments])}", flush=True)
    return run_module(name, arguments)


def run_module(name: str, arguments: list[str]) -> bool:
    """Run `python -m benchmarks.NAME` with arguments in this process; return if it succeeded."""
    before, sys.argv = sys.argv, [name, *arguments]
    try:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")
    except SystemExit as end:
        return end.code in (0, None)
    finally:
        sys.argv = before
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RUNS))
    parser.add_argument("--data", type=Path, default=Path("DATA"), help="folder of logs and maps")
    parser.add_argument("--save", nargs=argparse.REMAINDER, help="NAME and its ARGUMENTS")
    given = parser.parse_args()
    if given.save:
        name, *arguments = given.save
        with saving(name, shlex.join(["python", "-m", f"benchmarks.{name}", *arguments])):
            if not run_module(name, arguments):
                sys.exit(1)
        return
    unknown = [name for name in given.names if name not in RUNS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(RUNS)}")
    failed = [name for name in given.names or RUNS if not run(name, given.data)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
