"""ROS maps: what every kind of image means, exact round trips, and hostile files."""

import struct
import tracemalloc
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from isovist.errors import FileError, InputError
from isovist.io.ros_map import read_ros_map, write_ros_map
from isovist.maps.occupancy import Cell, OccupancyMap
from isovist.poses import Pose

FREE, OCCUPIED, UNKNOWN = (int(c) for c in (Cell.FREE, Cell.OCCUPIED, Cell.UNKNOWN))
GREYS = np.array([[0, 89, 90, 127], [204, 205, 206, 255]], dtype=np.uint8)


def slow_cell(channels: list[int], white: int, fields: dict[str, object]) -> int:
    """The cell of one pixel by exact fractions, as the module says it."""
    brightness = Fraction(sum(channels), white * len(channels))
    occupied, free = Fraction(str(fields["occupied_thresh"])), Fraction(str(fields["free_thresh"]))
    if fields.get("mode") == "raw":
        percent = int(brightness * 255 + Fraction(1, 2))
        if percent > 100:
            return UNKNOWN
        occupancy = Fraction(percent, 100)
    else:
        occupancy = brightness if fields["negate"] else 1 - brightness
    if occupancy > occupied:
        return OCCUPIED
    return FREE if occupancy < free else UNKNOWN


def write_yaml(folder: Path, image: str = "map.pgm", **changes: object) -> Path:
    fields = {
        "image": image,
        "resolution": 0.05,
        "origin": "[-1.0, 2.0, 0.5]",
        "negate": 0,
        "occupied_thresh": 0.65,
        "free_thresh": 0.196,
        **changes,
    }
    path = folder / "map.yaml"
    path.write_text("".join(f"{k}: {v}\n" for k, v in fields.items() if v is not None))
    return path


def write_pgm(folder: Path, pixels: NDArray[np.uint8] = GREYS) -> Path:
    height, width = pixels.shape
    path = folder / "map.pgm"
    path.write_bytes(f"P5 {width} {height} 255\n".encode() + pixels.tobytes())
    return path


def expected(pixels: NDArray[np.uint8], white: int = 255, **fields: object) -> list[list[int]]:
    rule = {"occupied_thresh": 0.65, "free_thresh": 0.196, "negate": 0, **fields}
    grid = [[slow_cell([int(v)], white, rule) for v in row] for row in pixels]
    return grid[::-1]


@settings(deadline=None)
@given(
    cells=st.integers(1, 9).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from([0, 1, 2]), min_size=width, max_size=width),
            min_size=1,
            max_size=9,
        )
    ),
    resolution=st.floats(0.001, 10.0),
    origin=st.tuples(*3 * [st.floats(-1e6, 1e6)]),
    suffix=st.sampled_from([".pgm", ".png"]),
)
def test_what_is_written_reads_back_the_same(tmp_path_factory, cells, resolution, origin, suffix):
    cells = np.array(cells, dtype=np.uint8)
    cells[0, 0] = FREE
    path = tmp_path_factory.mktemp("round") / "plan.yaml"
    write_ros_map(OccupancyMap(cells, resolution, Pose(*origin)), path, image=suffix)
    world = read_ros_map(path)
    assert world.cells.tolist() == cells.tolist()
    assert world.resolution == resolution
    assert world.origin == Pose(*origin)
    assert sorted(p.name for p in path.parent.iterdir()) == [f"plan{suffix}", "plan.yaml"]


def test_the_first_row_of_the_image_is_the_highest(tmp_path):
    write_pgm(tmp_path)
    world = read_ros_map(write_yaml(tmp_path))
    assert world.cells.tolist() == [
        [UNKNOWN, UNKNOWN, FREE, FREE],
        [OCCUPIED, OCCUPIED, UNKNOWN, UNKNOWN],
    ]
    assert world.cells.dtype == np.uint8
    assert world.resolution == 0.05
    assert world.origin == Pose(-1.0, 2.0, 0.5)


def test_text_and_binary_pgm_with_comments_are_the_same(tmp_path):
    wanted = expected(GREYS)
    numbers = "\n".join(" ".join(str(v) for v in row) for row in GREYS)
    headers = ["P2\n# made\n4 2\n255\n", "P2 4\n# a\n# b\n2 255\n", "P2 4 2 255\n# late\n"]
    for header in headers:
        (tmp_path / "map.pgm").write_text(header + numbers)
        assert read_ros_map(write_yaml(tmp_path)).cells.tolist() == wanted
    for header in (b"P5\n# CREATOR: map 0.05 m/pix\n4 2\n255\n", b"P5 4 2 #c\n255\n"):
        (tmp_path / "map.pgm").write_bytes(header + GREYS.tobytes())
        assert read_ros_map(write_yaml(tmp_path)).cells.tolist() == wanted


@pytest.mark.parametrize("white", [1, 15, 100, 255, 256, 1000, 65535])
def test_white_is_what_the_header_says(tmp_path, white):
    levels = np.linspace(0, white, 24).round().astype(int).reshape(4, 6)
    fields = {"occupied_thresh": 0.65, "free_thresh": 0.2, "negate": 0}
    wanted = [[slow_cell([int(v)], white, fields) for v in row] for row in levels][::-1]
    text = f"P2 6 4 {white}\n" + " ".join(str(v) for v in levels.ravel())
    (tmp_path / "map.pgm").write_text(text)
    assert read_ros_map(write_yaml(tmp_path, free_thresh=0.2)).cells.tolist() == wanted
    data = levels.astype(np.uint8 if white < 256 else ">u2").tobytes()
    (tmp_path / "map.pgm").write_bytes(f"P5 6 4 {white}\n".encode() + data)
    assert read_ros_map(write_yaml(tmp_path, free_thresh=0.2)).cells.tolist() == wanted


@pytest.mark.parametrize("mode", ["trinary", "scale", "raw"])
@pytest.mark.parametrize("negate", [0, 1, "true", "no"])
def test_every_grey_of_every_mode_is_as_the_slow_twin_says(tmp_path, mode, negate):
    greys = np.arange(256, dtype=np.uint8).reshape(16, 16)
    write_pgm(tmp_path, greys)
    world = read_ros_map(write_yaml(tmp_path, mode=mode, negate=negate))
    assert world.cells.tolist() == expected(greys, mode=mode, negate=negate in (1, "true"))


@pytest.mark.parametrize("kind", ["RGB", "RGBA", "LA", "P", "1", "I;16", "L"])
@pytest.mark.parametrize("mode", ["trinary", "scale", "raw"])
def test_every_kind_of_png_is_as_the_slow_twin_says(tmp_path, kind, mode):
    random = np.random.default_rng(5)
    shape = {"RGB": (9, 7, 3), "RGBA": (9, 7, 4), "LA": (9, 7, 2)}.get(kind, (9, 7))
    pixels = random.integers(0, 256, shape, dtype=np.uint8)
    pixels[0, 0], pixels[0, 1] = 255, 0
    if kind in ("RGBA", "LA"):
        pixels[::2, :, -1] = 255
    if kind == "I;16":
        image = Image.fromarray(pixels.astype(np.uint16) * 257)
    elif kind == "1":
        image = Image.fromarray(pixels).convert("1")
        pixels = np.asarray(image.convert("L"))
    elif kind == "P":
        image = Image.fromarray(random.integers(0, 5, (9, 7), dtype=np.uint8))
        image.putpalette([0, 0, 0, 255, 255, 255, 200, 10, 20, 250, 240, 230, 90, 90, 80])
        pixels = np.asarray(image.convert("RGB"))
    else:
        image = Image.fromarray(pixels)
    image.save(tmp_path / "map.png")
    fields = {"occupied_thresh": 0.65, "free_thresh": 0.196, "negate": 0, "mode": mode}

    def twin(pixel: NDArray[np.uint8]) -> int:
        channels = [int(v) for v in np.atleast_1d(pixel)]
        if kind not in ("RGBA", "LA"):
            return slow_cell(channels, 255, fields)
        colour = channels[:-1] if kind == "RGBA" else 3 * channels[:1]
        if mode == "trinary":
            return slow_cell([*colour, channels[-1]], 255, fields)
        if mode == "scale" and channels[-1] < 255:
            return UNKNOWN
        return slow_cell(colour, 255, fields)

    wanted = [[twin(pixel) for pixel in row] for row in pixels][::-1]
    world = read_ros_map(write_yaml(tmp_path, image="map.png", mode=mode))
    assert world.cells.tolist() == wanted


def test_a_colour_declared_transparent_is_unknown_in_scale_mode(tmp_path):
    image = Image.fromarray(np.array([[255, 254, 0]], dtype=np.uint8))
    image.save(tmp_path / "map.png", transparency=254)
    world = read_ros_map(write_yaml(tmp_path, image="map.png", mode="scale"))
    assert world.cells.tolist() == [[FREE, UNKNOWN, OCCUPIED]]


@pytest.mark.parametrize("suffix", ["bmp", "tiff", "ppm"])
def test_other_images_are_read_too(tmp_path, suffix):
    Image.fromarray(np.stack(3 * [GREYS], axis=-1)).save(tmp_path / f"map.{suffix}")
    world = read_ros_map(write_yaml(tmp_path, image=f"map.{suffix}"))
    assert world.cells.tolist() == expected(GREYS)


def test_numbers_may_be_written_as_map_server_takes_them(tmp_path):
    write_pgm(tmp_path)
    world = read_ros_map(write_yaml(tmp_path, resolution="5e-2", origin="[1e1, -3, 3.14]"))
    assert world.resolution == 0.05
    assert world.origin == Pose(10.0, -3.0, 3.14)


def test_the_image_may_lie_elsewhere(tmp_path):
    (tmp_path / "maps").mkdir()
    write_pgm(tmp_path / "maps")
    assert read_ros_map(write_yaml(tmp_path, image="maps/map.pgm")).cells.shape == (2, 4)
    absolute = tmp_path / "maps" / "map.pgm"
    assert read_ros_map(write_yaml(tmp_path, image=str(absolute))).cells.shape == (2, 4)


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
    (
        {"origin": "[1, 2]"},
        "`origin` must be three numbers, x, y (m) and yaw (rad), got [1, 2].",
    ),
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
    (
        "a: &a [1]\nb: [*a, *a]\n",
        "map.yaml is not plain YAML: aliases are not allowed in it.",
    ),
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
    (
        65_537 * " ",
        "map.yaml has 65537 bytes; a ROS map has at most 65536. Is it the right file?",
    ),
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
    with pytest.raises(FileError, match="is a folder, not an image"):
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
