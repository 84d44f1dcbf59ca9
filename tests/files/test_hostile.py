"""Files that mean no good: each is refused in one line that names it, and nothing hangs.

`python -m benchmarks.fuzz` looks for such files by the thousand; here is one of each kind of fault
that it found, and what no reader may open at all.
"""

import bz2
import gzip
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import shapely
from benchmarks.fuzz import seeds
from benchmarks.fuzz.readers import damage_file
from tests.support.bag_writer import link, odometry, scan, write_bag
from tests.support.sites import SITES
from tests.support.space_writer import POINTS, octree, ply

import isovist as iv
from isovist import FileError, InputError, IsovistError
from isovist.atlas import KIND, VERSION
from isovist.errors import one_line
from isovist.io import read_carmen, read_cloud, read_mesh, read_scan_set
from isovist.io.logs import carmen
from isovist.maps import split
from isovist.sensing import normals_of
from isovist.storage import MANIFEST, read_folder, write_folder

READERS = [
    (iv.read_map, ".yaml", "a ROS map"),
    (iv.read_map, ".geojson", "a GeoJSON plan"),
    (iv.read_map, ".bt", "an OctoMap"),
    (iv.read_map, ".ot", "an OctoMap"),
    (iv.read_map, ".ply", "a PLY file"),
    (iv.read_map, ".obj", "a mesh"),
    (iv.read_map, ".stl", "a mesh"),
    (iv.read_map, ".glb", "a mesh"),
    (iv.read_map, ".pcd", "a point cloud"),
    (iv.read_map, ".las", "a point cloud"),
    (iv.read_map, ".laz", "a point cloud"),
    (iv.read_map, ".bin", "a point cloud"),
    (iv.read_map, ".xyz", "a point cloud"),
    (iv.read_scan, ".json", "a scan"),
    (iv.read_scan, ".npz", "a scan"),
    (iv.read_scan, ".csv", "a scan"),
    (iv.read_scan, ".bag", "a bag"),
    (iv.read_log, ".mcap", "a bag"),
    (iv.read_log, ".db3", "a bag"),
    (iv.read_log, ".log", "a log"),
    (iv.read_log, ".gz", "a log"),
    (iv.read_log, ".npz", "a log"),
    (read_carmen, ".bz2", "a CARMEN log"),
    (read_scan_set, ".npz", "a set of scans"),
    (read_cloud, ".pcd", "a point cloud"),
    (read_mesh, ".off", "a mesh"),
]
every_reader = pytest.mark.parametrize(
    ("read", "suffix", "kind"), READERS, ids=[f"{r.__name__}{s}" for r, s, _ in READERS]
)


def said(read, path) -> str:
    with pytest.raises(IsovistError) as error:
        read(path)
    return str(error.value)


@every_reader
def test_what_is_no_file_is_not_opened(tmp_path, read, suffix, kind):
    path = tmp_path / f"it{suffix}"
    assert said(read, path) == f"{path}: there is no such file."
    path.symlink_to(tmp_path / "nowhere")
    assert said(read, path) == f"{path}: there is no such file."
    path.unlink()
    path.write_bytes(b"")
    assert said(read, path) == f"it{suffix} is empty; {kind} was expected."
    path.unlink()
    os.mkfifo(path)
    assert said(read, path) == f"{path} is not a regular file, so it cannot be {kind}."
    long = tmp_path / (300 * "x" + suffix)
    assert said(read, long) == f"{long} cannot be read: File name too long."


@every_reader
def test_what_may_not_be_read_is_said(tmp_path, monkeypatch, read, suffix, kind):
    del kind
    path = tmp_path / f"it{suffix}"
    path.write_bytes(b"something")

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert said(read, path) == f"{path} cannot be read: Permission denied."


@every_reader
def test_a_folder_is_not_a_file(tmp_path, read, suffix, kind):
    path = tmp_path / f"it{suffix}"
    path.mkdir()
    folder = "is a folder without metadata.yaml, so it is no ROS 2 bag."
    bags = read in (iv.read_scan, iv.read_log)
    assert said(read, path) == f"{path} {folder if bags else f'is a folder, not {kind}.'}"


@every_reader
def test_a_name_that_is_no_text_is_printed_all_the_same(tmp_path, read, suffix, kind):
    del kind
    path = Path(os.fsdecode(os.fsencode(tmp_path / "\x1b[31m\n") + b"\xff" + suffix.encode()))
    path.write_bytes(b"\x00\x01 no such thing \xff")
    text = said(read, path)
    assert text.isprintable()
    assert text.startswith(f"\\x1b[31m\\n\\udcff{suffix}")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (iv.read_map, "it.foo: a map is one of .yaml (ROS map with its image), "),
        (iv.read_scan, "it.foo has no suffix of a scan. Scans are read from "),
        (iv.read_log, "it.foo has no suffix of a log. Logs are read from "),
        (read_cloud, "it.foo: a point cloud is one of .ply, "),
        (read_mesh, "it.foo: a mesh is one of .ply, "),
    ],
)
def test_an_unknown_suffix_is_refused(tmp_path, read, text):
    (tmp_path / "it.foo").write_bytes(b"x")
    assert said(read, tmp_path / "it.foo").startswith(text)


def test_a_pipe_in_a_folder_is_not_opened(tmp_path):
    bag = write_bag(tmp_path, [scan(0.0), odometry(0.0, (0, 0, 0))], "mcap")
    for name in ("metadata.yaml", "run.mcap"):
        held = (bag / name).read_bytes()
        (bag / name).unlink()
        os.mkfifo(bag / name)
        text = f"{bag / name} is not a regular file, so it cannot be a part of a bag."
        assert said(iv.read_scan, bag) == said(iv.read_log, bag) == text
        (bag / name).unlink()
        (bag / name).write_bytes(held)
    atlas = tmp_path / "atlas"
    write_folder(atlas, KIND, VERSION, {}, {"nodes": np.arange(3)})
    (atlas / MANIFEST).unlink()
    os.mkfifo(atlas / MANIFEST)
    assert said(iv.read_atlas, atlas) == (
        f"{atlas / MANIFEST} is not a regular file, so it cannot be a manifest."
    )


def test_a_mesh_opens_no_other_file(tmp_path):
    pytest.importorskip("trimesh")
    os.mkfifo(tmp_path / "wood.mtl")
    path = tmp_path / "room.obj"
    path.write_text("mtllib wood.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl oak\nf 1 2 3\n")
    assert len(read_mesh(path).faces) == 1


def las(path, points=POINTS):
    laspy = pytest.importorskip("laspy")
    made = laspy.create()
    made.header.scales = [1e-4] * 3
    made.x, made.y, made.z = points.T
    made.write(path)
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("suffix", ["las", "laz"])
@pytest.mark.parametrize(
    ("at", "form", "value", "text"),
    [
        (107, "<I", 2**31, "is cut off: it announces 2147483648 points, more than its {0} bytes "
         "can hold."),
        (96, "<I", 2**31, "is not a LAS file: its header announces points of 34 bytes at byte "
         "2147483648 after {1} records, in a file of {0}."),
        (105, "<H", 0, "is not a LAS file: its header announces points of 0 bytes at byte {2} "
         "after {1} records, in a file of {0}."),
        (100, "<I", 2**31, "is not a LAS file: its header announces points of 34 bytes at byte "
         "{2} after 2147483648 records, in a file of {0}."),
        (0, "4s", b"LASX", "is not a LAS file: it does not begin with `LASF` and a header."),
    ],
)  # fmt: skip
def test_a_las_header_that_lies_costs_nothing(tmp_path, suffix, at, form, value, text):
    path = tmp_path / f"scan.{suffix}"
    data = las(path)
    start, records = struct.unpack_from("<II", data, 96)
    struct.pack_into(form, data, at, value)
    path.write_bytes(data)
    assert said(read_cloud, path) == f"scan.{suffix} {text.format(len(data), records, start)}"


def test_the_chunks_of_a_laz_file_are_counted(tmp_path):
    path = tmp_path / "scan.laz"
    data = las(path)
    start = struct.unpack_from("<I", data, 96)[0]
    table = struct.unpack_from("<q", data, start)[0]
    many, away = bytearray(data), bytearray(data)
    struct.pack_into("<I", many, table + 4, 0xFFFFFFF0)
    struct.pack_into("<q", away, start, 1 << 40)
    for damaged, text in (
        (many, f"it announces 4294967280 chunks in {len(data)} bytes."),
        (away, f"the table of its chunks is at byte 1099511627776 of {len(data)}."),
    ):
        path.write_bytes(damaged)
        assert said(read_cloud, path) == f"scan.laz is damaged: {text}"


@pytest.mark.slow
def test_damaged_points_of_a_laz_file_do_not_end_the_process(tmp_path):
    path = tmp_path / "scan.laz"
    las(path, np.random.default_rng(0).normal(size=(200, 3)))
    content = bytearray(path.read_bytes())
    start = struct.unpack_from("<I", content, 96)[0]
    content[start + 500 : start + 900] = b"\xff" * 400
    path.write_bytes(content)
    assert said(read_cloud, path).startswith("scan.laz is not a LAS file: ")


@pytest.mark.parametrize(
    ("count", "sum_"), [("4294967297", "4294967299"), (5000 * "9", "inf"), ("4294967297\0", "inf")]
)
def test_a_pcd_file_of_endless_columns_is_refused_at_once(tmp_path, count, sum_):
    path = tmp_path / "scan.pcd"
    head = f"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 {count}\nWIDTH 1\n"
    path.write_text(head + "HEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 1\nDATA ascii\n1 2 3\n")
    text = f"scan.pcd is not a PCD file: it announces {sum_} columns."
    assert said(read_cloud, path) == text


def flaser(count, beams=3):
    words = ["FLASER", beams, *[1.5] * beams, 0, 0, 0, 0, 0, 0, 1.0, "host", 1.0]
    return (count * (" ".join(map(str, words)) + "\n")).encode()


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2)])
def test_damaged_archives_are_one_line(tmp_path, suffix, pack):
    path = tmp_path / f"log.{suffix}"
    data = bytearray(pack.compress(np.random.default_rng(0).bytes(3000).hex().encode()))
    for k in range(60, len(data), 7):
        data[k] ^= 0xFF
    path.write_bytes(data)
    assert said(read_carmen, path).startswith(f"log.{suffix} cannot be unpacked: ")
    path.write_bytes(pack.compress(flaser(4))[:-20])
    assert said(read_carmen, path).startswith(f"log.{suffix} is cut off after line ")


@pytest.mark.slow
def test_a_long_log_of_short_lines_is_read_in_blocks_with_progress(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"x\n" * (2 << 20) + flaser(2) + b"y\n" * (1 << 20), 1))
    shares: list[float] = []
    log = read_carmen(path, progress=shares.append)
    assert len(log) == 2
    assert len(shares) == 7
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.slow
def test_the_number_of_a_line_is_right_across_blocks(tmp_path):
    path = tmp_path / "log.log"
    path.write_bytes(b"x\n" * 700_000 + flaser(1) + b"x\n" * 700_000 + b"FLASER far\n")
    assert said(read_carmen, path) == (
        "log.log, line 1400002: FLASER cannot be read: it is cut off or garbled."
    )


def test_what_a_log_may_hold_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(flaser(50)))
    monkeypatch.setattr(carmen, "MAX_NUMBERS", 100)
    assert said(read_carmen, path) == (
        "log.gz, line 12: FLASER cannot be read: more than 100 numbers stand before it. "
        "Cut the log."
    )
    monkeypatch.setattr(carmen, "MAX_BYTES", 1000)
    assert said(read_carmen, path) == (
        "log.gz unpacks to more than 1000 bytes, too long for a CARMEN log. Cut it into pieces."
    )


def test_times_and_angles_of_a_log_are_finite(tmp_path):
    path = tmp_path / "log.log"
    path.write_bytes(flaser(1).replace(b"1.0 host", b"nan host"))
    assert said(read_carmen, path) == (
        "log.log, line 1: FLASER cannot be read: its time must be finite, got nan."
    )
    path.write_text("ROBOTLASER1 0 -inf 2 0.5 30 0.01 0 1 1.0 0\n")
    assert said(read_carmen, path) == (
        "log.log, line 1: ROBOTLASER1 cannot be read: its angles must be in rad, got -inf and 0.5."
    )


@pytest.mark.slow
def test_poses_and_origins_beyond_all_measure_are_refused(tmp_path):
    path = tmp_path / "log.log"
    path.write_bytes(flaser(1).replace(b"1.5 0 0", b"1.5 1e300 0"))
    assert said(read_carmen, path) == (
        "log.log, line 1: FLASER cannot be read: a pose lies beyond 1e+18 m."
    )
    sets = {"ranges_m": np.ones((2, 9)), "angle_min": 0.0, "angle_inc": 0.1}
    np.savez(tmp_path / "set.npz", pose=np.full((2, 3), 1e300), **sets)
    assert said(read_scan_set, tmp_path / "set.npz") == "set.npz: `pose` has a value beyond ±1e+18."
    world = iv.OccupancyMap(np.zeros((4, 4), np.uint8), 0.1)
    iv.write_map(world, tmp_path / "map.yaml")
    text = (tmp_path / "map.yaml").read_text()
    (tmp_path / "map.yaml").write_text(text.replace("[0.0, 0.0, 0.0]", "[0.0, -1.0e+300, 0.0]"))
    assert said(iv.read_map, tmp_path / "map.yaml") == (
        "map.yaml: x and y of `origin` must lie within ±1e+18 m, got 0 and -1e+300."
    )
    far = [scan(1.0), odometry(0.0, (1e300, 0, 0)), odometry(2.0, (0, 0, 0))]
    log = lambda bag: iv.read_log(bag, T_robot_sensor=iv.Pose())  # noqa: E731
    assert said(log, write_bag(tmp_path, far)) == (
        "run.bag: the odometry has a value beyond ±1e+18."
    )
    tree = [scan(1.0), link(0.0, "odom", "laser", (1e300, 0, 0)), link(2.0, "odom", "laser")]
    assert said(iv.read_log, write_bag(tmp_path, tree, name="tree")) == (
        "tree.bag: the link from `odom` to `laser` has a value beyond ±1e+18."
    )


@pytest.mark.slow
def test_angles_and_turns_beyond_all_measure_are_refused(tmp_path):
    fields = {"angle_min": 0.0, "angle_increment": 1e308, "ranges": [1, 1, 1], "range_min": 0,
              "range_max": 9}  # fmt: skip
    (tmp_path / "scan.json").write_text(json.dumps(fields))
    assert said(iv.read_scan, tmp_path / "scan.json") == (
        "scan.json: `bearings` must be finite, got NaN or infinity."
    )
    turned = [scan(1.0), odometry(0.0, (0, 0, 0), turn=(1e300, 0, 0, 1))]
    assert said(iv.read_log, write_bag(tmp_path, turned)) == (
        "run.bag: /odom has a quaternion that is no rotation."
    )
    np.savetxt(tmp_path / "wide.xyz", np.concatenate([POINTS, [[1e300, 0, 0]]]))
    assert said(read_cloud, tmp_path / "wide.xyz").startswith("wide.xyz: The cloud spans 1e+300 × ")


def test_readings_beyond_all_measure_are_missing(tmp_path):
    path = tmp_path / "log.log"
    path.write_bytes(flaser(1) + flaser(1).replace(b"1.5 1.5 1.5", b"1e308 1e-308 1.5"))
    assert iv.read_log(path).scan(1).valid.tolist() == [False, False, True]
    points = np.ones((60, 3))
    points[0] = 1e-200
    assert len(iv.CloudScan(points).points) == 59


def test_damaged_numbers_of_clouds_are_missing_returns(tmp_path):
    data = bytearray(ply("binary_little_endian"))
    data[-16:-12] = b"\x01\x00\x80\x7f"  # a signalling NaN
    (tmp_path / "cloud.ply").write_bytes(data)
    assert len(read_cloud(tmp_path / "cloud.ply").points) == len(POINTS) - 1
    rows = np.zeros((120, 4), "<f4")
    rows.view("<u4")[0] = 0x7F800001
    rows.tofile(tmp_path / "cloud.bin")
    assert len(read_cloud(tmp_path / "cloud.bin").points) == 119


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": ["Feature"]}, "plan.geojson: `type` must be a word, got ['Feature']."),
        ({"type": "Polygon", "coordinates": [[[0, 0], [4, 4], [4, 0], [0, 4]]]},
         "plan.geojson: A polygon of the plan crosses itself: Self-intersection[2 2]."),
        ({"type": "\x1b[2J"}, "plan.geojson: a geometry must be a LineString, MultiLineString, "
         "Polygon or MultiPolygon, got '\\x1b[2J'."),
    ],
)  # fmt: skip
def test_bad_plans_are_named(tmp_path, content, text):
    path = tmp_path / "plan.geojson"
    path.write_text(json.dumps(content))
    assert said(iv.read_map, path) == text


def test_a_wall_that_is_drawn_a_thousand_times_is_one(monkeypatch):
    room = iv.SegmentMap.room(6, 4).walls.reshape(-1, 2, 2)
    cross = np.array([[[1.0, 1.0], [5.0, 3.0]], [[1.0, 3.0], [5.0, 1.0]]])
    walls = np.concatenate([room, cross])
    once = iv.SegmentMap.from_segments(walls)
    pairs = []
    cut = split._cut_pair
    monkeypatch.setattr(split, "_cut_pair", lambda *given: (pairs.append(1), cut(*given)))
    again = np.concatenate([walls, np.tile(walls[:, ::-1], (200, 1, 1))])
    many = iv.SegmentMap.from_segments(again)
    assert len(pairs) < 20
    np.testing.assert_array_equal(many.walls, once.walls)
    np.testing.assert_array_equal(many.parents, once.parents)


def test_cells_of_an_octomap_have_a_size_that_can_be(tmp_path):
    path = tmp_path / "tree.bt"
    for resolution in ("1e-300", "1e9"):
        path.write_bytes(octree("fo.ffof.").replace(b"res 0.5", f"res {resolution}".encode()))
        assert said(iv.read_map, path) == (
            f"tree.bt: `res` must be from 0.001 to 10 m per cell, got {float(resolution):g}."
        )


@pytest.mark.slow
def test_a_bag_that_asks_for_all_memory_is_refused(tmp_path, monkeypatch):
    path = write_bag(tmp_path, [scan(0.0)], "bag")

    def greedy(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr("rosbags.highlevel.AnyReader.open", greedy)
    assert said(iv.read_scan, path) == (
        "run.bag is no sound bag: it asks for more memory than there is."
    )


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("nodes", lambda a: a.astype(np.float64), "`nodes` is float64 of shape"),
        ("nodes", lambda a: a + (1 << 40), "a node lies outside the map."),
        ("descriptors", lambda a: a[:1], "`descriptors` is float32 of shape"),
        ("descriptors", lambda a: a * np.float32(np.nan), "`descriptors` is not finite."),
        ("wall_distance", lambda a: a.reshape(-1), "`wall_distance` is float32 of shape"),
        ("wall_distance", lambda a: np.where(a > 2.0, a, np.float32(1e38)),
         "`wall_distance` has a wall that is farther off than the map is wide."),
        ("wall_distance", lambda a: a - np.float32(1.0), "`wall_distance` has a wall that is"),
        ("clear", lambda a: np.full_like(a, 255), "a ray would leave the map."),
        ("bare", lambda a: a[:-1], "`bare` is uint8 of shape"),
        ("settings", lambda a: {**a, "channels": "x"}, "`channels` must be a positive number"),
        ("spacing", lambda _: "x\x1b", "could not convert string to float: 'x\\x1b'."),
        ("spacing", lambda _: 1e300, "`spacing` must be above 0 and at most 1e+09, got 1e+300."),
        ("settings", lambda a: {**a, "reach": 1e300}, "`reach` must be above 0 and at most 1e+09,"),
        ("spacing", lambda _: None, "float() argument must be a string or a real number"),
    ],
)  # fmt: skip
def test_an_atlas_whose_parts_do_not_fit_is_refused(tmp_path, site, name, change, text):
    path = tmp_path / "atlas"
    iv.write_atlas(site.atlas, path)
    meta, arrays = (dict(part) for part in read_folder(path, KIND, VERSION))
    part = meta if name in meta else arrays
    part[name] = change(part[name])
    write_folder(path, KIND, VERSION, meta, arrays)
    assert said(iv.read_atlas, path).startswith(f"atlas is not a whole atlas: {text}")


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_an_atlas_without_a_part_is_refused(tmp_path, site):
    path = tmp_path / "atlas"
    iv.write_atlas(site.atlas, path)
    meta, arrays = read_folder(path, KIND, VERSION)
    del meta["spacing"]
    write_folder(path, KIND, VERSION, meta, arrays)
    assert said(iv.read_atlas, path) == "atlas is not a whole atlas: 'spacing' is missing."


def test_an_error_is_one_printable_line():
    text = one_line("a\nb\x1b[0m\udcff\u202e" + 5000 * "x" + "end.")
    assert text.isprintable()
    assert text.startswith("a\\nb\\x1b[0m\\udcff\\u202ex")
    assert text.endswith("xend.")
    assert len(text) < 550
    assert str(InputError("two\nlines.")) == "two\\nlines."
    assert str(FileError("plain · ≤ 5°.")) == "plain · ≤ 5°."


def test_a_cloud_as_wide_as_numbers_go_is_refused():
    points = np.zeros((200, 3))
    points[0, 0], points[1, 0] = 1.7e308, -1.7e308
    text = (
        "The cloud spans inf × 0 × 0 m. Is it in millimetres? Scale it to m (scale=0.001), or cut "
        "it to at most "
    )
    assert said(lambda cloud: iv.VoxelMap.from_points(cloud, resolution=0.1), points).startswith(
        text
    )


def test_columns_of_a_ply_file_have_names_of_their_own(tmp_path):
    for form in ("ascii", "binary_little_endian"):
        path = tmp_path / "cloud.ply"
        path.write_bytes(ply(form).replace(b"float y", b"float x", 1).replace(b" y\n", b" x\n", 1))
        assert said(read_cloud, path) == "cloud.ply: two columns of 'vertex' have one name."


def test_a_ply_file_without_vertices_says_so(tmp_path):
    for form in ("ascii", "binary_little_endian"):
        path = tmp_path / "cloud.ply"
        count = f"vertex {len(POINTS)}".encode()
        assert count in ply(form)
        path.write_bytes(ply(form).replace(count, b"vertex 0", 1))
        assert said(read_cloud, path) == "cloud.ply has no vertices."


def test_bearings_as_far_apart_as_numbers_go_are_refused(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text("bearing,range\n-1e308,1\n1.7e308,1\n")
    assert said(iv.read_scan, path).startswith("scan.csv: The bearings of the scan span inf turns.")


def test_an_image_that_is_no_file_is_named_after_its_map(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text(
        "image: /dev/zero\nresolution: 0.1\norigin: [0, 0, 0]\nnegate: 0\n"
        "occupied_thresh: 0.65\nfree_thresh: 0.2\n"
    )
    assert said(iv.read_map, path) == (
        "map.yaml: `image` names '/dev/zero', which is not a regular file."
    )


def test_an_empty_part_is_named_after_its_folder(tmp_path):
    bag = write_bag(tmp_path, [scan(0.5)], "mcap", "run")
    (bag / "metadata.yaml").write_bytes(b"")
    assert said(iv.read_scan, bag) == "run/metadata.yaml is empty; a part of a bag was expected."
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MANIFEST).write_bytes(b"")
    assert said(iv.read_atlas, tmp_path / "site") == (
        "site/manifest.json is empty; a manifest was expected."
    )


def test_a_scan_in_space_that_looks_one_way_has_no_plane():
    some = iv.CloudScan(np.linspace(1.0, 2.0, 100)[:, None] * [1.0, 0.5, 0.2])
    assert normals_of(some).shape == (0, 3)


def test_an_integer_that_is_no_number_is_refused(tmp_path):
    path, limits = tmp_path / "scan.json", {"range_min": 0.0, "range_max": 9.0}
    path.write_text(
        json.dumps({"angle_min": 0.0, "angle_increment": 0.1, "ranges": [10**400, 1], **limits})
    )
    assert said(iv.read_scan, path) == "scan.json: `ranges` holds an integer beyond all numbers."


def test_walls_that_enclose_slivers_are_mended_or_refused(tmp_path, monkeypatch):
    home = tmp_path / "plan.walls"
    home.mkdir()
    path = home / "seed.geojson"
    iv.write_map(seeds.plan(), path)
    damage_file(home, path, np.random.default_rng([301, 3152, *b"plan.walls"]))
    world = iv.read_map(path)
    faces = shapely.polygonize(shapely.linestrings(world.walls.reshape(-1, 2, 2)))
    with pytest.raises(shapely.errors.GEOSException):
        shapely.union_all(faces.geoms)
    assert 100.0 < world.free.area < 300.0
    monkeypatch.setattr(shapely, "make_valid", lambda shapes: shapes)
    assert said(iv.read_map, path).startswith("seed.geojson: The walls enclose slivers too thin ")


def test_angles_of_a_robotlaser_are_angles(tmp_path):
    words = ["ROBOTLASER1", 1, -1.0, 2.0, 1e300, 30.0, 0.01, 0, 3, 1, 2, 3, 0, *range(11), 1.0]
    (tmp_path / "log.log").write_text(" ".join(map(str, [*words, "host", 1])) + "\n")
    text = "log.log, line 1: ROBOTLASER1 cannot be read: its angles must be in rad, got -1.0 and "
    assert said(read_carmen, tmp_path / "log.log").startswith(text)
