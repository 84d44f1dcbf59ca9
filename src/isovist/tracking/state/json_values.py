"""Values of a saved state, to and from JSON, which has no infinity, no array and no pose."""

from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.poses import Pose, Pose3
from isovist.storage import MAX_COORDINATE


def to_json_value(value: Any) -> Any:
    """Return a value ready for JSON."""
    if isinstance(value, Pose):
        return {"pose": value.vector.tolist()}
    if isinstance(value, Pose3):  # as it is inside: angles would be rounded
        return {"position": value.position.tolist(), "quaternion": value.quaternion.tolist()}
    if isinstance(value, dict):
        return {key: to_json_value(v) for key, v in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def from_json_value(value: Any) -> Any:
    """Return the value that `to_json_value` and JSON made, with tuples for lists."""
    if isinstance(value, dict):
        if set(value) == {"position", "quaternion"}:
            position, quaternion = floats(value["position"], 3), floats(value["quaternion"], 4)
            return Pose3.from_quaternion(quaternion, position)
        if set(value) == {"pose"}:
            return Pose.from_vector(floats(value["pose"], 3))
        return {key: from_json_value(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return tuple(from_json_value(v) for v in value)
    return float(value) if value in ("inf", "-inf") else value


def floats(value: Any, *shape: int) -> FloatArray:
    """Return numbers of a shape, in which at most one size is -1 for any.

    Raises:
        ValueError: If they have another shape, or a number is absurd.
    """
    values = np.array(value, dtype=np.float64)
    if not (np.abs(values) <= MAX_COORDINATE).all():
        raise ValueError("a number in it is absurd")
    return values.reshape(shape)
