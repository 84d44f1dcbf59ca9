"""What got slower or less accurate since the row before?

    python -m benchmarks.history                        # rows whose last two entries differ
    isovist bench carmen LOG… --json | python -m benchmarks.history --add carmen

Every entry of `history.jsonl` is one row of a benchmark: when, of which version and machine, and
its numbers.  An entry is compared with the one before it of the same row; times only with one of
the same machine.  Exits with 1 when something is worse by more than `--tolerance`.
"""

import argparse
import json
import math
import platform
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import isovist as iv
from isovist.storage.files import replace_file

FILE = Path(__file__).with_name("history.jsonl")
NAMES = ("site", "what", "map", "sensor")
"""Keys that say which row of a benchmark it is."""
HIGHER = ("success", "right", "unique", "listed", "listed_complete", "unique_of_right")
LOWER = ("_ms", "_s", "error_m", "error_deg", "false_confident", "wrong_and_unique", "proof_wrong")
TIMES = ("_ms", "_s")
Entry = dict[str, Any]


def entries(rows: Iterable[Entry], benchmark: str) -> list[Entry]:
    """Rows of a benchmark, as they are kept: with their numbers alone."""
    now = datetime.now(UTC).date().isoformat()
    return [
        {
            "date": now,
            "version": iv.__version__,
            "machine": f"{platform.machine()} {platform.system()}",
            "row": " ".join([benchmark, *(str(row[name]) for name in NAMES if name in row)]),
            "values": {key: value for key, value in row.items() if _is_number(value)},
        }
        for row in rows
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def pairs(history: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """The last entry of each row, after the one before it."""
    last: dict[str, list[Entry]] = {}
    for entry in history:
        last.setdefault(entry["row"], []).append(entry)
    for found in last.values():
        if len(found) > 1:
            yield found[-2], found[-1]


def changes(before: Entry, after: Entry, tolerance: float) -> Iterator[tuple[str, bool]]:
    """What differs by more than a share, in words, and whether that is worse."""
    for key, new in after["values"].items():
        old = before["values"].get(key)
        lower, higher = key.endswith(LOWER), key in HIGHER
        if old is None or not (lower or higher):
            continue
        if key.endswith(TIMES) and before["machine"] != after["machine"]:
            continue
        if abs(new - old) > tolerance * max(abs(old), abs(new)):
            ratio = f"{new / old:.3g} ×" if old else "from 0"
            worse = (new > old) == lower
            word = "worse" if worse else "better"
            yield f"{word}: {after['row']}: {key} {old:.4g} → {new:.4g} ({ratio})", worse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--add", metavar="NAME", help="add the rows (JSON) of standard input")
    parser.add_argument("--tolerance", type=float, default=0.02, help="a share, 0.02 unless given")
    parser.add_argument("--file", type=Path, default=FILE)
    given = parser.parse_args()
    text = given.file.read_text(encoding="utf-8") if given.file.exists() else ""
    if given.add:
        told = json.load(sys.stdin)
        new = entries(told if isinstance(told, list) else [told], given.add)
        lines = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in new)
        replace_file(given.file, f"{text}{lines}".encode())
        print(f"{len(new)} rows of {given.add} added to {given.file.name}.")
        return
    history = [json.loads(line) for line in text.splitlines()]
    found = [c for pair in pairs(history) for c in changes(*pair, given.tolerance)]
    for line, _ in sorted(found, key=lambda change: not change[1]):
        print(line)
    worse = sum(bad for _, bad in found)
    rows = len({entry["row"] for entry in history})
    print(f"{rows} rows, {len(history)} entries: {worse} worse, {len(found) - worse} better.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
