"""ROS maps: what every kind of image means, and exact round trips."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.support.reference_ros_map import (
    FREE,
    GREYS,
    OCCUPIED,
    UNKNOWN,
    expected,
    slow_cell,
    write_pgm,
    write_yaml,
)

from isovist import OccupancyMap, Pose, read_map, write_map


@pytest.mark.slow
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
    origin=st.tuples(*2 * [st.floats(-1e6, 1e6)], st.floats(-6.28, 6.28)),
)
def test_what_is_written_reads_back_the_same(tmp_path_factory, cells, resolution, origin):
    cells = np.array(cells, dtype=np.uint8)
    cells[0, 0] = FREE
    path = tmp_path_factory.mktemp("round") / "plan.yaml"
    write_map(OccupancyMap(cells, resolution, Pose(*origin)), path)
    world = read_map(path)
    assert world.cells.tolist() == cells.tolist()
    assert world.resolution == resolution
    assert world.origin == Pose(*origin)
    assert sorted(p.name for p in path.parent.iterdir()) == ["plan.pgm", "plan.yaml"]


def test_the_first_row_of_the_image_is_the_highest(tmp_path):
    write_pgm(tmp_path)
    world = read_map(write_yaml(tmp_path))
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
        assert read_map(write_yaml(tmp_path)).cells.tolist() == wanted
    for header in (b"P5\n# CREATOR: map 0.05 m/pix\n4 2\n255\n", b"P5 4 2 #c\n255\n"):
        (tmp_path / "map.pgm").write_bytes(header + GREYS.tobytes())
        assert read_map(write_yaml(tmp_path)).cells.tolist() == wanted


@pytest.mark.parametrize("white", [1, 15, 100, 255, 256, 1000, 65535])
def test_white_is_what_the_header_says(tmp_path, white):
    levels = np.linspace(0, white, 24).round().astype(int).reshape(4, 6)
    fields = {"occupied_thresh": 0.65, "free_thresh": 0.2, "negate": 0}
    wanted = [[slow_cell([int(v)], white, fields) for v in row] for row in levels][::-1]
    text = f"P2 6 4 {white}\n" + " ".join(str(v) for v in levels.ravel())
    (tmp_path / "map.pgm").write_text(text)
    assert read_map(write_yaml(tmp_path, free_thresh=0.2)).cells.tolist() == wanted
    data = levels.astype(np.uint8 if white < 256 else ">u2").tobytes()
    (tmp_path / "map.pgm").write_bytes(f"P5 6 4 {white}\n".encode() + data)
    assert read_map(write_yaml(tmp_path, free_thresh=0.2)).cells.tolist() == wanted


@pytest.mark.parametrize("mode", ["trinary", "scale", "raw"])
@pytest.mark.parametrize("negate", [0, 1, "true", "no"])
def test_every_grey_of_every_mode_is_as_the_slow_twin_says(tmp_path, mode, negate):
    greys = np.arange(256, dtype=np.uint8).reshape(16, 16)
    write_pgm(tmp_path, greys)
    world = read_map(write_yaml(tmp_path, mode=mode, negate=negate))
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

    def twin(pixel):
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
    world = read_map(write_yaml(tmp_path, image="map.png", mode=mode))
    assert world.cells.tolist() == wanted


def test_a_colour_declared_transparent_is_unknown_in_scale_mode(tmp_path):
    image = Image.fromarray(np.array([[255, 254, 0]], dtype=np.uint8))
    image.save(tmp_path / "map.png", transparency=254)
    world = read_map(write_yaml(tmp_path, image="map.png", mode="scale"))
    assert world.cells.tolist() == [[FREE, UNKNOWN, OCCUPIED]]


@pytest.mark.parametrize("suffix", ["bmp", "tiff", "ppm"])
def test_other_images_are_read_too(tmp_path, suffix):
    Image.fromarray(np.stack(3 * [GREYS], axis=-1)).save(tmp_path / f"map.{suffix}")
    world = read_map(write_yaml(tmp_path, image=f"map.{suffix}"))
    assert world.cells.tolist() == expected(GREYS)


def test_numbers_may_be_written_as_map_server_takes_them(tmp_path):
    write_pgm(tmp_path)
    world = read_map(write_yaml(tmp_path, resolution="5e-2", origin="[1e1, -3, 3.14]"))
    assert world.resolution == 0.05
    assert world.origin == Pose(10.0, -3.0, 3.14)
