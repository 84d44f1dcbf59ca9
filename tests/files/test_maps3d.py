"""Files of space: meshes, point clouds and OctoMaps, and what is said of bad ones."""

import struct

import numpy as np
import pytest
from tests.support.space_writer import POINTS, VALUES, octree, ply

from isovist import FileError, InputError, read_map
from isovist.io import has_faces, read_cloud, read_octomap
from isovist.maps import Cell


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("faces", [0, 2])
def test_ply_clouds_are_read_in_all_forms(tmp_path, form, faces):
    path = tmp_path / "cloud.ply"
    path.write_bytes(ply(form, faces))
    cloud = read_cloud(path)
    np.testing.assert_array_equal(cloud.points, POINTS)
    np.testing.assert_array_equal(cloud.intensities, VALUES)
    assert has_faces(path) == (faces > 0)


def test_kitti_and_text_clouds_are_read(tmp_path):
    np.c_[POINTS, VALUES].astype("<f4").tofile(tmp_path / "scan.bin")
    cloud = read_cloud(tmp_path / "scan.bin")
    np.testing.assert_array_equal(cloud.points, POINTS)
    np.testing.assert_array_equal(cloud.intensities, VALUES)
    np.savetxt(tmp_path / "scan.xyz", POINTS, fmt="%.17g")
    cloud = read_cloud(tmp_path / "scan.xyz")
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.intensities is None


def test_pcd_clouds_are_read(tmp_path):
    pypcd4 = pytest.importorskip("pypcd4")
    table = np.c_[POINTS, VALUES].astype(np.float32)
    table[7, 1] = np.nan  # a missing return of an organised cloud
    pypcd4.PointCloud.from_xyzi_points(table).save(tmp_path / "scan.pcd")
    cloud = read_cloud(tmp_path / "scan.pcd")
    np.testing.assert_array_equal(cloud.points, np.delete(POINTS, 7, axis=0))
    np.testing.assert_array_equal(cloud.intensities, np.delete(VALUES, 7))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["las", "laz"])
def test_las_clouds_are_read(tmp_path, suffix):
    laspy = pytest.importorskip("laspy")
    if suffix == "laz":
        pytest.importorskip("lazrs")
    las = laspy.create()
    las.header.scales = [1e-4] * 3
    las.x, las.y, las.z = POINTS.T
    las.intensity = VALUES.astype(np.uint16)
    las.write(tmp_path / f"scan.{suffix}")
    cloud = read_cloud(tmp_path / f"scan.{suffix}")
    np.testing.assert_allclose(cloud.points, POINTS, atol=1e-4)
    np.testing.assert_array_equal(cloud.intensities, VALUES)


def test_a_cloud_in_millimetres_is_scaled_and_becomes_a_map(tmp_path):
    np.savetxt(tmp_path / "scan.xyz", POINTS * 1000.0)
    world = read_cloud(tmp_path / "scan.xyz", scale=0.001).voxels(0.5, rest=Cell.UNKNOWN - 2)
    assert (world.cells.ravel()[world.index(POINTS)] == Cell.OCCUPIED).all()


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("three.xyz", b"0 0 0\n1 1 1\n2 2 2\n",
         "three.xyz: A cloud needs at least 100 points to be a map, got 3."),
        ("mm.xyz", b"0 0 0\n5000 4000 2500\n" * 60,
         "mm.xyz: The cloud spans 5000 × 4000 × 2500 m. Is it in millimetres? Scale it to m "
         "(scale=0.001), or cut it to at most 2000 m."),
        ("words.xyz", b"a b c\n", "words.xyz is not rows of numbers x y z."),
        ("two.xyz", b"1 2\n3 4\n", "two.xyz has 2 columns; x, y and z are needed."),
        ("odd.bin", b"123", "odd.bin has 3 bytes; a KITTI scan has 16 for each point."),
        ("not.ply", b"hello", "not.ply is not a PLY file: it does not begin with `ply`."),
        ("endless.ply", b"ply\nformat ascii 1.0\n",
         "endless.ply is not a PLY file: its header does not end."),
        ("strange.ply", b"ply\nformat ascii 1.0\nelement vertex many\nend_header\n",
         "strange.ply: a line of its header is 'element vertex many'."),
        ("form.ply", b"ply\nformat roman 1.0\nelement vertex 1\nend_header\n",
         "form.ply: its numbers are in the form 'roman', not a PLY one."),
        ("none.ply", b"ply\nformat ascii 1.0\nend_header\n", "none.ply has no vertices."),
        ("flat.ply", b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n"
         b"property float y\nend_header\n1 2\n", "flat.ply has no column `z`."),
        ("cut.ply", ply("binary_little_endian")[:-8], "cut.ply is cut off: 149 of 150 vertices."),
        ("cut_text.ply", ply("ascii")[:5000].rsplit(b"\n", 1)[0],
         "cut_text.ply is cut off: 78 of 150 vertices."),
        ("scan.foo", b"1", "scan.foo: a point cloud is one of .ply, .pcd, .las, .laz, .bin (KITTI),"
         " .xyz."),
    ],
)  # fmt: skip
def test_bad_clouds_are_one_clear_line(tmp_path, name, content, text):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError) as error:
        read_cloud(tmp_path / name)
    assert str(error.value) == text


def test_a_scale_must_be_positive(tmp_path):
    with pytest.raises(InputError, match=r"^`scale` must be positive, in m per unit, got 0\.$"):
        read_cloud(tmp_path / "x.xyz", scale=0)


@pytest.mark.parametrize("binary", [True, False])
def test_octomaps_are_read(tmp_path, binary):
    path = tmp_path / ("tree.bt" if binary else "tree.ot")
    path.write_bytes(octree("fo.ffof.", binary))
    world = read_octomap(path)
    assert world.resolution == 0.5
    assert world.shape == (2, 2, 2)
    np.testing.assert_array_equal(world.corner, [-0.5, -0.5, -0.5])
    # Bit 0 of an octant is x, bit 1 is y, bit 2 is z.
    codes = {"f": Cell.FREE, "o": Cell.OCCUPIED, ".": Cell.UNKNOWN}
    assert world.cells.ravel().tolist() == [codes[k] for k in "fo.ffof."]


def test_large_leaves_fill_their_block(tmp_path):
    # A root whose eight children are leaves would be too large: go down to a cube of 4 cells.
    body = b""
    for _ in range(13):
        body += struct.pack("<H", 3)  # the child with the smallest coordinates goes on
    body += struct.pack("<H", 0b0000000000000110)  # child 0 occupied, child 1 free
    header = b"# Octomap OcTree binary file\nid OcTree\nsize 16\nres 0.1\ndata\n"
    (tmp_path / "big.bt").write_bytes(header + body)
    world = read_octomap(tmp_path / "big.bt")
    assert world.shape == (4, 4, 8)
    assert (world.cells[:, :, :4] == Cell.OCCUPIED).all()
    assert (world.cells[:, :, 4:] == Cell.FREE).all()
    np.testing.assert_allclose(world.corner, -3276.8)


GOOD = octree("fo.ffof.")
HEAD = b"# Octomap OcTree binary file\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"PNG", "tree.bt is not an OctoMap: it begins with b'PNG'."),
        (HEAD + b"id OcTree\n", "tree.bt is not an OctoMap: its header has no line `data`."),
        (HEAD + b"size 3\ndata\n12",
         "tree.bt: its header has no number `res`, the side of a cell in m."),
        (HEAD + b"size 3\nres -1\ndata\n12",
         "tree.bt: `res` must be a positive length in m, got -1.0."),
        (HEAD + b"res 0.1\ndata\n12", "tree.bt: its header has no number `size` of nodes."),
        (HEAD + b"size 0\nres 0.1\ndata\n", "tree.bt holds an empty tree."),
        (HEAD + b"size 1\nres 0.1\ndata\n\x00\x00", "tree.bt holds an empty tree."),
        (HEAD + b"id Rose\nsize 1\nres 0.1\ndata\n\x00\x00",
         "tree.bt: trees of kind 'Rose' are not read, only OcTree."),
        (GOOD[:-5], "tree.bt is cut off: the tree goes on after its 177 bytes."),
        (GOOD + b"xy", "tree.bt is corrupt: 2 bytes follow its tree."),
        (HEAD + b"size 99\nres 0.1\ndata\n" + b"\xff" * 64,
         "tree.bt is corrupt: its tree has more than 16 levels."),
        (GOOD.replace(b"size 97", b"size 2"),
         "tree.bt is corrupt: its tree has more than 2 nodes."),
        (octree("oo......"), "tree.bt: The map has no free cell, so there is nowhere to be."),
        (HEAD + b"size 9\nres 0.1\ndata\n" + struct.pack("<H", 0x5555),
         "tree.bt spans 65536 × 65536 × 65536 cells, and the most is 1073741824. Cut it first."),
    ],
)  # fmt: skip
def test_corrupt_octomaps_are_one_clear_line(tmp_path, content, text):
    (tmp_path / "tree.bt").write_bytes(content)
    with pytest.raises(FileError) as error:
        read_octomap(tmp_path / "tree.bt")
    assert str(error.value) == text


class TestMeshes:
    """Mesh files, where trimesh is installed."""

    @pytest.fixture(autouse=True)
    def trimesh(self):
        return pytest.importorskip("trimesh")

    @pytest.mark.parametrize("suffix", ["ply", "obj", "stl", "off", "glb"])
    def test_a_box_is_read_as_one_closed_surface(self, tmp_path, trimesh, suffix):
        from isovist.io import read_mesh

        path = tmp_path / f"box.{suffix}"
        trimesh.creation.box((2000.0, 3000.0, 4000.0)).export(path)
        world = read_mesh(path, scale=0.001)
        assert len(world.vertices) == 8
        assert world.free == "inside"
        np.testing.assert_allclose(world.bounds, [[-1, -1.5, -2], [1, 1.5, 2]])

    def test_reflectance_of_faces_is_kept(self, tmp_path):
        from isovist.io import read_mesh

        text = (
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
            "property float z\nelement face 2\nproperty list uchar int vertex_indices\n"
            "property float reflectance\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
            "3 0 1 2 0.5\n3 0 1 3 0.75\n"
        )
        (tmp_path / "open.ply").write_text(text)
        world = read_mesh(tmp_path / "open.ply")
        assert world.free == "everywhere"
        assert world.reflectance.tolist() == [0.5, 0.75]

    @pytest.mark.parametrize(
        ("name", "content", "text"),
        [
            ("empty.stl", b"solid x\nendsolid x\n",
             "empty.stl: the mesh is empty, it has no faces."),
            ("cloud.ply", ply("ascii"), "cloud.ply: the mesh is empty, it has no faces. "
             "It holds points: read it with `read_cloud`."),
            ("nan.obj", b"v 0 0 0\nv nan 1 0\nv 1 1 1\nf 1 2 3\n",
             "nan.obj: The mesh has 1 vertices that are not finite, the first is vertex 1. "
             "Remove them and their faces."),
            ("bad.ply", b"hello", "bad.ply is not a sound mesh file: Not a ply file!."),
            ("cut.off", b"OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "cut.off is not a sound "
             "mesh file: it announces 5 vertices and faces and has 4."),
            ("cut.stl", 84 * b"\xff", "cut.stl is not a sound mesh file: bytes stand where text "
             "was expected."),
            ("plan.dxf", b"0", "plan.dxf: a mesh is one of .ply, .obj, .stl, .off, .glb."),
        ],
    )  # fmt: skip
    def test_bad_meshes_are_one_clear_line(self, tmp_path, name, content, text):
        from isovist.io import read_mesh

        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileError) as error:
            read_mesh(tmp_path / name)
        assert str(error.value) == text

    def test_what_trimesh_only_logs_is_an_error_and_not_a_traceback(self, tmp_path, capfd, caplog):
        from isovist.io import read_mesh

        path = tmp_path / "normals.stl"
        path.write_text(
            "solid\nfacet normal zero 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
            "vertex 0 1 0\nendloop\nendfacet\nendsolid\n"
        )
        with pytest.raises(FileError) as error:
            read_mesh(path)
        text = "normals.stl is not a sound mesh file: failed to extract face_normals."
        assert str(error.value) == text
        assert capfd.readouterr() == ("", "")
        assert caplog.records == []

    def test_a_picture_on_the_walls_need_not_be_there(self, tmp_path, caplog):
        from isovist.io import read_mesh

        head = (
            "ply\nformat ascii 1.0\ncomment TextureFile nowhere.png\nelement vertex 3\n"
            "property float x\nproperty float y\nproperty float z\nelement face 1\n"
            "property list uchar int vertex_indices\nend_header\n"
        )
        (tmp_path / "wall.ply").write_text(f"{head}0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
        assert len(read_mesh(tmp_path / "wall.ply").faces) == 1
        assert caplog.records == []


@pytest.mark.parametrize("wrong", [-1, 4])
@pytest.mark.parametrize("form", ["ascii", "binary_little_endian"])
def test_a_face_that_names_a_vertex_the_file_lacks_is_refused(tmp_path, form, wrong):
    pytest.importorskip("trimesh")
    corners, face = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 1, wrong]
    path = tmp_path / "house.ply"
    rows = "".join(f"{x} {y} {z}\n" for x, y, z in corners)
    head = f"ply\nformat {form} 1.0\nelement vertex 4\n"
    head += "".join(f"property float {name}\n" for name in "xyz")
    head += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    if form == "ascii":
        path.write_text(head + rows + f"3 0 1 {wrong}\n")
    else:
        body = np.array(corners, "<f4").tobytes() + struct.pack("<Biii", 3, *face)
        path.write_bytes(head.encode() + body)
    with pytest.raises(FileError) as caught:
        read_map(path)
    assert str(caught.value) == (
        f"house.ply: a face names vertex {wrong}, and the vertices are 0 to 3. "
        "Repair the file, or export the mesh anew."
    )
