"""Small files that would unpack to more than any machine holds are refused before they do."""

import bz2
import io
import json
import struct
import sys
import zipfile
import zlib

import lz4.frame
import numpy as np
import pytest
from rosbags.rosbag2 import storage_mcap
from tests.support.bag_writer import odometry, scan, write_bag

import isovist as iv
from isovist import FileError
from isovist.apps import Shelf
from isovist.io import bag_limits, bags
from isovist.io.scans import depth
from isovist.io.scans import read as scans
from isovist.studio import uploads

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def told(read, path):
    with pytest.raises(FileError) as error:
        read(path)
    return str(error.value)


def png(width, height, bits=16):
    """A PNG of zeros, which pack well."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    body = zlib.compress(bytes(1 << 16))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def test_an_image_that_announces_too_much(tmp_path):
    (tmp_path / "view.png").write_bytes(png(30_000, 30_000))
    (tmp_path / "view.json").write_text(json.dumps({"fx": 1, "fy": 1, "cx": 1, "cy": 1}))
    assert told(iv.read_scan, tmp_path / "view.png") == (
        "view.png announces 30000 × 30000 pixels; a depth image has at most 64 million."
    )
    assert depth.MOST_PIXELS == 64_000_000
    fields = (
        "resolution: 0.05\norigin: [0, 0, 0]\nnegate: 0\noccupied_thresh: 0.6\nfree_thresh: 0.2"
    )
    (tmp_path / "map.yaml").write_text(f"image: view.png\n{fields}\n")
    assert told(iv.read_map, tmp_path / "map.yaml") == (
        "view.png announces 30000 × 30000 pixels; at most 400 million are read. Crop the map or "
        "make its cells larger."
    )


@pytest.mark.slow
def test_an_archive_of_arrays(tmp_path):
    array = np.zeros((scans.MAX_BYTES >> 3) + 1)
    np.savez_compressed(tmp_path / "scan.npz", ranges=array)
    assert (tmp_path / "scan.npz").stat().st_size < 100_000
    size = array.nbytes + 128
    assert told(iv.read_scan, tmp_path / "scan.npz") == (
        f"scan.npz unpacks to {size} bytes; a scan has at most {scans.MAX_BYTES}. "
        "Is it the right file?"
    )


def test_an_archive_whose_directory_lies_about_its_size(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        data = io.BytesIO()
        np.save(data, np.zeros(1 << 20))
        archive.writestr("ranges.npy", data.getvalue())
    content, size = bytearray(stream.getvalue()), struct.pack("<I", len(data.getvalue()))
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = struct.pack("<I", 200)
    (tmp_path / "scan.npz").write_bytes(content)
    assert told(iv.read_scan, tmp_path / "scan.npz") == (
        "scan.npz is not a sound .npz file: Bad CRC-32 for file 'ranges.npy'."
    )


@pytest.mark.parametrize(
    ("kind", "compress"),
    [("lz4", lz4.frame.compress), ("zstd", zstd.compress), ("bz2", bz2.compress)],
)
def test_parts_of_bags_unpack_as_far_as_the_limit(kind, compress, monkeypatch):
    bag_limits.limit_rosbags()
    from rosbags.rosbag1 import reader

    unpack = (reader.decompressors if kind == "bz2" else storage_mcap.DECOMPRESSORS)[kind]
    monkeypatch.setattr(bag_limits, "MOST", 10_000)
    whole = bytes(10_000)
    assert unpack(compress(whole), len(whole)) == whole
    assert unpack(compress(b"ab") + compress(b"c"), 3) == b"abc"
    with pytest.raises(ValueError, match=r"^a part of it unpacks to more than 10000 bytes$"):
        unpack(compress(bytes(10_001)), 10_001)
    with pytest.raises(ValueError, match=r"^a part of it is cut off$"):
        unpack(compress(np.random.default_rng(0).bytes(5000))[:-9], 5000)


@pytest.mark.slow
def test_a_bag_of_packed_chunks_is_refused_in_one_line(tmp_path, monkeypatch):
    from rosbags import rosbag1

    monkeypatch.setattr(bag_limits, "MOST", 500)
    plain = rosbag1.Writer.__init__

    def packed(self, path):
        plain(self, path)
        self.set_compression(rosbag1.Writer.CompressionFormat.BZ2)

    monkeypatch.setattr(rosbag1.Writer, "__init__", packed)
    messages = [
        odometry(0.0, (0.0, 0.0, 0.0)),
        scan(0.5, ranges=[1.0] * 400),
        odometry(1.0, (0,) * 3),
    ]
    path = write_bag(tmp_path, messages, "bag", "run")
    assert told(iv.read_log, path) == (
        "run.bag is no sound bag: a part of it unpacks to more than 500 bytes."
    )


def test_the_metadata_of_a_bag_has_a_limit(tmp_path):
    path = write_bag(tmp_path, [scan(0.5)], "mcap", "run")
    size = bags.MOST_METADATA + 1
    (path / "metadata.yaml").write_bytes(b"#" * size)
    assert told(iv.read_scan, path) == (
        f"run/metadata.yaml has {size} bytes; that of a bag has at most {bags.MOST_METADATA}. "
        "Is it the right file?"
    )


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"scan.npz": b"PK\x03\x04" + bytes(60)}, "scan.npz is not a sound .npz file: "),
        ({"map.yaml": b"- " * 40_000, "map.pgm": b"P5"}, "map.yaml has 80000 bytes; a ROS map has"),
        (
            {"a/metadata.yaml": b"#" * ((1 << 20) + 1), "a/a.mcap": b"x"},
            "a/metadata.yaml has 1048577",
        ),
    ],
)
def test_what_is_dropped_on_the_page_has_the_same_limits(files, text):
    with pytest.raises(FileError) as error:
        uploads.receive(Shelf(), files, "", lambda _share: None)
    assert str(error.value).startswith(text)


def test_a_map_may_name_an_image_anywhere_and_nothing_but_an_image_is_read(tmp_path):
    cells = np.zeros((4, 5), dtype=np.uint8)
    cells[0] = 1
    (tmp_path / "images").mkdir()
    (tmp_path / "maps").mkdir()
    iv.write_map(iv.OccupancyMap(cells, 0.1), tmp_path / "maps" / "a.yaml")
    (tmp_path / "maps" / "a.pgm").rename(tmp_path / "images" / "b.pgm")
    head = (tmp_path / "maps" / "a.yaml").read_text()
    for name in ("../images/b.pgm", str(tmp_path / "images" / "b.pgm")):
        (tmp_path / "maps" / "a.yaml").write_text(head.replace("a.pgm", name))
        assert (iv.read_map(tmp_path / "maps" / "a.yaml").cells == cells).all()
    (tmp_path / "secret").write_text("root:x:0:0")
    (tmp_path / "maps" / "a.yaml").write_text(head.replace("a.pgm", "../secret"))
    assert told(iv.read_map, tmp_path / "maps" / "a.yaml") == (
        "secret starts with b'root', like no known image. Save the map as PGM, PNG, BMP or TIFF."
    )


def test_a_dropped_map_may_name_no_file_of_this_machine(tmp_path):
    (tmp_path / "secret.pgm").write_bytes(b"P5\n1 1\n255\n\xfe")
    text = f"image: {tmp_path / 'secret.pgm'}\nresolution: 0.05\n"
    with pytest.raises(FileError) as error:
        uploads.receive(Shelf(), {"map.yaml": text.encode()}, "", lambda _share: None)
    assert str(error.value) == ("map.yaml: its image 'secret.pgm' is missing. Drop both together.")
