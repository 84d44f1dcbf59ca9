"""Answers as other programs read them, and poses side by side."""

import json

import numpy as np
from tests.support.sites import gap

import isovist as iv
from isovist.localization import Contrast, contrast
from isovist.poses import way_of
from isovist.report import (
    answer_json,
    answer_text,
    check_json,
    contrast_json,
    contrast_text,
    update_json,
)
from isovist.tracking.replay import Update

__all__ = ["answer_text", "contrast", "contrast_json", "update_json"]


def told(answer, hints=()):
    """The report of an answer, which must be strict JSON."""
    return json.loads(json.dumps(answer_json(answer, hints), allow_nan=False))


def checked(check):
    """The report of a check, which must be strict JSON."""
    return json.loads(json.dumps(check_json(check), allow_nan=False))


def compared(places, poses, ends, favour):
    """The report of a contrast of two places, beam by beam."""
    one = Contrast(places, poses, np.asarray(ends), np.asarray(favour, dtype=float))
    report = json.loads(json.dumps(contrast_json(one), allow_nan=False))
    assert report.pop("text") == contrast_text(one)
    return report, one.counts


def untimed(row):
    """An answer in JSON without its times, in ms, and its sentence, which the reasons make."""
    left_out = ("timing_ms", "update_ms", "advice")
    return {key: value for key, value in row.items() if key not in left_out}


def plainly(row):
    """The same after a way through JSON."""
    return json.loads(json.dumps(untimed(row)))


def said(words, *hints):
    """What the library says of a scan or of a pose, as JSON without times."""
    return plainly(check_json(words) if isinstance(words, iv.Check) else answer_json(words, hints))


def believed(number, odometry, belief, time):
    """The same of a belief of a tracker, in the frame of a robot."""
    return plainly(update_json(Update(number, time, odometry, belief)))


def off(pose, truth):
    """Distance in m, and angle about any axis in degrees."""
    way, turn = way_of(truth.inverse @ pose)
    return way, float(np.degrees(turn))


def near(pose, truth, metres=0.1, degrees=1.5):
    """Whether a pose is that of a robot, but for its roll and pitch."""
    away, turn = gap(pose, truth)
    return away < metres and np.degrees(turn) < degrees
