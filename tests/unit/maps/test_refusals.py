"""What no map is made of, and what no map can be asked: fields and codes."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.worlds import office_floor

from isovist import Cell, MeshMap, OccupancyMap, Pose, Scan, SegmentMap, VoxelMap

INVALID, MISSING, EMPTY, LARGE = "invalid_value", "missing", "empty", "too_large"
FLAT = np.zeros((4, 4), np.uint8)
SOLID = np.zeros((2, 2, 2), int)
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
HALVES = [[0, 1, 2], [0, 2, 3]]
CLOUD = np.arange(300.0).reshape(100, 3)
LINE = [[[0.0, 0.0], [1.0, 1.0]]]
ROWS = np.zeros((1, 3))


def box():
    return MeshMap.box([0, 0, 0], [1, 1, 1])


def cells(codes, resolution=1.0):
    return OccupancyMap.from_array(codes, resolution)


def rays(origins, directions, maximum=1.0):
    return cells(FLAT).cast(origins, directions, maximum=maximum)


def mapped(poses=ROWS, ranges=(1.0,), **options):
    scans = [Scan(np.zeros(1), np.array([r])) for r in ranges]
    return OccupancyMap.from_scans(scans, poses, **options)


def ends(high):
    points = np.zeros((200, 3))
    points[:2, 0] = high, -high
    return points


CELLS = [
    (lambda: cells(np.zeros(3, int)), "cells"),
    (lambda: cells(np.zeros((0, 4), int)), "cells"),
    (lambda: cells(np.zeros((2, 2))), "cells"),
    (lambda: cells(np.array([[0, 3]])), "cells"),
    (lambda: cells(np.array([[0, -1]])), "cells"),
    (lambda: cells(FLAT, 0.0), "resolution"),
    (lambda: cells(FLAT, np.inf), "resolution"),
    (lambda: cells(FLAT + 1), None, EMPTY),
    (lambda: cells(np.zeros((100, 100), int), 0.05).resampled(1e-5), "resolution", LARGE),
    (lambda: rays([0, 0], [0, 0]), "directions"),
    (lambda: rays([0, 0], [1, 0], 0.0), "maximum"),
    (lambda: rays([0, 0], [1, 0], np.nan), "maximum"),
    (lambda: rays([0], [1, 0]), "origins"),
    (lambda: rays([np.nan, 0], [1, 0]), "origins"),
    (lambda: OccupancyMap.from_segments([[[0, 0], [1, 0]]], 0.1), None, EMPTY),
    (lambda: OccupancyMap.from_segments(np.zeros((0, 2, 2)), 0.1), "segments", MISSING),
    (lambda: OccupancyMap.from_segments(np.zeros((3, 2)), 0.1), "segments"),
    (lambda: OccupancyMap.from_segments(LINE, 1e-5), "resolution", LARGE),
    (lambda: cells(FLAT).to_segments(-1.0), "tolerance"),
    (lambda: mapped(np.zeros((2, 3))), "poses"),
    (lambda: mapped(np.zeros((1, 2))), "poses"),
    (lambda: mapped(resolution=1e-9), "resolution", LARGE),
    (lambda: mapped(resolution=0.0), "resolution"),
    (lambda: mapped(share=0.0), "share"),
    (lambda: mapped(share=1.1), "share"),
    (lambda: mapped(np.zeros((0, 3)), ()), None, MISSING),
    (lambda: mapped(ranges=[1e308]), "resolution", LARGE),
    (lambda: mapped(ranges=[3.4028235e38]), "resolution", LARGE),
]
WALLS = [
    (lambda: SegmentMap.from_segments([[[0, 0], [1, 0]], [[2, 3], [2, 3]]]), "segments"),
    (lambda: SegmentMap.from_segments([[[0, 0], [1, np.nan]]]), "segments"),
    (lambda: SegmentMap.from_segments(np.empty((0, 2, 2))), "segments"),
    (lambda: SegmentMap.from_segments("walls"), "segments"),
    (lambda: SegmentMap.from_polygons([[(0, 0), (1, 1), (1, 0), (0, 1)]]), "rooms[0]"),
    (lambda: SegmentMap.from_polygons([[(0, 0), (1, 1)]]), "rooms[0]"),
    (lambda: SegmentMap.from_polygons([]), "rooms", MISSING),
    (lambda: SegmentMap.room(1.0, 1.0, pillars=[(-1, -1, 2, 2)]), None, EMPTY),
    (lambda: SegmentMap.room(0.0, 1.0), "width"),
    (lambda: SegmentMap.room(1.0, 1.0).cast([0.5, 0.5, 0.5], [1.0, 0.0, 0.0]), "origins"),
    (lambda: SegmentMap.room(2.0, 2.0).clearance([1e300, 0.0]), "points"),
    (lambda: office_floor(-1), "seed"),
    (lambda: office_floor(0, length=3.0), None),
]
MESHES = [
    (lambda: MeshMap.from_arrays(SQUARE, np.empty((0, 3), int)), None, EMPTY),
    (lambda: MeshMap.from_arrays(np.array(SQUARE) * [np.nan, 1, 1], HALVES), "vertices"),
    (lambda: MeshMap.from_arrays(np.array(SQUARE) * [1e200, 1, 1], HALVES), "vertices"),
    (lambda: MeshMap.from_arrays(np.zeros((4, 2)), HALVES), "vertices"),
    (lambda: MeshMap.from_arrays(SQUARE, [[0, 1, 4]]), "faces"),
    (lambda: MeshMap.from_arrays(SQUARE, [[0, 1, -1]]), "faces"),
    (lambda: MeshMap.from_arrays(SQUARE, [[0.0, 1.0, 2.0]]), "faces"),
    (lambda: MeshMap.from_arrays(SQUARE, [[0, 1, 1]]), None, EMPTY),
    (lambda: MeshMap.from_arrays(SQUARE, HALVES, free="inside"), None, "conflict"),
    (lambda: MeshMap.from_arrays(SQUARE, HALVES, free="above"), "free"),
    (lambda: MeshMap.from_triangles(np.zeros((4, 3))), "triangles"),
    (lambda: MeshMap.box([0, 0, 0], [1, 1, 0]), "low"),
    (lambda: MeshMap.extrude(SegmentMap.room(1, 1), 1.0, 1.0), "low"),
    (lambda: MeshMap.from_heights([[1.0, 2.0]], 1.0), "heights"),
    (lambda: MeshMap.from_heights(np.zeros((2, 2)), 0.0), "spacing"),
    (lambda: MeshMap.join([]), "meshes", MISSING),
    (lambda: box().cast([0, 0, 1], [0, 0, 0]), "directions"),
    (lambda: box().cast([0, 0], [1, 0]), "origins"),
    (lambda: box().slopes, None, MISSING),
    (lambda: box().using("gpu"), "backend"),
]
VOXELS = [
    (lambda: VoxelMap.from_array(np.zeros((2, 2)), 0.1), "cells"),
    (lambda: VoxelMap.from_array(SOLID + 3, 0.1), "cells"),
    (lambda: VoxelMap.from_array(SOLID * 1.0, 0.1), "cells"),
    (lambda: VoxelMap.from_array(SOLID + 1, 0.1), None, EMPTY),
    (lambda: VoxelMap.from_array(SOLID, -1.0), "resolution"),
    (lambda: VoxelMap.from_array(SOLID, 0.1).cast([0, 0, 0], [0, 0, 0]), "directions"),
    (lambda: VoxelMap.from_array(SOLID, 0.1).cast([0, 0, 0], [1, 0, 0], maximum=0.0), "maximum"),
    (lambda: VoxelMap.from_array(SOLID, 0.1).contains([0.0, 0.0]), "points"),
    (lambda: VoxelMap.from_points(np.zeros((99, 3)), 0.1), None, EMPTY),
    (lambda: VoxelMap.from_points(np.full((100, 3), np.nan), 0.1), "points"),
    (lambda: VoxelMap.from_points(np.zeros((100, 2)), 0.1), "points"),
    (lambda: VoxelMap.from_points(CLOUD * 2010 / 297, 0.1), None, LARGE),
    (lambda: VoxelMap.from_points(ends(1.7e308), 0.1), None, LARGE),
    (lambda: VoxelMap.from_points(np.tile([1e25, 0.0, 1.0], (100, 1)), 0.1), None, LARGE),
    (lambda: VoxelMap.from_points(CLOUD, 0.01), "resolution", LARGE),
    (lambda: VoxelMap.from_points(CLOUD, 0.1, rest=Cell.UNKNOWN), "resolution", LARGE),
    (lambda: VoxelMap.from_points(CLOUD, 0.1).cells, "resolution", LARGE),
    (lambda: VoxelMap.from_points(CLOUD, 0.1, min_points=0), "min_points"),
]


@pytest.mark.parametrize(
    ("make", "field", "code"), [(*row, INVALID)[:3] for row in (*CELLS, *WALLS, *MESHES, *VOXELS)]
)
def test_what_makes_no_sense_is_refused(make, field, code):
    with refused(field, code):
        make()


def test_what_is_just_within_the_limits_is_no_error():
    assert VoxelMap.from_points(np.zeros((100, 3)), 0.1).resolution == 0.1
    assert VoxelMap.from_points(CLOUD * 1999 / 297, 5.0).resolution == 5.0
    assert mapped(share=1.0).resolution == 0.05
    assert cells(np.zeros((1, 1), int)).cast([0.5, 0.5], [1, 0]).ranges == 0.5
    assert office_floor(0, length=15.0, rows=2).plan.free.area > 100.0
    assert Pose() == cells(FLAT).origin
