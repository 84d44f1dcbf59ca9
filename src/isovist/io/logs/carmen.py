"""Read logs of the CARMEN toolkit: one message per line, plain, `.gz` or `.bz2`.

    FLASER n r_1 … r_n x y θ x_o y_o θ_o time host logger_time
    ROBOTLASER1 type start fov step maximum accuracy mode n r_1 … r_n m i_1 … i_m
        x y θ x_r y_r θ_r tv rv forward side axis time host logger_time
    RAWLASER1 type start fov step maximum accuracy mode n r_1 … r_n m i_1 … i_m
        time host logger_time

(x, y, θ) is the pose of the laser, (x_o, y_o, θ_o) that of the robot by odometry.  A log is read
from the first kind of line above that it has.  RAWLASER1 has no pose, so the ODOM line before it
gives both.  FLASER has no angles: beam k points to

    −π/2 + k·π/n        when n is 180 or 360,                                     (1)
    −π/2 + k·π/(n − 1)  otherwise (181, 361, …).                                  (2)

The maximum range is the smallest of three values:

- PARAM robot_front_laser_max;
- the maximum of a ROBOTLASER1 or RAWLASER1 line;
- 0.99 M, with M the longest reading, if missing returns pile up there. This is so if at least ten
  readings lie within 1 % of M, five times as many as in the band below, and less than half of all.

Without these values it is unknown.  PARAM robot_frontlaser_offset is the distance of the laser
ahead of the robot's centre.
"""

import bz2
import gzip
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.errors import FileError
from isovist.io.settings import CHECKS, LIMITS
from isovist.sensing import ScanSet
from isovist.storage import MAX_COORDINATE, PathLike, existing_file, quote, unreadable_error

KINDS = ("FLASER", "ROBOTLASER1", "RAWLASER1")

_MESSAGE = re.compile(rb"\n[ \t]*(?:FLASER|ROBOTLASER1|RAWLASER1|ODOM|PARAM)\b[^\n]*")
_MARKS = (b"LASER", b"ODOM", b"PARAM")
"""Every message has one of the marks; a block without any is skipped at once."""


@dataclass(slots=True)
class _Rows:
    """The numbers of the lines of one kind, gathered line by line."""

    beams: int = 0
    ranges: "array[float]" = field(default_factory=lambda: array("d"))
    poses: "array[float]" = field(default_factory=lambda: array("d"))
    odometry: "array[float]" = field(default_factory=lambda: array("d"))
    times: "array[float]" = field(default_factory=lambda: array("d"))
    angles: tuple[float, float] | None = None
    maximum: float = math.inf


def read_carmen(path: PathLike, *, progress: Callable[[float], None] | None = None) -> ScanSet:
    """Read the laser scans of a CARMEN log, with `times` and `odometry`.

    Args:
        path: The log.
        progress: Function that is called with the share of the file that has been read.
    """
    return read_carmen_offset(path, progress)[0]


def read_carmen_offset(
    path: PathLike, progress: Callable[[float], None] | None = None
) -> tuple[ScanSet, float | None]:
    """Read the laser scans of a CARMEN log, and the forward offset of the laser, in m.

    The offset is from the centre of the robot; `None` if the log does not have it.
    """
    path = existing_file(path, "a CARMEN log")
    rows = {kind: _Rows() for kind in KINDS}
    maximum, odometry, offset = math.inf, None, None
    for number, line in _messages(path, progress or (lambda _share: None)):
        words = line.split()
        kind = words[0].decode("ascii", "replace")
        try:
            if kind == "PARAM" and words[1:2] == [b"robot_front_laser_max"]:
                maximum = float(words[2])
            elif kind == "PARAM" and words[1:2] == [b"robot_frontlaser_offset"]:
                offset = float(words[2])
                if not math.isfinite(offset):
                    raise _LineError(f"the offset of the laser must be finite, got {offset}")
            elif kind == "ODOM":
                odometry = [float(word) for word in words[1:4]]
            elif kind == "FLASER":
                _add_flaser(rows[kind], words)
            elif kind in KINDS:
                _add_robotlaser(rows[kind], words, odometry)
        except (ValueError, IndexError) as error:
            reason = str(error) if isinstance(error, _LineError) else "it is cut off or garbled"
            raise FileError(
                f"{path.name}, line {number}: {kind} cannot be read: {reason}."
            ) from error
    for kind in KINDS:
        if rows[kind].times:
            return _scan_set(path, kind, rows[kind], maximum), offset
    raise FileError(
        f"{path.name} has no {', '.join(KINDS[:-1])} or {KINDS[-1]} line.", code="unknown_format"
    )


class _LineError(ValueError):
    """The reason why a line cannot be read."""


def _messages(path: Path, progress: Callable[[float], None]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that can be messages, with their numbers."""
    number = 1
    for block in _blocks(path, progress):
        # Each block begins with the newline before its first line.
        if any(mark in block for mark in _MARKS):
            start, line = 0, number - 1
            for match in _MESSAGE.finditer(block):
                line += block.count(b"\n", start, match.start() + 1)
                start = match.start() + 1
                _check_length(path, line, match[0])
                yield line, match[0]
        number += block.count(b"\n")


def _blocks(path: Path, progress: Callable[[float], None]) -> Iterator[bytes]:
    """Yield a log in blocks of whole lines, each with the newline before it."""
    size, number, total, rest = path.stat().st_size, 1, 0, b"\n"
    try:
        with path.open("rb") as raw, _unpacked(path, raw) as stream:
            while block := stream.read(LIMITS.carmen_line_bytes):
                total += len(block)
                if total > LIMITS.carmen_bytes:
                    raise FileError(
                        f"{path.name} unpacks to more than {LIMITS.carmen_bytes} bytes, too long "
                        "for a CARMEN log. Cut it into pieces.",
                        code="too_large",
                    )
                block = rest + block
                end = max(block.rfind(b"\n"), 0)
                rest = block[end:]
                number += block.count(b"\n", 1, end + 1)
                _check_length(path, number, rest)
                yield block[:end]
                progress(min(raw.tell() / size, 1.0))
    except EOFError as error:
        raise FileError(f"{path.name} is cut off after line {number - 1}.") from error
    except (OSError, zlib.error) as error:
        if path.suffix.lower() in (".gz", ".bz2"):
            raise FileError(f"{path.name} cannot be unpacked: {error}.") from error
        raise unreadable_error(path, error) from error  # type: ignore[arg-type]
    yield rest


def _check_length(path: Path, number: int, line: bytes) -> None:
    if len(line) > LIMITS.carmen_line_bytes:
        raise FileError(f"{path.name}, line {number}: too long for a CARMEN log.", code="too_large")


def _unpacked(path: Path, raw: IO[bytes]) -> IO[bytes]:
    """Return the stream of the unpacked bytes of a file."""
    if path.suffix.lower() == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    return bz2.BZ2File(raw) if path.suffix.lower() == ".bz2" else raw


def _readings(rows: _Rows, words: list[bytes], start: int) -> tuple[list[float], int]:
    """Return the readings after the word with their number, and the index after the last."""
    n = int(words[start])
    end = start + 1 + n
    if n < 1 or len(words) < end:
        raise _LineError(f"it announces {n} readings and has {len(words) - start - 1} values")
    if rows.times and rows.beams != n:
        raise _LineError(f"it has {n} beams where the lines before have {rows.beams}")
    if len(rows.ranges) + 7 * len(rows.times) > LIMITS.carmen_numbers:
        raise _LineError(f"more than {LIMITS.carmen_numbers} numbers stand before it. Cut the log")
    return [float(word) for word in words[start + 1 : end]], end


def _add(rows: _Rows, ranges: list[float], poses: list[bytes] | list[float], time: bytes) -> None:
    """Add a scan, and the poses of the laser and of the robot, three words each."""
    numbers = [float(word) for word in poses]
    if len(numbers) != 6 or not all(map(math.isfinite, numbers)):
        raise _LineError("its poses are not three finite numbers each")
    if max(map(abs, numbers)) > MAX_COORDINATE:
        raise _LineError(f"a pose lies beyond {MAX_COORDINATE:g} m")
    stamp = float(time)
    if not math.isfinite(stamp):
        raise _LineError(f"its time must be finite, got {stamp}")
    rows.beams = len(ranges)
    rows.ranges.extend(ranges)
    rows.poses.extend(numbers[:3])
    rows.odometry.extend(numbers[3:])
    rows.times.append(stamp)


def _add_flaser(rows: _Rows, words: list[bytes]) -> None:
    ranges, end = _readings(rows, words, 1)
    if len(words) < end + 7:
        raise _LineError(f"after the readings it has {len(words) - end} values of at least 7")
    _add(rows, ranges, words[end : end + 6], words[end + 6])


def _add_robotlaser(rows: _Rows, words: list[bytes], odometry: list[float] | None) -> None:
    start, step = float(words[2]), float(words[4])
    if not (abs(start) <= MAX_COORDINATE and abs(step) <= MAX_COORDINATE):
        raise _LineError(f"its angles must be in rad, got {start} and {step}")
    rows.angles = (start, step)
    rows.maximum = min(rows.maximum, float(words[5]))
    ranges, end = _readings(rows, words, 8)
    end += 1 + int(words[end])
    if words[0] == b"ROBOTLASER1":
        _add(rows, ranges, words[end : end + 6], words[end + 11])
    elif odometry is None:
        raise _LineError("it has no pose and no ODOM line stands before it")
    else:
        _add(rows, ranges, odometry + odometry, words[end])


def _scan_set(path: Path, kind: str, rows: _Rows, maximum: float) -> ScanSet:
    n = rows.beams
    ranges = np.frombuffer(rows.ranges).reshape(-1, n)
    if kind == "FLASER":
        start, step = -math.pi / 2, math.pi / (n if n in (180, 360) else max(n - 1, 1))
    else:
        assert rows.angles is not None
        start, step = rows.angles
    range_max = min(maximum, rows.maximum, _max_range(ranges))
    if not range_max > 0.0:
        raise FileError(
            f"{path.name}: the maximum range must be above 0 m, got {quote(range_max)}."
        )
    return ScanSet(
        ranges=readonly(ranges),
        bearings=readonly(start + step * np.arange(n)),
        poses=readonly(np.frombuffer(rows.poses).reshape(-1, 3)),
        range_max=range_max,
        times=readonly(np.frombuffer(rows.times)),
        odometry=readonly(np.frombuffer(rows.odometry).reshape(-1, 3)),
    )


def _max_range(ranges: FloatArray) -> float:
    """Return the range at which missing readings pile up, in m; `inf` if they do not."""
    finite = ranges[np.isfinite(ranges)]
    longest, share = float(finite.max(initial=0.0)), 1.0 - CHECKS.pile_width
    top = int((finite >= share * longest).sum())
    below = int((finite >= (share - CHECKS.pile_width) * longest).sum()) - top
    has_pile = CHECKS.min_pile <= top < finite.size / 2 and top >= CHECKS.pile_ratio * below
    return share * longest if has_pile else math.inf
