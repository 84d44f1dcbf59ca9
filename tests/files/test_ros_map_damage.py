"""ROS maps that are wrong, cut off or hostile: one clear line each."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image
from tests.support.reference_ros_map import write_pgm, write_yaml

from isovist import FileError, InputError, OccupancyMap, Pose
from isovist.io import read_ros_map, write_ros_map

BAD_FIELDS = [
    (
        {"resolution": None},
        "`resolution` is missing. A ROS map needs it in m per pixel, e.g. `resolution: 0.05`.",
    ),
    (
        {"image": None},
        "`image` is missing. A ROS map needs the name of its image, e.g. `image: office.pgm`.",
    ),
    (
        {"negate": None},
        "`negate` is missing. A ROS map needs `negate: 0`, or 1 when white is occupied.",
    ),
    (
        {"origin": None},
        "`origin` is missing. A ROS map needs x, y (m) and yaw (rad) of its lower left corner, "
        "e.g. `origin: [0.0, 0.0, 0.0]`.",
    ),
    (
        {"free_thresh": None},
        "`free_thresh` is missing. A ROS map needs the occupancy below which a cell is free, "
        "e.g. `free_thresh: 0.196`.",
    ),
    ({"resolution": 0}, "`resolution` must be from 0.001 to 10 m per pixel, got 0."),
    ({"resolution": -0.05}, "`resolution` must be from 0.001 to 10 m per pixel, got -0.05."),
    ({"resolution": "1e-9"}, "`resolution` must be from 0.001 to 10 m per pixel, got 1e-09."),
    ({"resolution": ".nan"}, "`resolution` must be a finite number, got nan."),
    ({"resolution": "[1]"}, "`resolution` must be a finite number, got [1]."),
    ({"resolution": "true"}, "`resolution` must be a finite number, got True."),
    (
        {"resolution": "0x" + 5000 * "f"},
        "`resolution` must be a finite number, got a huge integer.",
    ),
    (
        {"occupied_thresh": 0.1, "free_thresh": 0.9},
        "thresholds must satisfy 0 ≤ free_thresh < occupied_thresh ≤ 1, got 0.9 and 0.1.",
    ),
    (
        {"occupied_thresh": 65},
        "thresholds must satisfy 0 ≤ free_thresh < occupied_thresh ≤ 1, got 0.196 and 65.",
    ),
    ({"origin": "[1, 2]"}, "`origin` must be three numbers, x, y (m) and yaw (rad), got [1, 2]."),
    ({"origin": "[1, 2, .inf]"}, "`origin` must be a finite number, got inf."),
    ({"negate": 2}, "`negate` must be 0 or 1, got 2."),
    ({"negate": "maybe"}, "`negate` must be 0 or 1, got 'maybe'."),
    ({"mode": "binary"}, "`mode` must be trinary, scale or raw, got 'binary'."),
    ({"image": 7}, "`image` must name a file, got 7."),
]


@pytest.mark.parametrize(("changes", "text"), BAD_FIELDS)
def test_a_bad_field_is_named(tmp_path, changes, text):
    write_pgm(tmp_path)
    with pytest.raises(FileError) as error:
        read_ros_map(write_yaml(tmp_path, **{"image": "map.pgm", **changes}))
    assert str(error.value) == f"map.yaml: {text}"


BAD_YAML = [
    (
        "!!python/object/apply:os.system ['true']",
        "map.yaml is not plain YAML in line 1: could not determine a constructor for the tag "
        "'tag:yaml.org,2002:python/object/apply:os.system'.",
    ),
    ("a: &a [1]\nb: [*a, *a]\n", "map.yaml is not plain YAML: aliases are not allowed in it."),
    (
        "just words",
        "map.yaml is not a ROS map: it should be a list of `key: value` lines, got 'just words'.",
    ),
    (500 * "[\n", "map.yaml is not a ROS map: it is nested too deep."),
    (
        "image: [map.pgm\n",
        "map.yaml is not plain YAML in line 2: expected ',' or ']', but got '<stream end>'.",
    ),
    ("", "map.yaml is empty; a ROS map was expected."),
    (65_537 * " ", "map.yaml has 65537 bytes; a ROS map has at most 65536. Is it the right file?"),
]


@pytest.mark.parametrize(("text", "message"), BAD_YAML)
def test_hostile_yaml_is_one_line(tmp_path, text, message):
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(FileError) as error:
        read_ros_map(tmp_path / "map.yaml")
    assert str(error.value) == message


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """A grey PNG with that size in its header and those chunks after it."""
    head = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in (head, *chunks)
    )
    return b"\x89PNG\r\n\x1a\n" + body


BAD_IMAGES = [
    (
        b"P5 40000 40000 255\n" + bytes(100),
        "map.img announces 40000 × 40000 pixels; at most 400 million are read. Crop the map or "
        "make its cells larger.",
    ),
    (
        b"P5 20000 20000 255\n" + bytes(100),
        "map.img is cut off: 20000 × 20000 pixels take 400000000 bytes, but 100 follow its header.",
    ),
    (
        b"P2 20000 20000 255\n" + 50 * b"1 ",
        "map.img is cut off: 20000 × 20000 pixels take at least 799999999 characters, but 100 "
        "follow its header.",
    ),
    (b"P5 0 7 255\n", "map.img announces 0 × 7 pixels; a map needs some."),
    (b"P5 1 1 0\n\0", "map.img: white is 0 in its header; PGM allows 1 to 65535."),
    (
        b"P5 wide 7 255\n",
        "map.img has no sound PGM header. It should say P5 or P2, width, height and the value of "
        "white.",
    ),
    (b"P5 1 2 100\n\x05\xc8", "map.img has a pixel of 200, outside 0 to 100, its white."),
    (b"P2 1 2 100\n5 -5", "map.img has a pixel of -5, outside 0 to 100, its white."),
    (b"P2 1 2 100\n5 99999999999999999999", "map.img has a pixel of 9223372036854775807, "
        "outside 0 to 100, its white."),
    (b"P2 2 2 100\n5 5 5 ouch", "map.img has something among its pixels that is no number."),
    (b"P2 2 2 100\n5 5 5 5 5", "map.img has 5 pixels where its header says 4."),
    (
        png(40000, 40000, (b"IDAT", zlib.compress(bytes(100)))),
        "map.img announces 40000 × 40000 pixels; at most 400 million are read. Crop the map or "
        "make its cells larger.",
    ),
    (
        png(20000, 20000, (b"IDAT", zlib.compress(bytes(100)))),
        "map.img announces 20000 × 20000 pixels, more than its 57 bytes can hold.",
    ),
    (
        png(20, 20, (b"IDAT", zlib.compress(bytes(100)))),
        "map.img is a damaged image, or cut off.",
    ),
    (b"GIF89a......", "map.img starts with b'GIF8', like no known image. Save the map as PGM, "
        "PNG, BMP or TIFF."),
    (b"", "map.img is empty; an image was expected."),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD_IMAGES)
def test_a_bad_image_is_one_line_and_takes_no_memory(tmp_path, data, message):
    (tmp_path / "map.img").write_bytes(data)
    path = write_yaml(tmp_path, image="map.img")
    tracemalloc.start()
    with pytest.raises(FileError) as error:
        read_ros_map(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(error.value) == message
    assert peak < 5_000_000


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "pgm"])
def test_an_image_cut_off_anywhere_is_one_line(tmp_path, suffix):
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (30, 30), dtype=np.uint8))
    image.save(tmp_path / f"whole.{suffix}")
    data = (tmp_path / f"whole.{suffix}").read_bytes()
    path = write_yaml(tmp_path, image="cut")
    for size in range(1, len(data) - 20, 37):
        (tmp_path / "cut").write_bytes(data[:size])
        with pytest.raises(FileError) as error:
            read_ros_map(path)
        assert "\n" not in str(error.value)


def test_a_missing_image_is_named(tmp_path):
    with pytest.raises(FileError) as error:
        read_ros_map(write_yaml(tmp_path, image="gone.pgm"))
    assert str(error.value).startswith("map.yaml: `image` names '")
    assert str(error.value).endswith("gone.pgm', and there is no such file.")
    with pytest.raises(FileError, match="there is no such file"):
        read_ros_map(write_yaml(tmp_path, image=5000 * "x"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileError) as error:
        read_ros_map(tmp_path)
    assert str(error.value) == f"{tmp_path} is a folder, not a ROS map."
    with pytest.raises(FileError) as error:
        read_ros_map(tmp_path / "gone.yaml")
    assert str(error.value) == f"{tmp_path / 'gone.yaml'}: there is no such file."
    with pytest.raises(FileError, match=r"^map.yaml: `image` names .*, which is a folder\.$"):
        read_ros_map(write_yaml(tmp_path, image="."))


def test_a_map_without_a_free_cell_is_refused(tmp_path):
    write_pgm(tmp_path, np.zeros((3, 3), dtype=np.uint8))
    with pytest.raises(FileError) as error:
        read_ros_map(write_yaml(tmp_path))
    assert str(error.value) == (
        "map.yaml has no free cell: no pixel of map.pgm has an occupancy below `free_thresh` = "
        "0.196. Check the thresholds, `negate` and `mode`."
    )


def test_a_map_is_written_under_a_fitting_name_only(tmp_path):
    world = OccupancyMap(np.zeros((2, 2), dtype=np.uint8), 0.05, Pose())
    with pytest.raises(InputError) as error:
        write_ros_map(world, tmp_path / "map.pgm")
    assert str(error.value) == "A ROS map is written as .yaml or .yml, got 'map.pgm'."
    with pytest.raises(InputError) as error:
        write_ros_map(world, tmp_path / "map.yaml", image="png")
    assert str(error.value) == "`image` must be '.pgm' or '.png', got 'png'."
    with pytest.raises(FileError) as error:
        write_ros_map(world, tmp_path / "no" / "map.yaml")
    assert str(error.value) == (
        f"{tmp_path / 'no' / 'map.pgm'} cannot be written: No such file or directory."
    )


def test_an_origin_in_degrees_is_refused_with_the_likely_cause(tmp_path):
    (tmp_path / "map.pgm").write_bytes(b"P5 2 2 255\n\xff\xff\xff\xff")
    (tmp_path / "map.yaml").write_text(
        "image: map.pgm\nresolution: 0.05\norigin: [0.0, 0.0, 45.0]\n"
        "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"
    )
    with pytest.raises(FileError) as error:
        read_ros_map(tmp_path / "map.yaml")
    assert str(error.value) == (
        "map.yaml: the yaw of `origin` must be in rad, within ±2π, got 45. Is it in degrees?"
    )


@pytest.mark.parametrize("suffix", [".pgm", ".png"])
def test_an_image_that_no_memory_holds_is_refused_before_any_is_taken(
    tmp_path, suffix, monkeypatch
):
    path = write_yaml(tmp_path, image="map" + suffix)
    Image.fromarray(np.full((1000, 2000), 255, np.uint8)).save(tmp_path / ("map" + suffix))
    monkeypatch.setattr("isovist.types.memory", lambda: 2e6)
    with pytest.raises(FileError) as error:
        read_ros_map(path)
    assert str(error.value) == (
        f"map{suffix}: Reading an image of 2000 × 1000 pixels takes about 0.0 GB of memory, and "
        "this machine has 0.0 GB. Crop the map or make its cells larger."
    )
