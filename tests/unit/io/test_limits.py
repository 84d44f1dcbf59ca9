"""How far parts of bags unpack, and limits of what is dropped on a page."""

import bz2

import lz4.frame
import numpy as np
import pytest
from rosbags.rosbag2 import reader
from tests.support.bag_writer import odometry, scan, write_bag
from tests.support.errors import refused

import isovist as iv
from isovist.apps import Shelf, receive
from isovist.io import bounded

ZSTD = reader.zstd
MOST = 10_000
WAYS = {
    "lz4": (lz4.frame.compress, lz4.frame.LZ4FrameDecompressor),
    "zstd": (ZSTD.compress, ZSTD.ZstdDecompressor),
    "bz2": (bz2.compress, bz2.BZ2Decompressor),
}


@pytest.fixture
def little(monkeypatch):
    """Parts of bags may have some kilobytes, and not a gigabyte."""
    monkeypatch.setattr("isovist.io.bag_limits.MOST", MOST)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("kind", WAYS)
def test_parts_of_bags_unpack_as_far_as_the_limit(kind):
    compress, make = WAYS[kind]
    unpack, whole = bounded(make), bytes(MOST)
    assert unpack(compress(whole), len(whole)) == whole
    assert unpack(compress(b"ab") + compress(b"c"), 3) == b"abc"
    for data in (compress(bytes(MOST + 1)), compress(bytes(MOST - 1)) + compress(b"ab")):
        with pytest.raises(ValueError, match=str(MOST)):
            unpack(data, MOST + 1)
    with pytest.raises(ValueError, match=r"^a part of it "):
        unpack(compress(np.random.default_rng(0).bytes(5000))[:-9], 5000)


@pytest.mark.slow
@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    ("kind", "pack"), [("bag", "bz2"), ("bag", "lz4"), ("sqlite3", "zstd"), ("mcap", "zstd")]
)
def test_a_bag_of_packed_parts_is_read_as_far_as_the_limit(tmp_path, kind, pack):
    for beams in (400, 4000):
        way = [odometry(t, (0.0, 0.0, 0.0)) for t in (0.0, 1.0)]
        path = write_bag(
            tmp_path,
            [*way, scan(0.5, beams * [1.0], angle_increment=0.001)],
            kind,
            f"run{beams}",
            pack=pack,
        )
        if beams == 400:
            assert len(iv.read_scan(path, T_robot_sensor=iv.Pose()).ranges) == beams
        else:
            with refused(code="invalid_file", kind=iv.FileError) as caught:
                iv.read_scan(path, T_robot_sensor=iv.Pose())
            assert str(MOST) in str(caught.value)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"scan.npz": b"PK\x03\x04" + bytes(60)}, "invalid_file"),
        ({"map.yaml": b"- " * 40_000, "map.pgm": b"P5"}, "too_large"),
        ({"a/metadata.yaml": b"#" * ((1 << 20) + 1), "a/a.mcap": b"x"}, "too_large"),
    ],
)
def test_what_is_dropped_on_the_page_has_the_same_limits(files, code):
    with refused(code=code, kind=iv.FileError):
        receive(Shelf(), files, "", lambda _share: None)
