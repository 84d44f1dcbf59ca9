"""A tracker as plain data, so that it survives a restart of its process.

What comes back goes on as if nothing had happened: the same scans give the same bits.
"""

import zlib
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isovist.atlas.base import Atlas, Beams
from isovist.atlas.settings import BeamModel
from isovist.errors import InputError
from isovist.localization.region import Region
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose
from isovist.tracking.bank import PER_PLACE, Frame
from isovist.tracking.drift import Drift
from isovist.tracking.settings import TrackingSettings

if TYPE_CHECKING:
    from isovist.tracking.tracker import Tracker

VERSION = 1
FLAGS = ("_searched", "_settled", "_usual", "_surprises", "_shaken", "_leads_since")
"""What a tracker remembers besides places, frames and odometry."""

T = TypeVar("T")


def fingerprint(atlas: Atlas) -> int:
    """A number that another map hardly has."""
    head = np.array([*atlas.world.shape, atlas.world.resolution, atlas.spacing])
    return zlib.crc32(atlas.nodes.tobytes(), zlib.crc32(head.tobytes()))


def to_state(tracker: "Tracker") -> dict[str, Any]:
    """Everything that a tracker knows, ready for JSON."""
    bank, prior = tracker.bank, tracker._prior
    return {
        "version": VERSION,
        "atlas": fingerprint(tracker.atlas),
        "settings": asdict(tracker.settings),
        "localization": asdict(tracker.localization),
        "drift": asdict(tracker.drift),
        "prior": None if prior is None else {f.name: _plain(getattr(prior, f.name))
                                             for f in fields(prior)},
        "travelled": tracker.travelled,
        "odometry": None if tracker._odometry is None else tracker._odometry.vector.tolist(),
        "mount": tracker._mount.vector.tolist(),
        "first": None if tracker._first is None else tracker._first.vector.tolist(),
        "flags": {name: _plain(getattr(tracker, name)) for name in FLAGS},
        "poses": bank.poses.tolist(),
        "spreads": bank.spreads.tolist(),
        "frames": [_frame_state(frame) for frame in bank.frames],
    }  # fmt: skip


def from_state(atlas: Atlas, state: dict[str, Any]) -> "Tracker":
    """The tracker that `to_state` was asked of, on the same atlas."""
    from isovist.tracking.tracker import Tracker

    try:
        if state["version"] != VERSION:
            raise InputError(
                f"This is the state of another version, {state['version']}; {VERSION} is read."
            )
        if state["atlas"] != fingerprint(atlas):
            raise InputError("The state is of a tracker on another map.")
        localization = dict(state["localization"])
        model = _settings(BeamModel, localization.pop("model"))
        tracker = Tracker(
            atlas,
            prior=None if state["prior"] is None else Region(**_numbers(state["prior"])),
            drift=Drift(**state["drift"]),
            settings=_settings(TrackingSettings, state["settings"]),
            localization=_settings(LocalizationSettings, {**localization, "model": model}),
        )
        tracker.travelled = float(state["travelled"])
        tracker._odometry = _pose(state["odometry"])
        tracker._mount = Pose.from_vector(state["mount"])
        tracker._first = _pose(state["first"])
        if tracker._odometry is not None:
            tracker._sensor = tracker._odometry @ tracker._mount
        for name, value in _numbers(state["flags"]).items():
            setattr(tracker, name, value)
        tracker.bank.poses = np.array(state["poses"], dtype=np.float64).reshape(-1, 3)
        tracker.bank.spreads = np.array(state["spreads"], dtype=np.float64).reshape(-1, 3, 3)
        tracker.bank.frames = [_frame(row) for row in state["frames"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"This is not the state of a tracker: {error}.") from error
    return tracker


def _frame_state(frame: Frame) -> dict[str, Any]:
    return {
        "ends": frame.beams.ends.tolist(),
        "blocks": frame.beams.block_of.tolist(),
        "T_odom_sensor": frame.T_odom_sensor.vector.tolist(),
        "weight": frame.weight,
        "places": {name: getattr(frame, name).tolist() for name in PER_PLACE},
        "count": len(frame.scores),
    }


def _frame(row: dict[str, Any]) -> Frame:
    blocks = np.array(row["blocks"], dtype=np.int64)
    beams = Beams.of(np.array(row["ends"], dtype=np.float64), blocks, blocks, np.empty(0))
    frame = Frame(beams, Pose.from_vector(row["T_odom_sensor"]), float(row["weight"]))
    shapes = {"blocks": (beams.blocks,), "places": (3,), "known": (3, 3)}
    for name in PER_PLACE:
        values = np.array(row["places"][name], dtype=np.float64)
        setattr(frame, name, values.reshape(int(row["count"]), *shapes.get(name, ())))
    return frame


def _pose(row: list[float] | None) -> Pose | None:
    return None if row is None else Pose.from_vector(row)


def _settings(kind: type[T], values: dict[str, Any]) -> T:
    """Settings from what `asdict` and JSON made of them."""

    def tuples(value: Any) -> Any:
        return tuple(tuples(v) for v in value) if isinstance(value, list | tuple) else value

    return kind(**{
        name: value if is_dataclass(value) else tuples(value) for name, value in values.items()
    })  # fmt: skip


def _plain(value: Any) -> Any:
    """Ready for JSON, which has no infinity."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    """What `_plain` made, back."""
    return {k: float(v) if isinstance(v, str) else v for k, v in values.items()}
