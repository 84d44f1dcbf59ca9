"""Logs of the CARMEN toolkit: one message per line, plain, `.gz` or `.bz2`.

    FLASER n r_1 … r_n x y θ x_o y_o θ_o time host logger_time
    ROBOTLASER1 type start fov step maximum accuracy mode n r_1 … r_n m i_1 … i_m
        x y θ x_r y_r θ_r tv rv forward side axis time host logger_time
    RAWLASER1 type start fov step maximum accuracy mode n r_1 … r_n m i_1 … i_m
        time host logger_time

(x, y, θ) is the pose of the laser, (x_o, y_o, θ_o) that of the robot by odometry.  A log is read
from the first of these kinds that it has; RAWLASER1 has no pose, so the ODOM line before it
gives both.  FLASER has no angles: beam k points to

    −π/2 + k·π/n        when n is 180 or 360,                                     (1)
    −π/2 + k·π/(n − 1)  otherwise (181, 361, …).                                  (2)

The sensor's maximum is the smallest of what the log says (PARAM robot_front_laser_max, or the
maximum of a ROBOTLASER1 or RAWLASER1 line) and of what the readings show: where at least ten of
them, five times as many as in the band below and less than half of all, lie within 1 % of the
longest, M, they are no returns, and the maximum is 0.99 M.  Else it is unknown.

PARAM robot_frontlaser_offset says how far the laser sits ahead of the robot's centre.
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
from isovist.sensing.scan_set import ScanSet
from isovist.storage.files import MAX_COORDINATE, PathLike, existing_file, quote, unreadable_error

KINDS = ("FLASER", "ROBOTLASER1", "RAWLASER1")
MAX_LINE = 1 << 20
MAX_BYTES = 2 << 30
"""Longest log that is read, unpacked."""
MAX_NUMBERS = 1 << 28
"""Most readings and coordinates that are kept, 8 bytes each."""

_MESSAGE = re.compile(rb"\n[ \t]*(?:FLASER|ROBOTLASER1|RAWLASER1|ODOM|PARAM)\b[^\n]*")
_MARKS = (b"LASER", b"ODOM", b"PARAM")
"""Every message has one of these: a block without any is passed over at once."""


@dataclass(slots=True)
class _Rows:
    """What the lines of one kind have said so far, number after number."""

    beams: int = 0
    ranges: "array[float]" = field(default_factory=lambda: array("d"))
    poses: "array[float]" = field(default_factory=lambda: array("d"))
    odometry: "array[float]" = field(default_factory=lambda: array("d"))
    times: "array[float]" = field(default_factory=lambda: array("d"))
    angles: tuple[float, float] | None = None
    maximum: float = math.inf


def read_carmen(path: PathLike, *, progress: Callable[[float], None] | None = None) -> ScanSet:
    """Read the laser scans of a CARMEN log, always with `times` and `odometry`.

    `progress` is called with the share of the file that is read.
    """
    return read_carmen_offset(path, progress)[0]


def read_carmen_offset(
    path: PathLike, progress: Callable[[float], None] | None = None
) -> tuple[ScanSet, float | None]:
    """Read the laser scans of a CARMEN log, and the forward offset of the laser, in m.

    The offset is from the centre of the robot; `None` when the log does not say it.
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
    """Why a line cannot be read."""


def _messages(path: Path, progress: Callable[[float], None]) -> Iterator[tuple[int, bytes]]:
    """The lines that can be messages, with their numbers."""
    number = 1
    for block in _blocks(path, progress):
        # Each block begins with the newline before its first line.
        if any(mark in block for mark in _MARKS):
            at, line = 0, number - 1
            for found in _MESSAGE.finditer(block):
                line += block.count(b"\n", at, found.start() + 1)
                at = found.start() + 1
                if len(found[0]) > MAX_LINE:
                    raise FileError(
                        f"{path.name}, line {line}: too long for a CARMEN log.", code="too_large"
                    )
                yield line, found[0]
        number += block.count(b"\n")


def _blocks(path: Path, progress: Callable[[float], None]) -> Iterator[bytes]:
    """A log in blocks of whole lines, each with the newline that stands before it."""
    size, number, total, rest = path.stat().st_size, 1, 0, b"\n"
    try:
        with path.open("rb") as raw, _unpacked(path, raw) as stream:
            while block := stream.read(MAX_LINE):
                total += len(block)
                if total > MAX_BYTES:
                    raise FileError(
                        f"{path.name} unpacks to more than {MAX_BYTES} bytes, too long for a "
                        "CARMEN log. Cut it into pieces.",
                        code="too_large",
                    )
                block = rest + block
                end = max(block.rfind(b"\n"), 0)
                rest = block[end:]
                number += block.count(b"\n", 1, end + 1)
                if len(rest) > MAX_LINE:
                    raise FileError(
                        f"{path.name}, line {number}: too long for a CARMEN log.", code="too_large"
                    )
                yield block[:end]
                progress(min(raw.tell() / size, 1.0))
    except EOFError as error:
        raise FileError(f"{path.name} is cut off after line {number - 1}.") from error
    except (OSError, zlib.error) as error:
        if path.suffix.lower() in (".gz", ".bz2"):
            raise FileError(f"{path.name} cannot be unpacked: {error}.") from error
        raise unreadable_error(path, error) from error  # type: ignore[arg-type]
    yield rest


def _unpacked(path: Path, raw: IO[bytes]) -> IO[bytes]:
    """The stream of what is inside a file."""
    if path.suffix.lower() == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    return bz2.BZ2File(raw) if path.suffix.lower() == ".bz2" else raw


def _readings(rows: _Rows, words: list[bytes], at: int) -> tuple[list[float], int]:
    """The readings whose number stands at `at`, and where the words after them begin."""
    n = int(words[at])
    end = at + 1 + n
    if n < 1 or len(words) < end:
        raise _LineError(f"it announces {n} readings and has {len(words) - at - 1} values")
    if rows.times and rows.beams != n:
        raise _LineError(f"it has {n} beams where the lines before have {rows.beams}")
    if len(rows.ranges) + 7 * len(rows.times) > MAX_NUMBERS:
        raise _LineError(f"more than {MAX_NUMBERS} numbers stand before it. Cut the log")
    return [float(word) for word in words[at + 1 : end]], end


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
    range_max = min(maximum, rows.maximum, _piled_up(ranges))
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


def _piled_up(ranges: FloatArray) -> float:
    """Where the readings pile up below the longest one, or `inf` when they do not."""
    finite = ranges[np.isfinite(ranges)]
    longest = float(finite.max(initial=0.0))
    top = int((finite >= 0.99 * longest).sum())
    below = int((finite >= 0.98 * longest).sum()) - top
    piled = 10 <= top < finite.size / 2 and top >= 5 * below
    return 0.99 * longest if piled else math.inf
