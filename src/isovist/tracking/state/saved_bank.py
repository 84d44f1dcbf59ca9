"""The hypotheses and keyframes of a saved state."""

from typing import Any

from isovist.arrays import FloatArray
from isovist.atlas import Beams
from isovist.poses import Pose, Pose3
from isovist.storage import quote
from isovist.tracking.hypotheses.bank import HypothesisBank
from isovist.tracking.hypotheses.keyframe import Explanations, Keyframe
from isovist.tracking.state.json_values import floats, from_json_value, to_json_value


def bank_to_json(bank: HypothesisBank) -> dict[str, Any]:
    """Return the hypotheses and keyframes of a bank, ready for JSON."""
    poses, covariances = bank.prediction
    return {
        "tilt": bank.tilt,
        "poses": bank.poses.tolist(),
        "spreads": bank.covariances.tolist(),
        "before": {"poses": poses.tolist(), "spreads": covariances.tolist()},
        "share": bank.share,
        "frames": [_keyframe_to_json(keyframe) for keyframe in bank.keyframes],
    }


def restore_bank(bank: HypothesisBank, values: dict[str, Any]) -> None:
    """Fill an empty bank with the result of `bank_to_json`.

    Raises:
        KeyError: If a value is missing.
        ValueError: If a value is invalid.
    """
    if values["tilt"] and not bank.tilt:  # the ground of the first scan was not level
        bank.fit_tilt()
    D, n = bank.shape
    bank.poses, bank.covariances = _hypotheses(values, D, n)
    bank.prediction = _hypotheses(values["before"], D, n)
    bank.share = float(values["share"])
    K = len(bank)
    bank.keyframes = [_keyframe(row, K, D, n) for row in values["frames"]]


def _hypotheses(values: dict[str, Any], D: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Return poses and their covariances, shapes (K, D) and (K, n, n)."""
    poses = floats(values["poses"], -1, D)
    return poses, floats(values["spreads"], len(poses), n, n)


def _keyframe_to_json(keyframe: Keyframe) -> dict[str, Any]:
    beams = keyframe.beams
    return {
        "ends": beams.ends.tolist(),
        "beams": beams.block_of.tolist(),
        "columns": beams.column_of.tolist(),
        "strengths": beams.strengths.tolist(),
        "sigmas": beams.sigmas.tolist(),
        "T_odom_sensor": to_json_value(keyframe.T_odom_sensor),
        "weight": keyframe.weight,
        "time": keyframe.time,
        **{name: rows.tolist() for name, rows in keyframe.explanations.arrays().items()},
    }


def _keyframe(row: dict[str, Any], K: int, D: int, n: int) -> Keyframe:
    """Return a keyframe from the result of `_keyframe_to_json`, for K hypotheses."""
    ends = floats(row["ends"], -1, 2 if D == 3 else 3)
    blocks, columns = (floats(row[name], len(ends)).astype(int) for name in ("beams", "columns"))
    strengths, sigmas = (
        floats(row.get(name, []), len(ends) if row.get(name) else 0)
        for name in ("strengths", "sigmas")
    )
    beams = Beams.of(ends, blocks, columns, strengths, sigmas)
    pose = from_json_value(row["T_odom_sensor"])
    if not isinstance(pose, Pose if D == 3 else Pose3):
        raise ValueError(f"T_odom_sensor is {quote(row['T_odom_sensor'])}")
    weight, time = (float(floats(row[name])) for name in ("weight", "time"))
    shapes = {"places": (K, D), "known": (K, n, n), "blocks": (K, beams.blocks)}
    explanations = Explanations.from_arrays(
        {name: floats(row[name], *shapes.get(name, (K,))) for name in Explanations.empty().arrays()}
    )
    return Keyframe(beams, pose, weight, time, explanations)
