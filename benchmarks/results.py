"""Keep the results of benchmarks as files that say where they come from.

    python -m benchmarks --save NAME ARGUMENT…     # run a benchmark, keep what it prints
    isovist bench carmen LOG… --json | python -m benchmarks.results add carmen "isovist bench …"
    python -m benchmarks.results compare           # what got worse since the result before
    make results                                   # write the pages of all results

A result is benchmarks/results/NAME/DATE-COMMIT-MACHINE.json.  What was not recorded is "unknown".
"""

import argparse
import io
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

Row = dict[str, Any]

FOLDER = Path(__file__).with_name("results")
UNKNOWN = "unknown"
LIBRARIES = ("numpy", "scipy", "numba")
ROW_NAMES = ("site", "what", "map", "sensor", "changed", "scans")
"""Columns whose text tells which row of a result it is."""
HIGHER = ("success", "right", "unique", "listed", "listed_complete", "unique_of_right")
LOWER = ("_ms", "_s", "error_m", "error_deg", "false_confident", "wrong_and_unique", "proof_wrong")
TIMES = ("_ms", "_s")


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of a benchmark measured, and where.

    Attributes:
        name: Name of the benchmark.
        command: The command with its arguments.
        date: Day of the run, or of the page that it was copied from.
        commit: Commit that was measured; ends in "-dirty" if files differed from it.
        machine: Short name of the machine, for the name of the file.
        cpu: Model of the processor, and how many cores.
        load: Mean number of running processes in the minute before the run.
        versions: Of Python, isovist, and the libraries that it computes with.
        rows: The rows of its tables, by column.  Rows of one table have the same columns.
        notes: Other lines that it printed.
        conditions: What was measured, in a sentence.
        source: "run", or the page that the rows were copied from.
    """

    name: str
    command: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    conditions: str = ""
    date: str = UNKNOWN
    commit: str = UNKNOWN
    machine: str = UNKNOWN
    cpu: str = UNKNOWN
    load: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
    source: str = "run"

    @property
    def path(self) -> Path:
        """Return the file of the result, below the folder of all results."""
        return Path(self.name, f"{self.date}-{self.commit}-{self.machine}.json")

    def write(self, folder: Path = FOLDER) -> Path:
        """Write the result as JSON, and return its file."""
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", encoding="utf-8")
        return path


def provenance() -> dict[str, Any]:
    """Return the date, commit, machine, load and versions of a run that begins now."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _git("describe", "--always", "--dirty", "--exclude=*") or UNKNOWN,
        "machine": f"{platform.machine()}-{cores}".lower(),
        "cpu": f"{_cpu_model()}, {cores} cores",
        "load": round(os.getloadavg()[0], 2),
        "versions": {
            "python": platform.python_version(),
            "isovist": metadata.version("isovist"),
            **{name: metadata.version(name) for name in LIBRARIES},
        },
    }


def _git(*words: str) -> str:
    command = ["git", "-C", str(FOLDER.parent), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    model = re.search(r"^model name\s*: (.*)$", text, flags=re.M)
    return model[1] if model else platform.machine()


class _Copy(io.TextIOBase):
    """A stream that passes text on and remembers it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()


@contextmanager
def saving(name: str, command: str, folder: Path = FOLDER) -> Iterator[None]:
    """Keep what is printed inside as the result of a benchmark, if it does not fail."""
    measured = provenance()
    copy = _Copy(sys.stdout)
    with redirect_stdout(copy):  # type: ignore[type-var]
        yield
    rows, notes = parse("".join(copy.parts))
    path = Result(name, command, rows, notes, **measured).write(folder)
    print(f"saved in {path}", file=sys.stderr)


def parse(text: str) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Split printed text into the rows of its Markdown tables and its other lines."""
    rows: list[Row] = []
    notes: list[str] = []
    columns: list[str] | None = None
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = None
            notes += [line] if line.strip() else []
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if columns is None:
            columns = [_unlike(cells[:k], cell) for k, cell in enumerate(cells)]
        elif set(line) - set("|-: "):
            rows.append(dict(zip(columns, map(_number, cells), strict=False)))
    return tuple(rows), tuple(notes)


def _unlike(others: Sequence[str], name: str) -> str:
    """Return a name of a column that differs from those before it."""
    return f"{name} ({others.count(name) + 1})" if name in others else name


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def results(folder: Path = FOLDER) -> dict[str, list[Result]]:
    """Read all results by the name of their benchmark, the oldest first."""
    by_name: dict[str, list[Result]] = {}
    for path in sorted(folder.glob("*/*.json")):
        values = json.loads(path.read_text(encoding="utf-8"))
        result = Result(
            **{**values, "rows": tuple(values["rows"]), "notes": tuple(values["notes"])}
        )
        by_name.setdefault(result.name, []).append(result)
    return by_name


def changes(before: Result, after: Result, tolerance: float) -> Iterator[tuple[bool, str]]:
    """Yield each number that changed by more than a share: whether it is worse, and a sentence.

    Times are compared only if both results are of one machine.
    """
    earlier = {_row_name(row): row for row in before.rows}
    for row in after.rows:
        name = _row_name(row)
        for key, new in row.items():
            old = earlier.get(name, {}).get(key)
            is_time = key.endswith(TIMES)
            if not (key in HIGHER or key.endswith(LOWER)) or (
                is_time and before.machine != after.machine
            ):
                continue
            if not (isinstance(old, int | float) and isinstance(new, int | float)):
                continue
            if abs(new - old) > tolerance * max(abs(old), abs(new)):
                is_worse = (new > old) == key.endswith(LOWER)
                word = "worse" if is_worse else "better"
                yield is_worse, f"{word}: {after.name} {name}: {key} {old:.4g} → {new:.4g}"


def _row_name(row: Row) -> str:
    return " ".join(str(row[key]) for key in ROW_NAMES if key in row)


def compare(folder: Path, tolerance: float) -> int:
    """Print what changed between the last two results of each benchmark; return how many worse."""
    pairs = [runs[-2:] for runs in results(folder).values() if len(runs) > 1]
    lines = [line for pair in pairs for line in changes(pair[0], pair[1], tolerance)]
    for _, line in sorted(lines, reverse=True):
        print(line)
    worse = sum(is_worse for is_worse, _ in lines)
    print(f"{len(pairs)} benchmarks compared: {worse} worse, {len(lines) - worse} better.")
    return worse


def add(name: str, command: str, stream: Iterable[str], folder: Path) -> Path:
    """Keep the rows that a command printed with `--json`."""
    rows = json.loads("".join(stream))
    rows = rows if isinstance(rows, list) else [rows]
    return Result(name, command, tuple(rows), **provenance()).write(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the results")
    actions = parser.add_subparsers(dest="action", required=True)
    adding = actions.add_parser("add", help="keep JSON rows of standard input")
    adding.add_argument("name")
    adding.add_argument("command", help="the command that printed them")
    comparing = actions.add_parser("compare", help="what got worse since the result before")
    comparing.add_argument("--tolerance", type=float, default=0.02, help="a share [0.02]")
    given = parser.parse_args()
    if given.action == "add":
        print(f"saved in {add(given.name, given.command, sys.stdin, given.folder)}")
    else:
        sys.exit(1 if compare(given.folder, given.tolerance) else 0)


if __name__ == "__main__":
    main()
