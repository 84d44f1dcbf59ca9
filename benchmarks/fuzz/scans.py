"""Destroyed scans: the answer may be lost or ambiguous, or right, but never unique and wrong."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

import isovist as iv
from benchmarks.fuzz import readers, seeds
from benchmarks.fuzz.mutations import Random
from isovist.arrays import FloatArray
from isovist.poses import wrap_angle

NEAR, TURN = 0.5, np.radians(10.0)
"""An answer within these, in m and rad, is right: the protocol of `isovist bench`."""
HOSTILE = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 3.4e38, 1e-308, 9999.0, 1e5)
PLACES = ((4.1, 2.6, 0.4), (7.6, 6.2, 2.5), (11.2, 3.4, -1.9), (2.2, 10.1, 1.1))


def ask_plane(random: Random) -> None:
    """A scan of the plane, destroyed."""
    pose, scan = plane_views()[int(random.integers(len(PLACES)))]
    ranges = destroy(np.where(scan.valid, scan.ranges, np.inf), random)
    bearings = scan.bearings[: len(ranges)]
    if random.random() < 0.1:
        bearings = random.permutation(bearings)
    seen = iv.Scan(bearings, ranges, 0.0, float(random.choice([12.0, np.inf])))
    check(iv.locate(readers.plane_atlas(), seen), pose)


def ask_space(random: Random) -> None:
    """A scan in space, destroyed: its ranges, or some coordinates of its points."""
    pose, scan = space_views()[int(random.integers(len(PLACES)))]
    points = np.array(scan.points)
    length = np.linalg.norm(points, axis=1)
    if random.random() < 0.7:
        changed = destroy(length, random)
        with np.errstate(all="ignore"):
            points = points[: len(changed)] * (changed / length[: len(changed)])[:, None]
    else:
        axis = int(random.integers(3))
        points[:, axis] = destroy(points[:, axis], random, whole=True)
    check(iv.locate(readers.space_atlas(), replace(scan, points=points, range_max=np.inf)), pose)


def destroy(values: FloatArray, random: Random, *, whole: bool = False) -> FloatArray:
    """Readings that are replaced, repeated, mixed up, scaled or cut off.

    With `whole` as many are given back as there were, and they are not scaled: a scan that is
    squeezed along one axis looks like a sound one of a narrower place.
    """
    values = np.array(values)
    some = random.random(values.size) < random.choice([0.05, 0.3, 0.8, 1.0])
    way = int(random.integers(6 if whole else 8))
    with np.errstate(all="ignore"):
        if way == 0:
            values[some] = HOSTILE[int(random.integers(len(HOSTILE)))]
        elif way == 1:
            values[some] = random.choice(HOSTILE, int(some.sum()))
        elif way == 2:
            values[some] = values[0]
        elif way == 3:
            values[some] = random.permutation(values[some])
        elif way == 4:
            values = np.repeat(values[:: int(random.choice([2, 5, 30]))], 30)[: values.size]
            values = np.resize(values, some.size)
        elif way == 5:
            values[some] = random.uniform(0.0, 12.0, int(some.sum()))
        elif way == 6:
            values *= float(random.choice([0.001, 0.1, 0.3048, 0.5, 1.5, 2.0, 39.37, 1000.0]))
        else:
            values = values[: int(random.choice([1, 2, 5, 20, 60]))]
    return values


def check(answer: iv.Answer, truth: iv.Pose) -> None:
    """Raise what makes it a finding."""
    readers.said(answer)
    if answer.verdict is not iv.Verdict.UNIQUE or answer.best is None:
        return
    pose = answer.best.pose
    away = float(np.hypot(pose.x - truth.x, pose.y - truth.y))
    turn = abs(float(wrap_angle(pose.yaw - truth.yaw)))
    if away > NEAR or turn > TURN:
        raise readers.WrongError(f"unique, and {away:.2f} m and {np.degrees(turn):.0f}° off")


@lru_cache
def plane_views() -> list[tuple[iv.Pose, iv.Scan]]:
    random, world = np.random.default_rng(1), seeds.plane_world()
    poses = [iv.Pose(*place) for place in PLACES]
    return [(pose, seeds.PLANAR.scan(world, pose, random)) for pose in poses]


@lru_cache
def space_views() -> list[tuple[iv.Pose, iv.CloudScan]]:
    random, world = np.random.default_rng(1), seeds.space_world()
    poses = [iv.Pose(*place) for place in PLACES]
    lifted = [iv.Pose3(pose.x, pose.y, pose.yaw, 1.0) for pose in poses]
    return [(a, seeds.SPINNING.scan(world, b, random)) for a, b in zip(poses, lifted, strict=True)]


ASKED = {"locate.plane": ask_plane, "locate.space": ask_space}
