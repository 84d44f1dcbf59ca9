"""A generated quarter of a town: streets between facades, on a slope, with trees and parked cars.

Streets cross every 40 to 60 m and are 14 to 18 m wide; the ground rises by 3 % along x.  Houses
stand in rows with setbacks and gaps.  Cars are parked anew between the drives that the map is made
of and the scans that are asked, trees and houses stay.  All lengths are in m.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.poses import Pose3, unit_vectors, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.models.spinning import SpinningLidar

SLOPE = 0.03
HEIGHT = 1.8
"""Of the sensor above the ground."""
TILT = float(np.radians(4.0))
"""Most that robots are tilted, on each axis, without knowing it."""
LIDAR = SpinningLidar(
    64, low=float(np.radians(-25.0)), high=float(np.radians(15.0)), range_max=80.0
)
LANE, EVERY = -1.8, 16.0
"""Where on a street the map's drives go, and how far apart its scans are."""
NEAR, FAR = 2.0, 10.0
"""How far scans that are asked lie from the nearest one of the map."""
SWAY, CURVE = 1.2, 6.0
"""How far from the middle robots drive at most, and the radius of their turns."""
ROOM = 2.4
"""Between the middles of a driving robot and of any car."""
LEAN = float(np.radians(1.0))
"""Standard deviation of roll and pitch of a driving robot on the slope, in rad."""

Corners = tuple[FloatArray, FloatArray]
"""Lowest and highest corners of boxes, each of shape (k, 3), z above the ground."""


@dataclass(frozen=True, slots=True, eq=False)
class Quarter:
    """A quarter of a town.

    Attributes:
        size: Of its sides.
        streets: Middle and width of those along y (by x) and those along x (by y), (k, 2) each.
        mapped: What the map's drives saw.
        reality: The same with other cars.
        cars: Middle of the cars in reality, shape (k, 2).
    """

    size: float
    streets: tuple[FloatArray, FloatArray]
    mapped: MeshMap
    reality: MeshMap
    cars: FloatArray

    def drives(self) -> FloatArray:
        """(x, y, yaw) of the scans that the map is made of, along one lane of every street."""
        along = np.arange(EVERY, self.size - 0.5 * EVERY, EVERY)
        rows = []
        for axis in (0, 1):
            for middle, _ in self.streets[axis]:
                place = np.empty((len(along), 3))
                place[:, axis], place[:, 1 - axis] = middle + LANE, along
                place[:, 2] = 0.5 * np.pi * (1 - axis)
                rows.append(place)
        return np.concatenate(rows)

    def cloud(
        self, lidar: SpinningLidar = LIDAR, *, seed: int = 0, side: float = 0.05
    ) -> FloatArray:
        """Points of the scans of all drives, one per cube of such a side, shape (k, 3)."""
        rng = np.random.default_rng(seed)
        parts, thinned = [np.empty((0, 3))], 0
        for place in self.drives():
            pose = _standing(place)
            parts.append(pose.apply(lidar.scan(self.mapped, pose, rng).points))
            if sum(map(len, parts)) > 2 * thinned + 4_000_000:
                parts = [_thinned(np.concatenate(parts), side)]
                thinned = len(parts[0])
        return _thinned(np.concatenate(parts), side)

    def asks(
        self, count: int, lidar: SpinningLidar = LIDAR, *, tilt: float = TILT, seed: int = 1
    ) -> Iterator[tuple[Pose3, CloudScan]]:
        """Poses on the streets, from NEAR to FAR of the map's scans, and scans without a tilt told.

        Args:
            count: How many.
            lidar: The sensor.
            tilt: Most of it on each axis, in rad.
            seed: Of the random numbers.
        """
        rng = np.random.default_rng(seed)
        drives = self.drives()[:, :2]
        while count:
            axis = int(rng.integers(2))
            middle, width = self.streets[axis][int(rng.integers(len(self.streets[axis])))]
            place = np.empty(2)
            place[axis] = middle + rng.uniform(-0.5, 0.5) * (width - 10.0)
            place[1 - axis] = rng.uniform(6.0, self.size - 6.0)
            far = float(np.hypot(*(drives - place).T).min())
            if not NEAR <= far <= FAR or np.hypot(*(self.cars - place).T).min() < 2.7:
                continue
            roll, pitch = rng.uniform(-tilt, tilt, 2)
            pose = _standing(np.append(place, rng.uniform(-np.pi, np.pi)), roll, pitch)
            seen = lidar.scan(self.reality, pose, rng)
            yield pose, replace(seen, roll=0.0, pitch=0.0)
            count -= 1

    def wander(self, reach: float, rng: np.random.Generator, stride: float) -> list[Pose3]:
        """Poses of a robot that begins anywhere on a street and drives `reach` m, a stride apart.

        At every other crossing it turns.
        """
        while True:
            places = self._way(reach, rng, stride)
            free = np.hypot(*(places[:, None, :2] - self.cars).T).min() > ROOM
            if free and places[:, :2].min() > CURVE and places[:, :2].max() < self.size - CURVE:
                break
        cos, sin = np.cos(places[:, 2]), np.sin(places[:, 2])
        tilts = np.arctan(SLOPE * np.stack([-sin, -cos], axis=1))
        tilts += rng.normal(0.0, LEAN, tilts.shape)
        return [_standing(place, *tilt) for place, tilt in zip(places, tilts, strict=True)]

    def _way(self, reach: float, rng: np.random.Generator, stride: float) -> FloatArray:
        """(x, y, yaw) from anywhere on, wherever that leads."""
        axis, sense = int(rng.integers(2)), float(rng.choice([-1.0, 1.0]))
        lane = rng.choice(self.streets[axis][:, 0]) + rng.uniform(-SWAY, SWAY)
        place, yaw = rng.uniform(CURVE, self.size - CURVE, 2), _along(axis, sense)
        place[axis] = lane
        rows = [(*place, yaw)]
        while len(rows) * stride <= reach:
            ahead = sense * (self.streets[1 - axis][:, 0] - place[1 - axis]) - CURVE
            met = np.flatnonzero((ahead >= 0.0) & (ahead < stride))
            if met.size and rng.random() < 0.5:
                lane = self.streets[1 - axis][met[0], 0] + rng.uniform(-SWAY, SWAY)
                axis, sense = 1 - axis, float(rng.choice([-1.0, 1.0]))
            aim = _along(axis, sense)
            right = sense * (place[axis] - lane) * (1.0 if axis == 0 else -1.0)
            turn = wrap_angle(aim + np.clip(right / CURVE, -0.8, 0.8) - yaw)
            yaw = float(yaw + np.clip(turn, -stride / CURVE, stride / CURVE))
            place = place + stride * unit_vectors(yaw)
            rows.append((*place, yaw))
        return np.array(rows)


def quarter(seed: int = 0, *, size: float = 150.0) -> Quarter:
    """A quarter of a town, the same for the same seed.

    Args:
        seed: Of the random generator.
        size: Of its sides; at least 100.
    """
    if size < 100.0:
        raise InputError.about("size", f"must be at least 100 m, got {size:g} m.")
    rng = np.random.default_rng(seed)
    streets = _streets(rng, size), _streets(rng, size)
    houses, trees = _houses(rng, *streets, size), _trees(rng, streets, size)
    cars = [_cars(rng, streets, size) for _ in range(2)]
    boxes = [_join(houses, trees, parked) for parked in cars]
    low, high = cars[1]
    middles = 0.5 * (low + high)[:, :2]
    return Quarter(size, streets, _mesh(boxes[0], size), _mesh(boxes[1], size), middles)


def _standing(place: FloatArray, roll: float = 0.0, pitch: float = 0.0) -> Pose3:
    x, y, yaw = (float(v) for v in place)
    return Pose3(x, y, yaw, SLOPE * x + HEIGHT, roll, pitch)


def _along(axis: int, sense: float) -> float:
    """Heading along a street of such an axis, up or down its coordinate."""
    return 0.5 * np.pi * sense if axis == 0 else 0.5 * np.pi * (1.0 - sense)


def _thinned(points: FloatArray, side: float) -> FloatArray:
    cubes = np.floor(points / side).astype(np.int64) + (1 << 20)
    number = (cubes[:, 0] << 42) | (cubes[:, 1] << 21) | cubes[:, 2]
    return np.asarray(points[np.unique(number, return_index=True)[1]])


def _streets(rng: np.random.Generator, size: float) -> FloatArray:
    rows, at = [], float(rng.uniform(12.0, 25.0))
    while at < size - 12.0:
        rows.append((at, float(rng.uniform(14.0, 18.0))))
        at += float(rng.uniform(40.0, 60.0))
    return np.array(rows)


def _houses(
    rng: np.random.Generator, along_y: FloatArray, along_x: FloatArray, size: float
) -> Corners:
    """Rows of houses around every block, with setbacks, bays, gaps and yards behind."""
    low, high = [], []
    sides = []
    for streets in (along_y, along_x):
        edges = np.concatenate([[[-9.0, 18.0]], streets, [[size + 9.0, 18.0]]])
        inner = edges[:, 0] + 0.5 * edges[:, 1], edges[:, 0] - 0.5 * edges[:, 1]
        sides.append(list(zip(inner[0][:-1], inner[1][1:], strict=True)))

    def add(box: tuple[float, float, float, float], top: float) -> None:
        x0, x1, y0, y1 = box
        low.append((x0, y0, -1.0))
        high.append((x1, y1, top))

    for left, right in sides[0]:
        for bottom, upper in sides[1]:
            if right - left < 8.0 or upper - bottom < 8.0:
                continue
            for row in range(4):
                start, stop = (left, right) if row < 2 else (bottom + 9.0, upper - 9.0)
                at = start
                while at < stop - 3.0:
                    end = min(at + float(rng.uniform(6.0, 16.0)), stop)
                    back, deep = float(rng.uniform(0.0, 2.5)), float(rng.uniform(6.0, 8.5))
                    top = float(rng.uniform(5.0, 16.0))
                    if rng.random() < 0.88:
                        for first, last, out in _front(rng, at, end, back):
                            boxes = (
                                (first, last, bottom + out, bottom + deep),
                                (first, last, upper - deep, upper - out),
                                (left + out, left + deep, first, last),
                                (right - deep, right - out, first, last),
                            )
                            add(boxes[row], top)
                    at = end
    return np.array(low), np.array(high)


def _front(
    rng: np.random.Generator, start: float, stop: float, back: float
) -> Iterator[tuple[float, float, float]]:
    """Parts of a facade, each with its own setback: porches, bays, niches."""
    at = start
    while at < stop - 1e-6:
        end = min(at + float(rng.uniform(1.5, 5.0)), stop)
        yield at, end, max(0.0, back + float(rng.choice([0.0, 0.0, 0.4, 0.8])))
        at = end


def _beside(
    rng: np.random.Generator, streets: tuple[FloatArray, FloatArray], size: float,
    steps: tuple[float, float], off: float,
) -> Iterator[tuple[int, float, float]]:  # fmt: skip
    """Axis of a street, place across and along it, on both sides, not on crossings."""
    for axis in (0, 1):
        for middle, width in streets[axis]:
            for side in (-1.0, 1.0):
                at = float(rng.uniform(2.0, 10.0))
                while at < size - 3.0:
                    across = np.abs(streets[1 - axis][:, 0] - at) - 0.5 * streets[1 - axis][:, 1]
                    if across.min() > 3.0:
                        yield axis, middle + side * (0.5 * width - off), at
                    at += float(rng.uniform(*steps))


def _trees(
    rng: np.random.Generator, streets: tuple[FloatArray, FloatArray], size: float
) -> Corners:
    """Trunks, and crowns of three boxes."""
    low, high = [], []
    for axis, across, along in _beside(rng, streets, size, (7.0, 20.0), 1.5):
        place = np.array([across, along] if axis == 0 else [along, across])
        thick, stem = float(rng.uniform(0.1, 0.25)), float(rng.uniform(2.0, 3.5))
        low.append((*(place - thick), -0.5))
        high.append((*(place + thick), stem + 0.5))
        for _ in range(3):
            wide, tall = rng.uniform(0.6, 1.6, 2), float(rng.uniform(1.0, 2.5))
            shift = rng.uniform(-0.6, 0.6, 2)
            bottom = stem + float(rng.uniform(0.0, 1.0))
            low.append((*(place + shift - wide), bottom))
            high.append((*(place + shift + wide), bottom + tall))
    return np.array(low), np.array(high)


def _cars(rng: np.random.Generator, streets: tuple[FloatArray, FloatArray], size: float) -> Corners:
    """Bodies and cabins of cars at two thirds of the places along kerbs."""
    low, high = [], []
    for axis, across, along in _beside(rng, streets, size, (5.2, 6.5), 3.0):
        if rng.random() > 0.65:
            continue
        length, tall = float(rng.uniform(3.8, 5.0)), float(rng.uniform(1.4, 2.0))
        place = np.array([across, along]) + rng.uniform(-0.15, 0.15, 2)
        for half, bottom, top in ((0.5, 0.25, 0.9), (0.28, 0.9, tall)):
            size_ = np.array([0.9, half * length])
            a, b = place - size_, place + size_
            if axis == 1:
                a, b = a[::-1], b[::-1]
            low.append((*a, bottom))
            high.append((*b, top))
    return np.array(low), np.array(high)


def _join(*parts: Corners) -> Corners:
    low, high = (np.concatenate(sides) for sides in zip(*parts, strict=True))
    return low, high


def _mesh(boxes: Corners, size: float) -> MeshMap:
    """Boxes on the slope, and the ground."""
    low, high = boxes
    rise = SLOPE * 0.5 * (low[:, :1] + high[:, :1])
    bits = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)], dtype=np.bool_)
    corners = np.where(bits, high[:, None], low[:, None])
    corners[:, :, 2] += rise
    quads = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]]
    faces = np.array([[q[i] for i in part] for q in quads for part in ((0, 1, 2), (0, 2, 3))])
    ends = np.array([-20.0, size + 20.0])
    ground = np.array([[x, y, SLOPE * x] for y in ends for x in ends])
    at = len(corners) * 8
    every = (faces + 8 * np.arange(len(corners))[:, None, None]).reshape(-1, 3)
    floor = np.array([[at, at + 1, at + 3], [at, at + 3, at + 2]])
    vertices = np.concatenate([corners.reshape(-1, 3), ground])
    return MeshMap.from_arrays(vertices, np.concatenate([every, floor]), free="everywhere")
