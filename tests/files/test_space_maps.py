"""Maps and scans in space out of files: point clouds, OctoMaps and meshes."""

import struct

import numpy as np
import pytest
from tests.support.small_files import box, laid, las, pcd
from tests.support.space_writer import POINTS, VALUES, octree, ply

import isovist as iv
from isovist import read_map, read_scan

FREE, OCCUPIED, UNKNOWN = 0, 1, 2
CODES = {"f": FREE, "o": OCCUPIED, ".": UNKNOWN}


def same(scan, points=POINTS, values=VALUES):
    np.testing.assert_array_equal(scan.points, points)
    np.testing.assert_array_equal(scan.intensities, values)


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply_clouds_are_read_in_all_forms_and_meshes_are_told_from_them(tmp_path, form):
    path = laid(tmp_path / "cloud.ply", ply(form))
    same(read_scan(path))
    assert isinstance(read_map(path), iv.VoxelMap)
    # Another element before the vertices, and faces after them.
    whole = ply(form, faces=2)
    assert isinstance(read_map(laid(path, whole)), iv.MeshMap)
    same(read_scan(path))
    tag = b"element tag 2\nproperty short a\nproperty double b\nelement vertex"
    more = b"1 2\n3 4\n" if form == "ascii" else bytes(20)
    head, body = whole.replace(b"element vertex", tag, 1).split(b"end_header\n")
    same(read_scan(laid(path, head + b"end_header\n" + more + body)))


def test_kitti_and_pcd_clouds_are_scans(tmp_path):
    rows = np.c_[POINTS, VALUES].astype("<f4")
    same(read_scan(laid(tmp_path / "scan.bin", rows.tobytes())))
    # A missing return of an organised cloud is left out.
    seen = read_scan(laid(tmp_path / "scan.pcd", pcd))
    same(seen, np.delete(POINTS, 7, axis=0), np.delete(VALUES, 7))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["ply", "pcd", "bin", "xyz", "las", "laz"])
def test_every_cloud_becomes_a_map_of_cells(tmp_path, suffix):
    contents = {
        "ply": ply("ascii"),
        "pcd": pcd,
        "bin": np.c_[POINTS, VALUES].astype("<f4").tobytes(),
        "xyz": lambda path: np.savetxt(path, POINTS, fmt="%.17g", delimiter=", "),
    }
    world = read_map(laid(tmp_path / f"scan.{suffix}", contents.get(suffix, las)), resolution=0.25)
    assert world.resolution == 0.25
    points = np.delete(POINTS, 7, axis=0)  # the file with the missing return may lack it
    assert (world.cells.ravel()[world.index(points)] == OCCUPIED).all()
    assert np.count_nonzero(world.cells) == len(np.unique(world.index(points))) + (suffix != "pcd")
    assert (world.reflectance is None) == (suffix == "xyz")
    if suffix != "xyz":
        cells = world.index(POINTS)
        alone = np.flatnonzero(np.bincount(cells)[cells] == 1)
        alone = alone[alone != 7]
        np.testing.assert_allclose(world.reflectance[cells[alone]], VALUES[alone])


def walls(length, count):
    """Points on the floor and on two walls of a room."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.0, 1.0, (count, 3)) * [length, length, 3.0]
    face = rng.integers(3, size=count)
    p[np.arange(count), face] = 0.0
    return p


@pytest.mark.slow
def test_the_cells_of_a_cloud_suit_it_or_are_said(tmp_path, typed):
    path = laid(tmp_path / "room.xyz", lambda path: np.savetxt(path, walls(5.0, 20_000), "%.3f"))
    for more, side in (((), 0.1), (("--resolution", 0.2), 0.2)):
        assert not typed("build", path, "-o", tmp_path / str(side), *more)[0]
        assert iv.read_atlas(tmp_path / str(side)).world.resolution == side


@pytest.mark.parametrize("suffix", ["bt", "ot"])
def test_octomaps_are_read(tmp_path, suffix):
    world = read_map(laid(tmp_path / f"tree.{suffix}", octree("fo.ffof.", suffix == "bt")))
    assert world.resolution == 0.5
    assert world.shape == (2, 2, 2)
    np.testing.assert_array_equal(world.corner, [-0.5, -0.5, -0.5])
    # Bit 0 of an octant is x, bit 1 is y, bit 2 is z.
    assert world.cells.ravel().tolist() == [CODES[k] for k in "fo.ffof."]


def test_large_leaves_fill_their_block(tmp_path):
    # A root whose eight children are leaves would be too large: go down to a cube of 4 cells.
    body = 13 * struct.pack("<H", 3)  # the child with the smallest coordinates goes on
    body += struct.pack("<H", 0b0000000000000110)  # child 0 occupied, child 1 free
    header = b"# Octomap OcTree binary file\nid OcTree\nsize 16\nres 0.1\ndata\n"
    world = read_map(laid(tmp_path / "big.bt", header + body))
    assert world.shape == (4, 4, 8)
    assert (world.cells[:, :, :4] == OCCUPIED).all()
    assert (world.cells[:, :, 4:] == FREE).all()
    np.testing.assert_allclose(world.corner, -3276.8)


@pytest.mark.parametrize("suffix", ["ply", "obj", "stl", "off", "glb"])
def test_a_box_is_read_as_one_closed_surface(tmp_path, suffix):
    world = read_map(laid(tmp_path / f"box.{suffix}", box))
    assert len(world.vertices) == 8
    assert world.free == "inside"
    np.testing.assert_allclose(world.bounds, [[-1000, -1500, -2000], [1000, 1500, 2000]])


@pytest.mark.parametrize("name", ["reflectance", "intensity", "colour"])
def test_reflectance_of_faces_is_kept(tmp_path, name):
    text = (
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
        "property float z\nelement face 2\nproperty list uchar int vertex_indices\n"
        f"property float {name}\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
        "3 0 1 2 0.5\n3 0 1 3 0.75\n"
    )
    world = read_map(laid(tmp_path / "open.ply", text))
    assert world.free == "everywhere"
    if name == "colour":
        assert world.reflectance is None
    else:
        assert world.reflectance.tolist() == [0.5, 0.75]
