"""A tracker as plain data, so that it survives a restart of its process.

What comes back goes on as if nothing had happened: the same scans give the same bits.  A checksum
finds what was damaged on the way; against forgery it is no protection.
"""

import json
import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import Atlas, BeamModel, Beams, MultiMap, SearchSpace
from isovist.errors import InputError
from isovist.localization import (
    AnyMaps,
    LocalizationSettings,
    Region,
    Regions,
    SearchRegion,
    search_space_of,
)
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing import Drift, Scan, StationaryScans, merge
from isovist.storage import MAX_COORDINATE, first_line, quote
from isovist.tracking.bank import PER_PLACE, Frame
from isovist.tracking.links import Link
from isovist.tracking.settings import TrackingSettings

if TYPE_CHECKING:
    from isovist.tracking.tracker import Tracker

VERSION = 5
FLAGS = {
    "travelled": "number", "_odometry": "pose or None", "_mount": "pose", "_sensor": "pose",
    "_start": "pose or None", "_first": "pose or None", "_searched": "number", "_settled": "bool",
    "_usual": "number", "_surprises": "number", "_shaken": "bool", "_leads_since": "number",
    "_clock": "number", "_told": "number or None", "_aided": "bool or None", "_step": "pose",
    "_unsure": "bool",
}  # fmt: skip
"""What a tracker remembers besides its places and frames, and what kind of thing it is."""


def fingerprint(site: SearchSpace) -> int:
    """A number that another map, or other maps, hardly have."""
    if isinstance(site, MultiMap):
        named = {name: fingerprint(atlas) for name, atlas in site.maps.items()}
        return zlib.crc32(json.dumps(named).encode())
    assert isinstance(site, Atlas)  # there is no third kind
    return _of_map(site)


def _of_map(atlas: Atlas) -> int:
    head = np.array([*atlas.world.shape, atlas.world.resolution, atlas.spacing])
    return zlib.crc32(atlas.nodes.tobytes(), zlib.crc32(head.tobytes()))


def to_state(tracker: "Tracker") -> dict[str, Any]:
    """Everything that a tracker knows, ready for JSON."""
    bank = tracker.bank
    state = {
        "version": VERSION,
        "atlas": fingerprint(tracker.site),
        "settings": _plain(asdict(tracker.settings)),
        "localization": _plain(asdict(tracker.localization)),
        "drift": asdict(tracker.drift),
        "prior": _plain_region(tracker._region),
        **({"links": [_plain(asdict(link)) for link in tracker.links]} if tracker.links else {}),
        "tilt": bank.tilt,
        "tilt_given": tracker.tilt,
        **({"any_attitude": True} if tracker.any_attitude else {}),
        "flags": {name: _plain(getattr(tracker, name)) for name in FLAGS},
        "poses": bank.poses.tolist(),
        "spreads": bank.spreads.tolist(),
        "before": {"poses": bank.before[0].tolist(), "spreads": bank.before[1].tolist()},
        "share": bank.share,
        "stand": _plain_stand(tracker._stand),
        "frames": [
            {
                "ends": frame.beams.ends.tolist(),
                "beams": frame.beams.block_of.tolist(),
                "columns": frame.beams.column_of.tolist(),
                "strengths": frame.beams.strengths.tolist(),
                "sigmas": frame.beams.sigmas.tolist(),
                "T_odom_sensor": _plain(frame.T_odom_sensor),
                "weight": frame.weight,
                "time": frame.time,
                **{name: getattr(frame, name).tolist() for name in PER_PLACE},
            }
            for frame in bank.frames
        ],
    }
    return {**state, "crc32": checksum(state)}


def checksum(state: dict[str, Any]) -> int:
    """Of all that a state says, whatever the order of its names."""
    said = {name: value for name, value in state.items() if name != "crc32"}
    return zlib.crc32(json.dumps(said, sort_keys=True).encode())


def from_state(kind: "type[Tracker]", atlas: AnyMaps, state: dict[str, Any]) -> "Tracker":
    """Make the tracker that `to_state` saved, on the same atlas or the same maps."""
    try:
        if state["version"] != VERSION:
            raise InputError(
                "This is the state of another version, "
                f"{quote(state['version'])}; {VERSION} is read.",
                code="outdated_file",
                field="state",
            )
        if state["crc32"] != checksum(state):
            raise InputError(
                "The state is damaged: its checksum differs. Begin with a new tracker.",
                code="invalid_file",
                field="state",
            )
        if state["atlas"] != fingerprint(search_space_of(atlas)):
            raise InputError(
                "The state is of a tracker on another map.", code="conflict", field="state"
            )
        localization = _values(state["localization"])
        model = BeamModel.from_json(localization.pop("model"))
        tracker = kind(
            atlas,
            links=[Link(**_values(link)) for link in state.get("links", ())],
            region=_region_of(state["prior"]),
            drift=Drift(**state["drift"]),
            settings=TrackingSettings(**_values(state["settings"])),
            localization=LocalizationSettings(model=model, **localization),
            tilt=state.get("tilt_given", state["tilt"]),
            any_attitude=state.get("any_attitude", False),
        )
        if state["tilt"] and not tracker.bank.tilt:  # the ground of the first scan was not level
            tracker.bank.fit_tilt()
        D, n = tracker.bank.shape
        flags = {"_unsure": tracker.drift == Drift(), **state["flags"]}
        for name in FLAGS:
            setattr(tracker, name, _flag(name, flags[name], type(tracker._mount)))
        tracker.bank.aided = tracker._aided is not False
        tracker.bank.poses, tracker.bank.spreads = _places(state, D, n)
        tracker.bank.before = _places(state["before"], D, n)
        tracker.bank.share = float(state["share"])
        tracker._stand = _stand_of(state["stand"])
        K = len(tracker.bank)
        tracker.bank.frames = [_frame(row, K, D, n) for row in state["frames"]]
    except KeyError as error:
        raise InputError(
            f"This is not the state of a tracker: {error} is missing.",
            code="invalid_file",
            field="state",
        ) from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"This is not the state of a tracker: {first_line(error, 80)}.",
            code="invalid_file",
            field="state",
        ) from error
    return tracker


def _plain_region(region: SearchRegion) -> Any:
    """A region ready for JSON; of several maps, by name."""
    if isinstance(region, Regions):
        return {"maps": {name: _plain_region(part) for name, part in region.regions.items()}}
    return None if region is None else _plain(asdict(region))


def _region_of(said: Any) -> Any:
    """What `_plain_region` gave, as a user would say it."""
    if said is not None and set(said) == {"maps"}:
        return {name: _region_of(region) for name, region in said["maps"].items()}
    return None if said is None else Region(**_values(said))


def _flag(name: str, said: Any, poses: type[AnyPose]) -> Any:
    """What is remembered under a name, of its kind."""
    value, kind = _values(said), FLAGS[name]
    if value is None and kind.endswith("None"):
        return None
    if kind.startswith("pose"):
        sound = isinstance(value, poses) and value.shape == ()
    elif kind.startswith("bool"):
        sound = isinstance(value, bool)
    else:
        sound = isinstance(value, int | float) and not isinstance(value, bool)
        sound = sound and (abs(value) <= MAX_COORDINATE or said in ("inf", "-inf"))
    if not sound:
        raise ValueError(f"{name} is {quote(said)}, not {kind}")
    return value


def _floats(said: Any, *shape: int) -> FloatArray:
    """Numbers of a shape, in which at most one size is -1 for any."""
    values = np.array(said, dtype=np.float64)
    if not (np.abs(values) <= MAX_COORDINATE).all():
        raise ValueError("a number in it is absurd")
    return values.reshape(shape)


def _places(said: dict[str, Any], D: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Poses and their covariances, shapes (K, D) and (K, n, n)."""
    poses = _floats(said["poses"], -1, D)
    return poses, _floats(said["spreads"], len(poses), n, n)


def _plain_stand(stand: StationaryScans | None) -> dict[str, Any] | None:
    """The scans of a robot that stands."""
    if stand is None:
        return None
    where = {"place": _plain(stand.pose), "count": stand.count}
    if not stand.scans:
        return where
    first = stand.scans[0]
    return where | {
        "bearings": first.bearings.tolist(),
        "ranges": [scan.ranges.tolist() for scan in stand.scans],
        "sigmas": None if first.sigmas is None else first.sigmas.tolist(),
        "mount": _plain(first.T_robot_sensor),
    }


def _stand_of(said: dict[str, Any] | None) -> StationaryScans | None:
    """What `_plain_stand` gave."""
    if said is None:
        return None
    where, count = _values(said["place"]), int(said["count"])
    if "bearings" not in said:
        return StationaryScans(where, [], None, count)
    bearings = np.array(said["bearings"], dtype=np.float64)
    mount = _values(said["mount"])
    sigmas = None if said.get("sigmas") is None else np.array(said["sigmas"], dtype=np.float64)
    scans = [Scan(bearings, row, T_robot_sensor=mount, sigmas=sigmas) for row in said["ranges"]]
    merged = scans[0] if len(scans) == 1 else merge(scans)
    return StationaryScans(where, scans, merged, count)


def _frame(row: dict[str, Any], K: int, D: int, n: int) -> Frame:
    """What `to_state` says of a frame, for K places."""
    ends = _floats(row["ends"], -1, 2 if D == 3 else 3)
    blocks, columns = (_floats(row[name], len(ends)).astype(int) for name in ("beams", "columns"))
    strengths, sigmas = (
        _floats(row.get(name, []), len(ends) if row.get(name) else 0)
        for name in ("strengths", "sigmas")
    )
    beams = Beams.of(ends, blocks, columns, strengths, sigmas)
    where = _values(row["T_odom_sensor"])
    if not isinstance(where, Pose if D == 3 else Pose3):
        raise ValueError(f"T_odom_sensor is {quote(row['T_odom_sensor'])}")
    weight, when = (float(_floats(row[name])) for name in ("weight", "time"))
    frame = Frame(beams, where, weight, time=when)
    shapes = {"places": (K, D), "known": (K, n, n), "blocks": (K, beams.blocks)}
    for name in PER_PLACE:
        setattr(frame, name, _floats(row[name], *shapes.get(name, (K,))))
    return frame


def _plain(value: Any) -> Any:
    """Ready for JSON, which has no infinity, no array and no pose."""
    if isinstance(value, Pose):
        return {"pose": value.vector.tolist()}
    if isinstance(value, Pose3):  # as it is inside: angles would be rounded
        return {"position": value.position.tolist(), "quaternion": value.quaternion.tolist()}
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def _values(value: Any) -> Any:
    """What `_plain` and JSON made, back, with tuples for lists."""
    if isinstance(value, dict):
        whole = {key: _values(v) for key, v in value.items()}
        if set(value) == {"position", "quaternion"}:
            return Pose3.from_quaternion(
                _floats(value["quaternion"], 4), _floats(value["position"], 3)
            )
        return Pose.from_vector(_floats(value["pose"], 3)) if set(value) == {"pose"} else whole
    if isinstance(value, list | tuple):
        return tuple(_values(v) for v in value)
    return float(value) if value in ("inf", "-inf") else value
