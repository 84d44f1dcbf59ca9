"""A tracker as plain data, so that it survives a restart of its process.

A restored tracker goes on as if nothing had happened: the same scans give the same bits.  A
checksum finds damage; it does not protect against forgery.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from isovist.atlas import Atlas, MultiMap, SearchSpace
from isovist.errors import InputError
from isovist.localization import (
    AnyMaps,
    LocalizationSettings,
    Region,
    Regions,
    SearchRegion,
    search_space_of,
)
from isovist.poses import AnyPose, Pose
from isovist.sensing import Drift, Scan, StationaryScans, merge
from isovist.storage import MAX_COORDINATE, first_line, quote
from isovist.tracking.links import Link
from isovist.tracking.settings import TrackingSettings
from isovist.tracking.state.json_values import from_json_value, to_json_value
from isovist.tracking.state.saved_bank import bank_to_json, restore_bank
from isovist.tracking.state.tracker_state import MotionState, SearchState, TrackerState

if TYPE_CHECKING:
    from isovist.tracking.tracker import Tracker

VERSION = 6
READABLE_VERSIONS = (5, VERSION)


def fingerprint(space: SearchSpace) -> int:
    """Return a number that another map, or other maps, hardly have."""
    if isinstance(space, MultiMap):
        parts = {name: fingerprint(atlas) for name, atlas in space.maps.items()}
        return zlib.crc32(json.dumps(parts).encode())
    assert isinstance(space, Atlas)  # there is no third kind
    head = np.array([*space.world.shape, space.world.resolution, space.spacing])
    return zlib.crc32(space.nodes.tobytes(), zlib.crc32(head.tobytes()))


def checksum(saved: dict[str, Any]) -> int:
    """Return the checksum of a saved state, for any order of its keys."""
    values = {name: value for name, value in saved.items() if name != "crc32"}
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


def to_state(state: TrackerState, links: Sequence[Link], tilt: bool) -> dict[str, Any]:
    """Return the state of a tracker, ready for JSON.

    Args:
        state: The state.
        links: Links between its maps.
        tilt: Whether the user asked for roll and pitch.
    """
    bank = state.bank
    saved = {
        "version": VERSION,
        "atlas": fingerprint(state.space),
        "settings": bank.settings.to_json(),
        "localization": to_json_value(asdict(bank.localization)),
        "drift": asdict(bank.drift),
        "prior": _region_to_json(state.region),
        **({"links": [to_json_value(asdict(link)) for link in links]} if links else {}),
        "tilt_given": tilt,
        **({"any_attitude": True} if bank.any_attitude else {}),
        "flags": _fields_to_json(state.motion) | _fields_to_json(state.search),
        "stand": _stationary_to_json(state.stationary),
        **bank_to_json(bank),
    }
    return {**saved, "crc32": checksum(saved)}


def from_state(kind: "type[Tracker]", atlas: AnyMaps, saved: dict[str, Any]) -> "Tracker":
    """Return the tracker with a state that `to_state` saved, on the same atlas or maps.

    Raises:
        InputError: If it is the state of another version or map, damaged, or no state.
    """
    with _errors_of_values():
        _check_origin(saved, atlas)
        tracker = kind(
            atlas,
            links=[Link(**from_json_value(link)) for link in saved.get("links", ())],
            region=_region_of(saved["prior"]),
            drift=Drift(**saved["drift"]),
            settings=TrackingSettings.from_json(saved["settings"]),
            localization=LocalizationSettings.from_json(saved["localization"]),
            tilt=saved.get("tilt_given", saved["tilt"]),
            any_attitude=saved.get("any_attitude", False),
        )
        state = tracker._state
        restore_bank(state.bank, saved)
        flags = {"_unsure": tracker.drift == Drift(), **saved["flags"]}
        poses = type(state.motion.mount)
        state.motion = _fields_of(MotionState, flags, poses)
        state.search = _fields_of(SearchState, flags, poses)
        state.bank.has_odometry = state.motion.has_odometry is not False
        state.stationary = _stationary_of(saved["stand"])
        return tracker


def _check_origin(saved: dict[str, Any], atlas: AnyMaps) -> None:
    if saved["version"] not in READABLE_VERSIONS:
        raise InputError(
            "This is the state of another version, "
            f"{quote(saved['version'])}; {VERSION} is read. Begin with a new tracker.",
            code="outdated_file",
            field="state",
        )
    if saved["crc32"] != checksum(saved):
        raise InputError(
            "The state is damaged: its checksum differs. Begin with a new tracker.",
            code="invalid_file",
            field="state",
        )
    if saved["atlas"] != fingerprint(search_space_of(atlas)):
        raise InputError(
            "The state is of a tracker on another map.", code="conflict", field="state"
        )


@contextmanager
def _errors_of_values() -> Iterator[None]:
    """Turn errors about single values of a state into errors about the state."""
    try:
        yield
    except InputError:
        raise
    except KeyError as error:
        raise InputError(
            f"This is not the state of a tracker: {error} is missing.",
            code="invalid_file",
            field="state",
        ) from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"This is not the state of a tracker: {first_line(error, 80)}.",
            code="invalid_file",
            field="state",
        ) from error


def _fields_to_json(part: MotionState | SearchState) -> dict[str, Any]:
    """Return the fields of a part of the state by their keys."""
    return {row.metadata["stored"]: to_json_value(getattr(part, row.name)) for row in fields(part)}


def _fields_of(kind: Any, values: dict[str, Any], poses: type[AnyPose]) -> Any:
    """Return a part of the state from the result of `_fields_to_json`.

    Args:
        kind: `MotionState` or `SearchState`.
        values: The fields of both by their keys.
        poses: Type of poses on the map.
    """
    rows = {row.name: (row.metadata["stored"], row.type) for row in fields(kind)}
    return kind(
        **{name: _field_of(key, values[key], of, poses) for name, (key, of) in rows.items()}
    )


def _field_of(key: str, json_value: Any, kind: Any, poses: type[AnyPose]) -> Any:
    """Return the value of a field of a type, or raise `ValueError`."""
    value, kinds = from_json_value(json_value), get_args(kind) or (kind,)
    if value is None and type(None) in kinds:
        return None
    if Pose in kinds:
        is_valid = isinstance(value, poses) and value.shape == ()
    elif bool in kinds:
        is_valid = isinstance(value, bool)
    else:
        is_valid = isinstance(value, int | float) and not isinstance(value, bool)
        is_valid = is_valid and (abs(value) <= MAX_COORDINATE or json_value in ("inf", "-inf"))
    if not is_valid:
        raise ValueError(f"{key} is {quote(json_value)}")
    return value


def _region_to_json(region: SearchRegion) -> Any:
    """Return a region ready for JSON; those of several maps by name."""
    if isinstance(region, Regions):
        return {"maps": {name: _region_to_json(part) for name, part in region.regions.items()}}
    return None if region is None else to_json_value(asdict(region))


def _region_of(values: Any) -> Any:
    """Return the result of `_region_to_json` as a user would give it."""
    if values is not None and set(values) == {"maps"}:
        return {name: _region_of(region) for name, region in values["maps"].items()}
    return None if values is None else Region(**from_json_value(values))


def _stationary_to_json(stationary: StationaryScans | None) -> dict[str, Any] | None:
    """Return the scans of a robot that stands still, ready for JSON."""
    if stationary is None:
        return None
    head = {"place": to_json_value(stationary.pose), "count": stationary.count}
    if not stationary.scans:
        return head
    first = stationary.scans[0]
    return head | {
        "bearings": first.bearings.tolist(),
        "ranges": [scan.ranges.tolist() for scan in stationary.scans],
        "sigmas": None if first.sigmas is None else first.sigmas.tolist(),
        "mount": to_json_value(first.T_robot_sensor),
    }


def _stationary_of(values: dict[str, Any] | None) -> StationaryScans | None:
    """Return the scans from the result of `_stationary_to_json`."""
    if values is None:
        return None
    pose, count = from_json_value(values["place"]), int(values["count"])
    if "bearings" not in values:
        return StationaryScans(pose, [], None, count)
    bearings, mount = np.array(values["bearings"], float), from_json_value(values["mount"])
    sigmas = None if values.get("sigmas") is None else np.array(values["sigmas"], float)
    scans = [Scan(bearings, row, T_robot_sensor=mount, sigmas=sigmas) for row in values["ranges"]]
    merged = scans[0] if len(scans) == 1 else merge(scans)
    return StationaryScans(pose, scans, merged, count)
