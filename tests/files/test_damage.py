"""Files that are damaged, cut off, or mean no good: one table.

Each row is a file, or what is changed in a sound one, with the code and the field of the error.
Nothing hangs, nothing else is opened, and no memory is taken for what a header announces.
"""

import bz2
import gzip
import io
import os
import struct
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.support.atlas_parts import change_part
from tests.support.bag_writer import FORMATS, cloud, link, odometry, quaternion, scan, write_bag
from tests.support.cloud_writer import laid_out
from tests.support.errors import refused
from tests.support.reference_ros_map import write_pgm, write_yaml
from tests.support.sites import SITES
from tests.support.small_files import (
    ODOM,
    box,
    feature,
    flaser,
    laid,
    las,
    laser_scan,
    npz,
    off_floor,
    pcd,
    plan,
    png,
    robotlaser,
    scan_set,
)  # fmt: skip
from tests.support.space_writer import POINTS, octree, ply

import isovist as iv

NO_FORMAT, LARGE = ("unknown_format",), ("too_large",)
HOST = "ROBOTLASER1 0 {} 2 {} 30 0.01 0 1 1.0 0\n"
SQUARE = [[0, 0], [6, 0], [6, 4], [0, 4], [0, 0]]
INSIDE = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]


def refuse(read, path, code="invalid_file", field=None, kind=iv.FileError):
    """Expect that a file is refused; the error."""
    with refused(field, code, kind) as caught:
        read(path)
    assert str(caught.value).isprintable()
    return caught.value


def text_of(**changes):
    """A PLY cloud in which some words are others."""

    def write(path):
        text = ply("ascii").decode()
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)

    return write


# Meshes, clouds and trees

OCTREE, HEAD = octree("fo.ffof."), b"# Octomap OcTree binary file\n"
STL = """solid\nfacet normal zero 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0
vertex 0 1 0\nendloop\nendfacet\nendsolid\n"""
PCD = "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 {}\nWIDTH 1\nHEIGHT 1\n"
PCD += "VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 1\nDATA ascii\n1 2 3\n"
MM = "0 0 0\n5000 4000 2500\n" * 60
RES = "invalid_file", "res"


def glb(path):
    """Write a mesh of 10¹⁶ corners, none of which are in the file."""
    told = {
        "asset": {"version": "2.0"}, "bufferViews": [], "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 4}]}],
        "accessors": [{"componentType": 5126, "count": 10**16, "type": "VEC3",
                       "min": [0, 0, 0], "max": [1, 1, 1]}],
    }  # fmt: skip
    laid(path, told)
    text = path.read_bytes()
    text += b" " * (-len(text) % 4)
    size = 20 + len(text)
    path.write_bytes(struct.pack("<4sIIII", b"glTF", 2, size, len(text), 0x4E4F534A) + text)


SPACE = [
    ("map.bmp", "x", *NO_FORMAT),
    ("three.xyz", "0 0 0\n1 1 1\n2 2 2\n"),
    ("mm.xyz", MM),
    ("wide.xyz", lambda path: np.savetxt(path, np.concatenate([POINTS, [[1e300, 0, 0]]]))),
    ("words.xyz", "a b c\n", *NO_FORMAT),
    ("bytes.xyz", b"\xff\xfe1 2 3\n", *NO_FORMAT),
    ("two.xyz", "1 2\n3 4\n"),
    ("odd.bin", "123"),
    ("not.ply", "hello", *NO_FORMAT),
    ("endless.ply", "ply\nformat ascii 1.0\n", *NO_FORMAT),
    ("strange.ply", "ply\nformat ascii 1.0\nelement vertex many\nend_header\n"),
    ("type.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty foo x\nend_header\n"),
    ("early.ply", "ply\nformat ascii 1.0\nproperty float x\nend_header\n"),
    ("form.ply", "ply\nformat roman 1.0\nelement vertex 1\nend_header\n"),
    ("negative.ply", "ply\nformat ascii 1.0\nelement vertex -1\nend_header\n"),
    ("none.ply", "ply\nformat ascii 1.0\nend_header\n", "empty"),
    ("zero.ply", text_of(count=("vertex 150", "vertex 0")), "empty"),
    ("names.ply", text_of(y=("float y", "float x"))),
    ("list.ply", text_of(x=("property float x", "property list uchar int x"))),
    ("before.ply", text_of(v=("element vertex", "element tag 1\nproperty list uchar int k\n"
                              "element vertex"))),
    ("words.ply", text_of(word=("-", "minus "))),
    ("short.ply", text_of(word=("float scalar", "float more\nproperty float scalar"))),
    ("flat.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
     "end_header\n1 2\n"),
    ("cut.ply", ply("binary_little_endian")[:-8]),
    ("cut_text.ply", ply("ascii")[:5000].rsplit(b"\n", 1)[0]),
    ("endless.pcd", PCD.format("4294967297"), *NO_FORMAT),
    ("digits.pcd", PCD.format(5000 * "9"), *NO_FORMAT),
    ("zero.pcd", PCD.format("4294967297\0"), *NO_FORMAT),
    ("many.pcd", PCD.format("999"), *NO_FORMAT),
    ("words.pcd", "no cloud"),
    ("words.las", 500 * "no cloud", *NO_FORMAT),
    ("short.las", b"LASF" + bytes(200), *NO_FORMAT),
    ("header.las", b"LASF" + bytes(21) + b"\4" + bytes(68) + b"\x77\1" + bytes(144), *NO_FORMAT),
    ("empty.stl", "solid x\nendsolid x\n", "empty"),
    ("nan.obj", "v 0 0 0\nv nan 1 0\nv 1 1 1\nf 1 2 3\n"),
    ("wide.obj", "v 0 0 0\nv 1e200 0 0\nv 0 1 0\nf 1 2 3\n"),
    ("cut.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"),
    ("cut.stl", 84 * b"\xff"),
    ("normals.stl", STL),
    ("memory.glb", glb, *LARGE),
    *[(f"{vertex}.ply", off_floor(vertex)) for vertex in (-1, 4)],
    *[(f"{vertex}_binary.ply", off_floor(vertex, "binary_little_endian")) for vertex in (-1, 4)],
    ("png.bt", "PNG", *NO_FORMAT),
    ("head.bt", HEAD + b"id OcTree\n", *NO_FORMAT),
    ("no_res.bt", HEAD + b"size 3\ndata\n12", *RES),
    ("back.bt", HEAD + b"size 3\nres -1\ndata\n12", *RES),
    ("inf.bt", HEAD + b"size 3\nres inf\ndata\n12", *RES),
    ("tiny.bt", OCTREE.replace(b"res 0.5", b"res 1e-300"), *RES),
    ("vast.bt", OCTREE.replace(b"res 0.5", b"res 1e9"), *RES),
    ("no_size.bt", HEAD + b"res 0.1\ndata\n12", "invalid_file", "size"),
    ("zero.bt", HEAD + b"size 0\nres 0.1\ndata\n", "empty"),
    ("bare.bt", HEAD + b"size 1\nres 0.1\ndata\n\0\0", "empty"),
    ("basis.bt", HEAD + b"id DirectionalBasis\nsize 1\nres 0.1\ndata\n\0\0", *NO_FORMAT),
    ("cut.bt", OCTREE[:-5]),
    ("long.bt", OCTREE + b"xy"),
    ("deep.bt", HEAD + b"size 99\nres 0.1\ndata\n" + b"\xff" * 64),
    ("nodes.bt", OCTREE.replace(b"size 97", b"size 2")),
    ("walls.bt", octree("oo......")),
    ("span.bt", HEAD + b"size 9\nres 0.1\ndata\n" + struct.pack("<H", 0x5555), *LARGE),
    ("cut.ot", octree("fo.ffof.", binary=False)[:-3]),
]  # fmt: skip


# Plans


def line(*points):
    return feature("LineString", [*points])


TYPE = "invalid_file", "type"
ROWS = "invalid_file", "coordinates"
SHINE = "invalid_file", "reflectance"
DEEP = 2500 * '{"type": "GeometryCollection", "geometries": [' + 2500 * "]}"
PLANS = {
    "list": ([1], *NO_FORMAT),
    "no type": ({"x": 1}, *NO_FORMAT),
    "type of a list": ({"type": ["Feature"]}, *TYPE),
    "type of a terminal": ({"type": "\x1b[2J"},),
    "point": (feature("Point", [1, 2]),),
    "one point": (line([0, 0]),),
    "no length": (line([1, 1], [1, 1]),),
    "two corners": (feature("Polygon", [[[0, 0], [1, 1], [0, 0]]]),),
    "no ring": (feature("Polygon", []),),
    "a number": (feature("LineString", 5), *ROWS),
    "nothing": (feature("MultiLineString", None), *ROWS),
    "one coordinate": (line([0, 0], [0]),),
    "a word": (line([0, 0], ["a", 1]),),
    "a truth": (line([0, 0], [True, 1]),),
    "nan": (line([0, 0], [np.nan, 1]),),
    "too far": (line([0, 0], [1, -1e99]),),
    "no feature": (plan(), "empty"),
    "features": ({"type": "FeatureCollection", "features": 1}, "invalid_file", "features"),
    "crossing": (feature("Polygon", [[[0, 0], [4, 4], [4, 0], [0, 4]]]),),
    "covered": (plan(feature("Polygon", [INSIDE]), feature("Polygon", [SQUARE], obstacle=True)),),
    "reflectance": (feature("Polygon", [SQUARE], reflectance="dark"), *SHINE),
    "true reflectance": (feature("Polygon", [SQUARE], reflectance=True), *SHINE),
    "vast reflectance": (feature("Polygon", [SQUARE], reflectance=1e10), *SHINE),
    "some reflectances": (
        plan(feature("Polygon", [SQUARE]), feature("Polygon", [INSIDE], reflectance=1)), *SHINE,
    ),
    "python": ("{'type': 1}", *NO_FORMAT),
    "deep": (DEEP, *NO_FORMAT),
    "bytes": (b"\xff\xfe\x00{", *NO_FORMAT),
}  # fmt: skip


# Scans and logs


def lying(path, *, shape="(100000000000,)", kind="<f8", version=1, data=bytes(80)):
    """An archive of an array whose header says what is not so."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    size = len(header).to_bytes(2 if version == 1 else 4, "little")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ranges.npy", b"\x93NUMPY" + bytes([version, 0]) + size + header + data)


def unpacked(path, size=(64 << 20) + 1):
    """An archive of zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ranges.npy", bytes(size))


def lying_directory(path):
    """An archive whose directory announces less than it holds."""
    data = io.BytesIO()
    np.save(data, np.zeros(1 << 20))
    size = len(data.getvalue())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ranges.npy", data.getvalue())
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", 200)))


def view(depth, **camera):
    """A depth image with the intrinsics beside it."""

    def write(path):
        laid(path, depth)
        if camera:
            laid(path.with_suffix(".json"), camera.get("text", camera))

    return write


def grey(size, kind):
    return lambda path: Image.fromarray(np.full(size, 90, kind)).save(path)


CAMERA = {"fx": 120.0, "fy": 120.0, "cx": 79.5, "cy": 59.5}
SCANS = [
    ("scan.txt", "1", *NO_FORMAT),
    ("list.json", "[1, 2]"),
    ("half.json", "{", *NO_FORMAT),
    ("deep.json", 100_000 * "[", *NO_FORMAT),
    ("bytes.json", b"\xff\xfe\x00{", *NO_FORMAT),
    ("one.csv", "0.1\n"),
    ("more.csv", "0.1,1\n0.2,1,5\n"),
    ("four.csv", "0.1,1,2,3\n"),
    ("bearing.csv", "0.1,1\nb,2\n"),
    ("range.csv", "0.1,1\n0.2,far\n"),
    ("names.csv", "bearing,range\n", "empty"),
    ("nan.csv", "nan,1\n"),
    ("turns.csv", "bearing,range\n-1e308,1\n1.7e308,1\n"),
    ("blind.csv", "0.1,\n"),
    ("bytes.csv", bytes(range(256)), *NO_FORMAT),
    ("nothing.npz", "PK no zip at all"),
    ("objects.npz", npz(ranges=np.array([{}], dtype=object))),
    ("lie.npz", lying),
    ("negative.npz", lambda path: lying(path, shape="(-1,)")),
    ("third.npz", lambda path: lying(path, version=3)),
    ("second.npz", lambda path: lying(path, version=2, shape="(11,)")),
    ("zeros.npz", unpacked, *LARGE),
    ("directory.npz", lying_directory),
    ("words.npz", npz(**laser_scan(ranges=["a", "b"])), "invalid_file", "ranges"),
    ("table.npz", npz(**laser_scan(ranges=np.ones((2, 2)))), "invalid_file", "ranges"),
    ("points.npz", npz(points=np.array(["far"] * 3)), "invalid_file", "points"),
    ("roll.npz", npz(points=np.ones((60, 3)), roll="x"), "invalid_file", "roll"),
    ("shine.npz", npz(points=POINTS, intensities=np.ones((2, 2))), "invalid_file", "intensities"),
    ("few.npz", npz(points=np.ones((3, 3)))),
    ("bare.npz", npz(depth=np.full((120, 160), 2000)), "invalid_file", "intrinsics"),
    ("bare.png", view(grey((120, 160), np.uint16)), "invalid_file", "intrinsics"),
    ("grey.png", view(grey((120, 160), np.uint8), **CAMERA)),
    ("camera.png", view(grey((120, 160), np.uint16), fx=1)),
    ("words.png", view(grey((120, 160), np.uint16), **{**CAMERA, "cx": "half"})),
    ("list.png", view(grey((120, 160), np.uint16), text=[1, 2])),
    ("long.png", view(grey((120, 160), np.uint16), text=" " * ((1 << 20) + 1)), *LARGE),
    ("none.png", view(b"no picture", **CAMERA), *NO_FORMAT),
    ("vast.png", view(png(30_000, 30_000, bytes(1 << 16), 16), **CAMERA), *LARGE),
    ("three.bin", np.ones((3, 4), "<f4").tobytes()),
]
FIELDS = [
    *[({name: "gone"}, name) for name in laser_scan()],
    ({"angle_min": "0"}, "angle_min"),
    ({"angle_min": True}, "angle_min"),
    ({"range_min": None}, "range_min"),
    ({"angle_increment": 0}, "angle_min"),
    ({"angle_min": np.nan}, "angle_min"),
    ({"angle_increment": np.inf}, "angle_min"),
    ({"angle_increment": 1e308}, None),
    ({"ranges": [1.0, "far"]}, "ranges"),
    ({"ranges": [1.0, True]}, "ranges"),
    ({"ranges": [[1.0], [2.0]]}, "ranges"),
    ({"ranges": 3.0}, "ranges"),
    ({"ranges": [10**400, 1]}, "ranges"),
    ({"ranges": []}, None, "empty"),
    ({"intensities": [1.0]}, None),
    ({"sigmas": "wide"}, "sigmas"),
    ({"range_min": 40.0}, None),
    ({"ranges": [0.0, None, 99.0]}, None),
]
PIECE = "FLASER 3 1.0 2.0 3.0 "
LOGS = [
    ("log.txt", "?", *NO_FORMAT),
    ("notes.log", "# nothing\n", *NO_FORMAT),
    ("odom.log", ODOM, *NO_FORMAT),
    ("param.log", "PARAM robot_frontlaser_offset nan 1.0 host 1.0\n"),
    ("most.log", "PARAM robot_front_laser_max far\n"),
    ("zero.log", "PARAM robot_front_laser_max 0 1 host 1\n" + flaser()),
    ("announced.log", "FLASER 180 1.0 2.0\n"),
    ("negative.log", "FLASER -3 1.0 2.0\n"),
    ("none.log", "FLASER 0 0 0 0 0 0 0 1 h 1\n"),
    ("other.log", flaser() + flaser([1.0, 2.0])),
    ("cut.log", PIECE + "0 0 0\n"),
    ("stamp.log", PIECE + "0 0 0 0 0 0\n"),
    ("word.log", "FLASER 3 1.0 far 3.0 0 0 0 0 0 0 1 h 1\n"),
    ("bare.log", "FLASER\n"),
    ("many.log", "FLASER many\n"),
    ("pose.log", flaser(laser=(1, 2, np.nan))),
    ("time.log", flaser(time=np.nan)),
    ("far.log", flaser(robot=(0, -1e300, 0))),
    ("raw.log", robotlaser([1.0, 2.0], "RAWLASER1")),
    ("start.log", HOST.format("-inf", 0.5)),
    ("step.log", HOST.format(-1.0, 1e300)),
    ("blind.log", flaser([0.0, 0.0]), "empty"),
    ("line.log", (1 << 20) * "x", *LARGE),
    ("message.log", "x\nFLASER 1" + (3 << 18) * " 1" + "\n", *LARGE),
    ("none.gz", "no archive"),
    ("cut.gz", gzip.compress(400 * flaser().encode())[:-9]),
    ("cut.bz2", bz2.compress(400 * flaser().encode())[:-9]),
    ("set.npz", scan_set("a_")),
    ("two.npz", scan_set(ranges_mm=np.ones((3, 3)))),
    ("nan.npz", scan_set(pose=np.full((3, 3), np.nan)), "invalid_file", "pose"),
    ("far.npz", scan_set(pose=np.full((3, 3), -1e300)), "invalid_file", "pose"),
    ("gone.npz", scan_set(pose=None), "invalid_file", "pose"),
    ("shape.npz", scan_set(pose=np.zeros((4, 3))), "invalid_file", "pose"),
    ("words.npz", scan_set(ranges_cm=np.array(["a", "b"])), "invalid_file", "ranges_cm"),
    ("no_scan.npz", scan_set(ranges_cm=np.zeros((0, 5)))),
    ("no_beam.npz", scan_set(ranges_cm=np.zeros((3, 0)))),
    ("step.npz", scan_set(angle_inc=0.0)),
    ("start.npz", scan_set(angle_min=np.inf), "invalid_file", "angle_min"),
    ("range.npz", scan_set(range_max=-1.0)),
    ("times.npz", scan_set(t=np.zeros(5)), "invalid_file", "t"),
    ("blind.npz", scan_set(ranges_cm=np.zeros((3, 3))), "empty"),
    ("no_odometry.npz", scan_set(odom=None)),
    ("no_times.npz", scan_set(t=None)),
]


@pytest.mark.parametrize(
    ("read", "name", "content", "expected"),
    [
        pytest.param(read, name, content, expected, id=f"{read.__name__}-{name}")
        for read, rows in (
            (iv.read_map, SPACE),
            (iv.read_map, [(f"{key}.geojson", *row) for key, row in PLANS.items()]),
            (iv.read_scan, SCANS),
            (iv.read_log, LOGS),
        )
        for name, content, *expected in rows
    ],
)
def test_a_damaged_file_is_refused_by_its_name(
    tmp_path, capfd, caplog, read, name, content, expected
):
    error = refuse(read, laid(tmp_path / name, content), *expected)
    assert name.partition(".")[0] in str(error)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("changes", "field", "code"), [(*row, "invalid_file")[:3] for row in FIELDS]
)
def test_a_bad_field_of_a_scan_is_named(tmp_path, changes, field, code):
    refuse(iv.read_scan, laid(tmp_path / "scan.json", laser_scan(**changes)), code, field)


# ROS maps and their images

HEADER = [
    *[({name: None}, name) for name in ("resolution", "negate", "origin", "free_thresh")],
    *[({"resolution": value}, "resolution") for value in
      (0, -0.05, "1e-9", 11, ".nan", "[1]", "true", "0x" + 5000 * "f")],
    ({"occupied_thresh": 0.1, "free_thresh": 0.9}, "free_thresh"),
    ({"free_thresh": 0.65}, "free_thresh"),
    ({"free_thresh": -0.1}, "free_thresh"),
    ({"occupied_thresh": 65}, "free_thresh"),
    ({"occupied_thresh": "most"}, "occupied_thresh"),
    *[({"origin": value}, "origin") for value in
      (7, "[1, 2]", "[1, 2, .inf]", "[0, -1.0e+300, 0]", "[0, 0, 45.0]", "[0, 0, -6.3]")],
    *[({"negate": value}, "negate") for value in (2, "maybe", 1.0)],
    ({"mode": "binary"}, "mode"),
    *[({"image": value}, "image") for value in (None, 7, '""', '"a\\0"', ".")],
    *[({"image": value}, "image", "not_found") for value in ("gone.pgm", 5000 * "x")],
]  # fmt: skip
YAML = {
    "tag": ("!!python/object/apply:os.system ['true']", *NO_FORMAT),
    "alias": ("a: &a [1]\nb: [*a, *a]\n", *NO_FORMAT),
    "words": ("just words", *NO_FORMAT),
    "deep": (500 * "[\n", *NO_FORMAT),
    "open": ("image: [map.pgm\n", *NO_FORMAT),
    "bytes": (b"image: \xff\xfe", *NO_FORMAT),
    "date": ("image: 2024-99-99", *NO_FORMAT),
    "long": (65_537 * " ", *LARGE),
}
IMAGES = {
    "many": (b"P5 40000 40000 255\n" + bytes(100), *LARGE),
    "cut": (b"P5 20000 20000 255\n" + bytes(100),),
    "cut by one": (b"P5 2 2 255\n\0\0\0",),
    "cut words": (b"P5 2 2 256\n\0\0\0\0\0\0\0",),
    "cut text": (b"P2 20000 20000 255\n" + 50 * b"1 ",),
    "cut text by one": (b"P2 2 2 255\n1 1 1 ",),
    "no width": (b"P5 0 7 255\n", "empty"),
    "no height": (b"P5 7 0 255\n", "empty"),
    "black": (b"P5 1 1 0\n\0",),
    "too white": (b"P5 1 1 65536\n\0\0",),
    "header": (b"P5 wide 7 255\n",),
    "above white": (b"P5 1 2 100\n\x05\xc8",),
    "negative": (b"P2 1 2 100\n5 -5",),
    "huge": (b"P2 1 2 100\n5 99999999999999999999",),
    "word": (b"P2 2 2 100\n5 5 5 ouch",),
    "more": (b"P2 2 2 100\n5 5 5 5 5",),
    "many of png": (png(40000, 40000, bytes(100)), *LARGE),
    "cut png": (png(20000, 20000, bytes(100)),),
    "few of png": (png(20, 20, bytes(100)),),
    "gif": (b"GIF89a......", *NO_FORMAT),
    "secret": (b"root:x:0:0", *NO_FORMAT),
    "no byte": (b"", "empty"),
}


@pytest.mark.parametrize(
    ("changes", "field", "code"), [(*row, "invalid_file")[:3] for row in HEADER]
)
def test_a_bad_field_of_a_ros_map_is_named(tmp_path, changes, field, code):
    write_pgm(tmp_path)
    refuse(iv.read_map, write_yaml(tmp_path, **{"image": "map.pgm", **changes}), code, field)


@pytest.mark.parametrize("name", YAML)
def test_hostile_yaml_makes_nothing(tmp_path, name):
    content, *expected = YAML[name]
    refuse(iv.read_map, laid(tmp_path / "map.yaml", content), *expected)


@pytest.mark.parametrize("name", IMAGES)
def test_a_bad_image_is_refused_and_takes_no_memory(tmp_path, name):
    content, *expected = IMAGES[name]
    laid(tmp_path / "map.img", content)
    path = write_yaml(tmp_path, image="map.img")
    tracemalloc.start()
    refuse(iv.read_map, path, *expected)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_tiff_of_numbers_with_a_point_and_a_map_without_a_free_cell_are_refused(tmp_path):
    path = write_yaml(tmp_path, image="map.tiff")
    Image.fromarray(np.ones((3, 3), np.float32)).save(tmp_path / "map.tiff")
    refuse(iv.read_map, path, *NO_FORMAT)
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(tmp_path / "map.tiff")
    refuse(iv.read_map, path, "empty")


@pytest.mark.parametrize("suffix", [".pgm", ".png"])
def test_an_image_that_no_memory_holds_is_refused_before_any_is_taken(
    tmp_path, suffix, monkeypatch
):
    path, held = write_yaml(tmp_path, image="map" + suffix), [12.0 * 2_000_000]
    Image.fromarray(np.full((1000, 2000), 255, np.uint8)).save(tmp_path / ("map" + suffix))
    monkeypatch.setattr("isovist.arrays.memory", lambda: held[0])
    assert iv.read_map(path).shape == (1000, 2000)
    held[0] -= 1.0
    refuse(iv.read_map, path)


# Headers of clouds that lie


@pytest.mark.parametrize("suffix", ["las", "laz"])
@pytest.mark.parametrize(
    ("at", "form", "value", "expected"),
    [
        (107, "<I", 2**31, ()),
        (96, "<I", 2**31, NO_FORMAT),
        (105, "<H", 0, NO_FORMAT),
        (100, "<I", 2**31, NO_FORMAT),
        (0, "4s", b"LASX", NO_FORMAT),
    ],
)
def test_a_las_header_that_lies_costs_nothing(tmp_path, suffix, at, form, value, expected):
    data = bytearray(laid(tmp_path / f"scan.{suffix}", las).read_bytes())
    struct.pack_into(form, data, at, value)
    refuse(iv.read_map, laid(tmp_path / f"scan.{suffix}", bytes(data)), *expected)


def test_extended_records_of_a_las_file_lie_in_it(tmp_path):
    data = bytearray(laid(tmp_path / "scan.las", las).read_bytes())
    data = data[:227] + bytes(148) + data[227:]
    data[25] = 4
    struct.pack_into("<H", data, 94, 375)
    struct.pack_into("<I", data, 96, struct.unpack_from("<I", data, 96)[0] + 148)
    for first, count, points in ((1 << 40, 1, 150), (0, 1 << 30, 150), (0, 0, 1 << 40)):
        struct.pack_into("<QIQ", data, 235, first, count, points)
        refuse(iv.read_map, laid(tmp_path / "scan.las", bytes(data)))
    struct.pack_into("<QIQ", data, 235, 0, 0, 150)
    assert iv.read_map(laid(tmp_path / "scan.las", bytes(data))).dimension == 3


@pytest.mark.slow
def test_chunks_and_points_of_a_laz_file_are_guarded(tmp_path):
    """The decoder ends the whole process where its chunks or points are damaged."""
    path = laid(tmp_path / "scan.laz", lambda path: las(path, np.tile(POINTS, (3, 1))))
    data = path.read_bytes()
    start = struct.unpack_from("<I", data, 96)[0]
    table = struct.unpack_from("<q", data, start)[0]
    for at, form, value in (
        (table + 4, "<I", 0xFFFFFFF0),
        (start, "<q", 1 << 40),
        (start, "<q", 0),
        (start, "<q", -1),
        (start + 200, "400s", b"\xff" * 400),
    ):
        damaged = bytearray(data)
        struct.pack_into(form, damaged, at, value)
        refuse(iv.read_map, laid(path, bytes(damaged)))
    piped = bytearray(data) + struct.pack("<q", table)
    struct.pack_into("<q", piped, start, -1)
    assert iv.read_map(laid(path, bytes(piped))).dimension == 3


# Bags

SITS = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(yaw=0.3), topic="/tf_static")
WAY = [odometry(10.0, (0.0, 0.0, 3.0)), odometry(12.0, (1.0, 2.0, -3.0))]
SEEN = [*WAY, scan(11.0)]
BOTH, LOG, SCAN = (iv.read_scan, iv.read_log), (iv.read_log,), (iv.read_scan,)
FRONT = [SITS, *WAY, scan(11.0, topic="/front"), scan(11.0, topic="/back")]
PLACE = "invalid_file", "T_robot_sensor"
CLOUD = POINTS.astype("<f4")
JUMP = [odometry(t, (x, 0, 0)) for t, x in ((10, 0), (10.5, 0.5), (10.52, 12.5), (12, 13))]
SHORT = laid_out(1.0, dict(zip("xyz", CLOUD.T, strict=True)), "ouster", rows=15)
SHORT[3]["data"] = SHORT[3]["data"][:-20]
TYPED = laid_out(1.0, dict(zip("xyz", CLOUD.T, strict=True)), "ouster")
TYPED[3]["fields"][0] = ("x", 0, 9)
NOTHING = [cloud(1.0, np.full((60, 3), np.nan)), cloud(1.1, np.zeros((60, 3)))]


def tilted(**turn):
    return link(0.0, "base", "laser", turn=quaternion(**turn), topic="/tf_static")


def linked(*at, turn=(0.0, 0.0, 0.0, 1.0)):
    return [link(0.0, "base", "laser", at or (0.0, 0.0, 0.0), turn), *SEEN]


def moving(*places, parent="base", turns=(0.0, 0.0)):
    links = zip((0.0, 1.0), places, turns, strict=True)
    return [link(t, parent, "laser", at, quaternion(pitch=turn)) for t, at, turn in links]


BAGS = {
    "no place": (BOTH, SEEN, *PLACE),
    "no place in odom": (SCAN, [link(1.0, "odom", "base"), scan(11.0)], *PLACE),
    "tilted": (BOTH, [tilted(pitch=0.5), *SEEN], *PLACE),
    "tilted a little": (BOTH, [tilted(pitch=0.09), *SEEN], *PLACE),
    "nods": (BOTH, [*moving((0, 0, 0), (0, 0, 0), turns=(0.0, 0.05)), *SEEN], *PLACE),
    "slides": (BOTH, [*moving((0, 0, 0), (0.03, 0, 0)), *SEEN], *PLACE),
    "two parents": (BOTH, [SITS, link(0.0, "mast", "laser"), *SEEN]),
    "no turn": (BOTH, linked(turn=(0.0, 0.0, 0.0, 0.0))),
    "no rotation": (BOTH, linked(turn=(0.0, 0.0, 0.0, 1.02))),
    "place of nan": (BOTH, linked(np.nan, 0.0, 0.0)),
    "place too far": (BOTH, linked(0.0, -1e300, 0.0)),
    "broken scan": (BOTH, [SITS, *WAY, scan(11.0, angle_min=np.nan)]),
    "no scan": (BOTH, [SITS, *WAY]),
    "no topic": (BOTH, []),
    "blind": (BOTH, [SITS, *WAY, scan(11.0, (9.0, 9.0, 9.0))], "empty"),
    "no odometry": (LOG, [scan(11.0)]),
    "no odom": (LOG, [SITS, scan(11.0)], "invalid_file", "odom"),
    "loop": (LOG, [link(0.0, "base", "laser"), link(0.0, "laser", "base"), scan(11.0)],
             "invalid_file", "odom"),
    "no message": (LOG, [SITS, ("/odom", "odometry", 0.0, None), scan(11.0)], "empty"),
    "no child": (LOG, [SITS, odometry(10.0, (0, 0, 0), ""), scan(10.0)], *PLACE),
    "two robots": (LOG, [SITS, *SEEN, odometry(11.0, (0, 0, 0), "cart")]),
    "two lasers": (LOG, [SITS, *SEEN, scan(11.0, frame="other")]),
    "turn of odometry": (LOG, [SITS, odometry(10.0, (0, 0, 0), turn=(0, 0, 0, 0)), scan(10.0)]),
    "vast turn": (LOG, [odometry(10.0, (0, 0, 0), turn=(1e300, 0, 0, 1)), scan(10.0)]),
    "odometry of inf": (LOG, [SITS, odometry(10.0, (np.inf, 0, 0)), scan(10.0)]),
    "odometry too far": (LOG, [SITS, odometry(10.0, (0, -1e300, 0)), scan(10.0)]),
    "jump": (LOG, [SITS, *JUMP, scan(10.6)]),
    "stamps": (LOG, [SITS, *SEEN, scan(11.5), scan(11.25)]),
    "clocks": (LOG, [SITS, *WAY, scan(100.0), scan(101.0)]),
    "early": (LOG, [SITS, *WAY, scan(9.9)]),
    "no field": (SCAN, [cloud(11.0, POINTS[:, :2], names="xz")], "invalid_file", "y"),
    "few points": (SCAN, [cloud(11.0, POINTS[:49])], "empty"),
    "no points": (SCAN, NOTHING, "empty"),
    "intensity": (SCAN, [cloud(11.0, np.full((60, 4), [1.0, 2.0, 3.0, np.nan]),
                               names=("x", "y", "z", "intensity"))]),
    "empty cloud": (SCAN, [cloud(11.0, POINTS[:0])], "empty"),
    "short cloud": (SCAN, [SHORT]),
    "type of a field": (SCAN, [TYPED]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BAGS)
def test_a_bag_that_makes_no_sense_is_refused(tmp_path, name):
    readers, messages, *expected = BAGS[name]
    path = write_bag(tmp_path, messages)
    for read in readers:
        assert path.name in str(refuse(read, path, *expected))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "messages", "options", "field", "code"),
    [
        *[(read, FRONT, {}, "scan_topic", "several_topics") for read in BOTH],
        *[(read, FRONT, {"scan_topic": "/odom"}, None, "invalid_value") for read in BOTH],
        (iv.read_log, [SITS, *SEEN], {"odometry_topic": "/wheels"}, None, "invalid_value"),
        (iv.read_scan, [SITS, *SEEN, scan(13.0)], {"at": 2.5}, "at", "invalid_value"),
        (iv.read_scan, [SITS, *SEEN], {"at": -1.0}, "at", "invalid_value"),
        (iv.read_scan, [SITS, *SEEN], {"at": np.nan}, "at", "invalid_value"),
        (iv.read_scan, [cloud(1.0, CLOUD), cloud(1.0, CLOUD, topic="/b")], {}, "scan_topic",
         "several_topics"),
        (iv.read_scan, [cloud(1.0, CLOUD), scan(1.0)], {"scan_topic": "/c"}, None, "invalid_value"),
        (iv.read_scan, [cloud(1.0, CLOUD), *WAY], {"scan_topic": "/c"}, None, "invalid_value"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_from_a_bag_is_said(tmp_path, read, messages, options, field, code):
    path = write_bag(tmp_path, messages)
    error = refuse(lambda bag: read(bag, **options), path, code, field, iv.InputError)
    if code == "several_topics":
        assert error.topics == tuple(sorted({m[0] for m in messages if m[1] in ("scan", "cloud")}))


@pytest.mark.slow
def test_a_bag_is_read_without_frames_that_are_in_disorder_where_its_place_is_said(tmp_path):
    for name in ("no place", "tilted", "nods", "two parents", "place of nan"):
        path = write_bag(tmp_path, BAGS[name][1], name=name)
        for read in BOTH:
            seen = read(path, T_robot_sensor=iv.Pose(0.5))
            assert (seen.T_robot_sensor, seen.frame) == (iv.Pose(0.5), "robot")


@pytest.mark.parametrize(
    ("read", "name", "content", "options", "field"),
    [
        (iv.read_scan, "scan.json", laser_scan(), {"scan_topic": "/scan"}, "scan_topic"),
        (iv.read_scan, "scan.json", laser_scan(), {"at": 0.0}, "scan_topic"),
        (iv.read_log, "run.log", flaser(), {"scan_topic": "/scan"}, "scan_topic"),
        (iv.read_log, "run.log", flaser(), {"odometry_topic": "/odom"}, "scan_topic"),
        (iv.read_log, "run.bag", "x", {"prefix": "nav_"}, "prefix"),
    ],
)
def test_options_of_other_kinds_of_files_are_refused(tmp_path, read, name, content, options, field):
    path = laid(tmp_path / name, content)
    refuse(lambda path: read(path, **options), path, "conflict", field, iv.InputError)


# What no reader may open, and what all must bear

READERS = [
    *[(iv.read_map, suffix) for suffix in (".yaml", ".geojson", ".bt", ".ply", ".obj", ".stl",
                                           ".glb", ".pcd", ".las", ".laz", ".bin", ".xyz")],
    *[(iv.read_scan, suffix) for suffix in (".json", ".npz", ".csv", ".png", ".bag")],
    *[(iv.read_log, suffix) for suffix in (".mcap", ".db3", ".log", ".gz", ".bz2", ".npz")],
]  # fmt: skip
every_reader = pytest.mark.parametrize(
    ("read", "suffix"), READERS, ids=[f"{r.__name__}{s}" for r, s in READERS]
)
pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")


@every_reader
def test_what_is_missing_or_empty_or_a_folder_is_said(tmp_path, read, suffix):
    path = tmp_path / f"it{suffix}"
    refuse(read, path, "not_found")
    refuse(read, laid(path, b""), "empty")
    path.unlink()
    path.mkdir()
    refuse(read, path, *NO_FORMAT)
    refuse(read, tmp_path / (300 * "x" + suffix), "file_not_readable")


@pipes
@every_reader
def test_a_pipe_is_not_opened_and_a_link_to_nowhere_leads_to_no_file(tmp_path, read, suffix):
    path = tmp_path / f"it{suffix}"
    path.symlink_to(tmp_path / "nowhere")
    refuse(read, path, "not_found")
    path.unlink()
    os.mkfifo(path)
    refuse(read, path, "file_not_readable")


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="no file that fails when it is read"
)
@every_reader
def test_a_file_that_cannot_be_read_is_said(tmp_path, read, suffix):
    (tmp_path / f"it{suffix}").symlink_to("/proc/self/mem")
    refuse(read, tmp_path / f"it{suffix}", "file_not_readable")


@every_reader
def test_a_name_that_is_no_text_is_printed_all_the_same(tmp_path, read, suffix):
    path = Path(os.fsdecode(os.fsencode(tmp_path / "\x1b[31m\n") + b"\xff" + suffix.encode()))
    try:
        path.write_bytes(b"\x00\x01 no such thing \xff")
    except OSError:
        pytest.skip("the file system has no such names")
    error = refuse_somehow(read, path)
    assert f"\\x1b[31m\\n\\udcff{suffix}" in str(error)


def refuse_somehow(read, path):
    """Expect an error of the file, whatever its code."""
    with pytest.raises(iv.FileError) as caught:
        read(path)
    assert caught.value.code in ("invalid_file", *NO_FORMAT, *LARGE, "empty")
    assert str(caught.value).isprintable()
    return caught.value


def tree(path):
    laid(path, octree("fo.ffof.", binary=path.suffix == ".bt"))


def image(path):
    write_yaml(path.parent, image=path.name)
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (30, 30), dtype=np.uint8)).save(path)


def table(path):
    np.savez_compressed(path, ranges=np.random.default_rng(0).random(500), **LIMITS)


LIMITS = laser_scan(ranges="gone", angle_increment=0.01)
WHOLE = {
    "map.png": image, "map.bmp": image, "map.tiff": image, "map.pgm": image,
    "cloud.ply": ply("binary_little_endian"), "text.ply": ply("ascii"), "cloud.pcd": pcd,
    "cloud.las": las, "cloud.laz": las, "tree.bt": tree, "tree.ot": tree,
    **{f"box.{kind}": box for kind in ("stl", "glb", "off", "ply")},
    "scan.npz": table, "scan.json": laser_scan(range_max=None),
    "log.npz": scan_set(), "log.gz": gzip.compress(flaser().encode()),
    "log.bz2": bz2.compress(flaser().encode()),
}  # fmt: skip
OF_KIND = {"scan": iv.read_scan, "log": iv.read_log}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_ends_anywhere_is_refused_and_one_with_odd_bytes_is_read_or_refused(
    tmp_path, name
):
    path = laid(tmp_path / name, WHOLE[name])
    data, random = path.read_bytes(), np.random.default_rng(7)
    read, opened = OF_KIND.get(name.partition(".")[0], iv.read_map), path
    if name.startswith("map"):
        opened = tmp_path / "map.yaml"
    read(opened)
    for size in np.linspace(1, 0.96 * len(data), 12).astype(int):
        path.write_bytes(data[:size])
        refuse_somehow(read, opened)
    if name == "cloud.laz":
        return  # each damaged one takes a process of its own
    for _ in range(12):
        odd = bytearray(data)
        for at in random.integers(len(data), size=3):
            odd[at] = random.integers(256)
        path.write_bytes(odd)
        with suppress(iv.FileError):
            read(opened)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_a_bag_that_ends_anywhere_is_refused(tmp_path, kind):
    path = write_bag(tmp_path, [SITS, *SEEN], kind)
    if kind != "bag":
        (path,) = [*path.glob("*.db3"), *path.glob("*.mcap")]
    data = path.read_bytes()
    for size in (5, 200, len(data) // 3, len(data) // 2):
        path.write_bytes(data[:size])
        for read in BOTH:
            assert path.name in str(refuse(read, path))
    refuse(iv.read_scan, laid(tmp_path / "noise.mcap", bytes(range(256))))


@pytest.mark.slow
def test_parts_of_a_folder_are_looked_at_before_they_are_opened(tmp_path):
    bag = write_bag(tmp_path, [scan(0.0), odometry(0.0, (0, 0, 0))], "mcap")
    atlas = tmp_path / "atlas"
    iv.write_atlas(SITES["plane"].atlas, atlas)
    metadata = bag / "metadata.yaml"
    kept = metadata.read_bytes()
    for path, readers in (
        (metadata, BOTH), (bag / "run.mcap", BOTH), (atlas / "manifest.json", (iv.read_atlas,))
    ):  # fmt: skip
        held = path.read_bytes()
        for read in readers:
            laid(path, b"")
            refuse(read, path.parent, "empty")
            if hasattr(os, "mkfifo"):
                path.unlink()
                os.mkfifo(path)
                refuse(read, path.parent, "file_not_readable")
                path.unlink()
        laid(path, held)
    for size, expected in (((1 << 20) + 1, LARGE), (1 << 20, ())):
        laid(metadata, kept + b"#" * (size - len(kept)))
        if expected:
            refuse(iv.read_scan, bag, *expected)
        else:
            assert iv.read_scan(bag, T_robot_sensor=iv.Pose()).frame == "robot"


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("nodes", lambda a: a.astype(np.float64)),
        ("nodes", lambda a: a + (1 << 40)),
        ("descriptors", lambda a: a[:1]),
        ("descriptors", lambda a: a * np.float32(np.nan)),
        ("wall_distance", lambda a: a.reshape(-1)),
        ("wall_distance", lambda a: np.where(a > 2.0, a, np.float32(1e38))),
        ("wall_distance", lambda a: a - np.float32(1.0)),
        ("clear", lambda a: np.full_like(a, 255)),
        ("bare", lambda a: a[:-1]),
        ("settings", lambda a: {**a, "channels": "x"}),
        ("settings", lambda a: {**a, "reach": 1e300}),
        ("spacing", lambda _: "x\x1b"),
        ("spacing", lambda _: 1e300),
        ("spacing", lambda _: None),
        ("spacing", None),
    ],
)
def test_an_atlas_whose_parts_do_not_fit_is_refused(tmp_path, site, name, change):
    iv.write_atlas(site.atlas, tmp_path / "atlas")
    change_part(tmp_path / "atlas", name, change)
    refuse(iv.read_atlas, tmp_path / "atlas", "not_found" if change is None else "invalid_file")


# What is odd and yet read


def test_a_mesh_opens_no_other_file_and_needs_no_picture(tmp_path, caplog):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "wood.mtl")
    wood = "mtllib wood.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl oak\nf 1 2 3\n"
    picture = off_floor(2).replace(b"1.0\n", b"1.0\ncomment TextureFile nowhere.png\n")
    for name, content in (("room.obj", wood), ("wall.ply", picture)):
        assert len(iv.read_map(laid(tmp_path / name, content)).faces) == 1
    assert caplog.records == []


def test_a_map_may_name_an_image_anywhere(tmp_path):
    (tmp_path / "maps").mkdir()
    write_pgm(tmp_path / "maps")
    for name in ("maps/map.pgm", f"../{tmp_path.name}/maps/map.pgm", tmp_path / "maps" / "map.pgm"):
        assert iv.read_map(write_yaml(tmp_path, image=str(name))).shape == (2, 4)
    if Path("/dev/zero").exists():
        refuse(iv.read_map, write_yaml(tmp_path, image="/dev/zero"), "invalid_file", "image")


def test_readings_beyond_all_measure_are_missing(tmp_path):
    seen = iv.read_log(laid(tmp_path / "log.log", flaser([1e308, 1e-308, 1.5]))).scan(0)
    assert seen.valid.tolist() == [False, False, True]
    points = np.ones((60, 3))
    points[0] = 1e-200
    assert len(iv.CloudScan(points).points) == 59


def test_damaged_numbers_of_clouds_are_missing_returns(tmp_path):
    data = bytearray(ply("binary_little_endian"))
    data[-16:-12] = b"\x01\x00\x80\x7f"  # a signalling NaN
    assert len(iv.read_scan(laid(tmp_path / "cloud.ply", bytes(data))).points) == len(POINTS) - 1
    rows = np.ones((120, 4), "<f4")
    rows.view("<u4")[0] = 0x7F800001
    assert len(iv.read_scan(laid(tmp_path / "cloud.bin", rows.tobytes())).points) == 119


def test_an_error_is_one_printable_line():
    text = str(iv.FileError("a\nb\x1b[0m\udcff\u202e" + 5000 * "x" + "end."))
    assert text.isprintable()
    assert text.startswith("a\\nb\\x1b[0m\\udcff\\u202ex")
    assert text.endswith("xend.")
    assert len(text) < 550
    assert str(iv.InputError("plain · ≤ 5°.")) == "plain · ≤ 5°."
