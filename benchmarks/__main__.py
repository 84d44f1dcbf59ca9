"""Every benchmark at a quick size: `make bench`, or `make bench DATA=FOLDER` with data.

python -m benchmarks [--data FOLDER] [NAME …]

BENCHMARK.md has the rows of the full sizes, each with its command.  What needs data says so in one
line and is skipped where the folder lacks it.  Exits with 1 when a benchmark does.
"""

import argparse
import runpy
import sys
from pathlib import Path

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
    "sparse": ("--realities", "1", "--scans", "2", "DATA/maps/tb3_sandbox.yaml"),
    "outlines": ("--plans", "24", "--scans", "4"),
    "long": ("--updates", "400", "--side", "4000"),
    "cuda": ("2000", "20"),
    "studio": ("1",),
    "serve": ("--scans", "100", "--clients", "16", "--malformed", "500"),
    "ros": ("60",),
    "ros_bag": ("DATA/jarvis",),
    "fuzz": ("--count", "300"),
    "history": (),
    "reference": ("sets",),
}
"""Arguments of a quick run, in the order of BENCHMARK.md; DATA is the folder of `--data`."""
NOT_RUN = ("building", "mutate")
"""A world for others to measure on, and a check of the tests that takes an hour."""


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
    """Run one benchmark as its command would; whether it ended well."""
    arguments = arguments_of(name, data)
    if isinstance(arguments, Path):
        print(f"\nbenchmarks.{name} is skipped: there is no {arguments}.", flush=True)
        return True
    print(f"\n$ {' '.join(['python -m', f'benchmarks.{name}', *arguments])}", flush=True)
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
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in RUNS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(RUNS)}")
    failed = [name for name in given.names or RUNS if not run(name, given.data)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
