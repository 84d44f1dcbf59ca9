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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isovist.errors import FileError
from isovist.io.files import PathLike, existing_file, quote, unreadable
from isovist.io.scans.sets import ScanSet
from isovist.types import FloatArray, readonly

KINDS = ("FLASER", "ROBOTLASER1", "RAWLASER1")
MAX_LINE = 1 << 20
MAX_BYTES = 4 << 30
"""Longest log that is read, unpacked."""


@dataclass(slots=True)
class _Rows:
    """What the lines of one kind have said so far."""

    ranges: list[FloatArray] = field(default_factory=list)
    poses: list[list[float]] = field(default_factory=list)
    odometry: list[list[float]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    angles: tuple[float, float] | None = None
    maximum: float = math.inf


def read_carmen(path: PathLike) -> ScanSet:
    """Read the laser scans of a log; `times` and `odometry` of the set are always there."""
    return read_carmen_offset(path)[0]


def read_carmen_offset(path: PathLike) -> tuple[ScanSet, float | None]:
    """The scans, and how far ahead of the robot's centre the laser sits, in m, if the log says."""
    path = existing_file(path, "a CARMEN log")
    rows = {kind: _Rows() for kind in KINDS}
    maximum, odometry, offset = math.inf, None, None
    for number, line in _lines(path):
        words = line.split()
        kind = words[0] if words else ""
        try:
            if kind == "PARAM" and words[1:2] == ["robot_front_laser_max"]:
                maximum = float(words[2])
            elif kind == "PARAM" and words[1:2] == ["robot_frontlaser_offset"]:
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
        if rows[kind].ranges:
            return _scan_set(path, kind, rows[kind], maximum), offset
    raise FileError(f"{path.name} has no {', '.join(KINDS[:-1])} or {KINDS[-1]} line.")


class _LineError(ValueError):
    """Why a line cannot be read."""


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a log with their numbers."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    opener = openers.get(path.suffix.lower(), open)
    total, number = 0, 0
    try:
        with opener(path, "rb") as stream:
            while line := stream.readline(MAX_LINE):
                number, total = number + 1, total + len(line)
                if len(line) == MAX_LINE or total > MAX_BYTES:
                    raise FileError(f"{path.name}, line {number}: too long for a CARMEN log.")
                yield number, line.decode("utf-8", "replace")
    except EOFError as error:
        raise FileError(f"{path.name} is cut off after line {number}.") from error
    except OSError as error:
        if path.suffix.lower() in (".gz", ".bz2"):
            raise FileError(f"{path.name} cannot be unpacked: {error}.") from error
        raise unreadable(path, error) from error


def _readings(rows: _Rows, words: list[str], at: int) -> int:
    """Add the readings whose number stands at `at`; where the words after them begin."""
    n = int(words[at])
    end = at + 1 + n
    if n < 1 or len(words) < end:
        raise _LineError(f"it announces {n} readings and has {len(words) - at - 1} values")
    if rows.ranges and rows.ranges[0].size != n:
        raise _LineError(f"it has {n} beams where the lines before have {rows.ranges[0].size}")
    rows.ranges.append(np.array(words[at + 1 : end], dtype=np.float64))
    return end


def _add_pose(rows: _Rows, words: list[Any], time: str) -> None:
    """Add the poses of the laser and of the robot, three words each."""
    numbers = [float(word) for word in words]
    if len(numbers) != 6 or not np.isfinite(numbers).all():
        raise _LineError("its poses are not three finite numbers each")
    rows.poses.append(numbers[:3])
    rows.odometry.append(numbers[3:])
    rows.times.append(float(time))


def _add_flaser(rows: _Rows, words: list[str]) -> None:
    end = _readings(rows, words, 1)
    if len(words) < end + 7:
        raise _LineError(f"after the readings it has {len(words) - end} values of at least 7")
    _add_pose(rows, words[end : end + 6], words[end + 6])


def _add_robotlaser(rows: _Rows, words: list[str], odometry: list[float] | None) -> None:
    rows.angles = (float(words[2]), float(words[4]))
    rows.maximum = min(rows.maximum, float(words[5]))
    end = _readings(rows, words, 8)
    end += 1 + int(words[end])
    if words[0] == "ROBOTLASER1":
        _add_pose(rows, words[end : end + 6], words[end + 11])
    elif odometry is None:
        raise _LineError("it has no pose and no ODOM line stands before it")
    else:
        _add_pose(rows, odometry + odometry, words[end])


def _scan_set(path: Path, kind: str, rows: _Rows, maximum: float) -> ScanSet:
    ranges = np.stack(rows.ranges)
    n = ranges.shape[1]
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
        poses=readonly(np.array(rows.poses)),
        range_max=range_max,
        times=readonly(np.array(rows.times)),
        odometry=readonly(np.array(rows.odometry)),
    )


def _piled_up(ranges: FloatArray) -> float:
    """Where the readings pile up below the longest one, or `inf` when they do not."""
    finite = ranges[np.isfinite(ranges)]
    longest = float(finite.max(initial=0.0))
    top = int((finite >= 0.99 * longest).sum())
    below = int((finite >= 0.98 * longest).sum()) - top
    piled = 10 <= top < finite.size / 2 and top >= 5 * below
    return 0.99 * longest if piled else math.inf
