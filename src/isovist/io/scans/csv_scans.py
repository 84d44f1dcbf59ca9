"""Read and write 2D scans as CSV: a line per beam with bearing (rad), range (m), intensity.

Bearings are counter-clockwise.  The first line may have names.  An empty range is missing.  CSV
does not have the range limits of the sensor.
"""

import csv
import io
import math
from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.sensing import Scan
from isovist.storage import quote, read_bytes

COLUMNS = ("bearing", "range", "intensity")


def read_csv_scan(path: Path) -> Scan:
    """Read a 2D scan from a CSV file."""
    beams: list[list[float]] = []
    for number, line in enumerate(_lines(path), start=1):
        cells = [cell.strip() for cell in line]
        if not any(cells) or (number == 1 and not _is_number(cells[0])):
            continue
        if len(cells) not in (2, 3) or (beams and len(cells) != len(beams[0])):
            count = str(len(beams[0])) if beams else "2 or 3"
            raise FileError(
                f"{path.name}, line {number}: {count} columns (bearing, range and perhaps "
                f"intensity) were expected, got {len(cells)}."
            )
        beams.append([_value(path, number, k, cell) for k, cell in enumerate(cells)])
    if not beams:
        raise FileError(
            f"{path.name} has no beam; each line should be bearing, range.", code="empty"
        )
    table: FloatArray = np.array(beams)
    return Scan(table[:, 0], table[:, 1], intensities=table[:, 2] if table.shape[1] == 3 else None)


def _lines(path: Path) -> list[list[str]]:
    try:
        text = read_bytes(path, "a scan", LIMITS.scan_bytes).decode("utf-8-sig")
        return list(csv.reader(io.StringIO(text)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(
            f"{path.name} is not a CSV file of numbers: {error}.", code="unknown_format"
        ) from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _value(path: Path, line: int, column: int, text: str) -> float:
    if column > 0 and not text:
        return math.nan
    if not _is_number(text):
        raise FileError(
            f"{path.name}, line {line}: the {COLUMNS[column]} is no number, got {quote(text)}."
        )
    return float(text)


def encode_csv(scan: Scan) -> bytes:
    """Return a scan as the bytes of a CSV file."""
    ranges = zip(scan.ranges.tolist(), scan.valid, strict=True)
    columns = [
        map(repr, scan.bearings.tolist()),
        (repr(value) if is_valid else "" for value, is_valid in ranges),
    ]
    if scan.intensities is not None:
        columns.append(map(repr, scan.intensities.tolist()))
    rows = [COLUMNS[: len(columns)], *zip(*columns, strict=True)]
    return "".join(",".join(cells) + "\n" for cells in rows).encode()
