"""Atlases in object storage: whole, in parts, and how many bytes that takes."""

import shutil
import sys

import numpy as np
import pytest
from tests.support.atlas_parts import atlas_info, check_atlas
from tests.support.errors import refused
from tests.support.folders import read_folder, write_folder
from tests.support.sites import SITES, SPACE

import isovist as iv
from isovist import FileError, MissingExtraError

obstore = pytest.importorskip("obstore", reason="needs pip install 'isovist[object-storage]'")

URL = "s3://bucket/site.atlas"


class Counting:
    """A store in memory that counts what is read from it."""

    def __init__(self, folder):
        self.store, self.bytes = obstore.store.MemoryStore(), 0
        for file in folder.iterdir():
            self.store.put(file.name, file.read_bytes())

    def get(self, file):
        found = self.store.get(file)
        self.bytes += found.meta["size"]
        return found

    def head(self, file):
        return self.store.head(file)

    def get_range(self, file, *, start, end):
        self.bytes += end - start
        return self.store.get_range(file, start=start, end=end)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Put an atlas into a store that counts, at s3://bucket/site.atlas."""

    def put(atlas):
        iv.write_atlas(atlas, tmp_path / "site.atlas")
        store = Counting(tmp_path / "site.atlas")
        monkeypatch.setattr("isovist.storage.locations.store_at", lambda _url: store)
        return store

    return put


@pytest.fixture(scope="module")
def corridor():
    """A building much longer than a robot sees, with doors at odd places, in a turned frame."""
    random = np.random.default_rng(3)
    cells = np.zeros((1200, 60), dtype=np.uint8)
    cells[:, [0, 59]] = cells[[0, -1]] = 1
    for row in np.cumsum(random.integers(15, 40, 40)):
        if row < 1199:
            wide = int(random.integers(5, 40))
            cells[row, wide : wide + 12] = 1
    world = iv.OccupancyMap(cells, 0.1, iv.Pose(2.0, -1.0, 0.4))
    return iv.build(world, settings=iv.AtlasSettings(reach=5.0))


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_an_atlas_is_read_from_storage(site, kept):
    store = kept(site.atlas)
    there = iv.read_atlas(URL)
    for name, array in site.atlas.arrays().items():
        assert there.arrays()[name].tobytes() == array.tobytes(), name
    assert not there.descriptors.flags.writeable
    store.bytes = 0
    assert atlas_info(URL).nodes == len(site.atlas.nodes)
    assert store.bytes < 4096
    assert check_atlas(URL) == []


def test_a_large_array_comes_in_several_pieces(tmp_path):
    large = np.arange(2_500_000)  # 20 MB; 8 are asked for at once
    write_folder(tmp_path / "large", "table", 1, {}, {"large": large})
    _, back = read_folder(f"file://{tmp_path}/large", "table", 1)
    assert (back["large"] == large).all()


@pytest.mark.slow
def test_a_part_is_read_by_ranges(kept, tmp_path, corridor):
    whole, store = corridor, kept(corridor)
    truth = whole.world.origin @ iv.Pose(3.0, 40.0, 1.0)
    box = (truth.x - 3.0, truth.y - 3.0, truth.x + 3.0, truth.y + 3.0)
    part = iv.read_atlas(URL, box=box)
    assert store.bytes < 0.25 * sum(array.nbytes for array in whole.arrays().values())
    here = whole.positions
    inside = (np.abs(here - [truth.x, truth.y]) <= 3.0).all(axis=1)
    assert 20 < np.count_nonzero(inside) <= len(part.nodes) < 0.2 * len(whole.nodes)
    gaps = np.abs(part.positions[:, None] - here[None]).sum(axis=2)
    same = gaps.argmin(axis=1)
    assert gaps.min(axis=1).max() < 1e-9
    assert set(np.flatnonzero(inside)) <= set(same)
    assert (part.descriptors == whole.descriptors[same]).all()
    lidar = iv.Lidar(beams=180, range_max=5.0, noise=0.01)
    scan = lidar.scan(whole.world, truth, np.random.default_rng(0))
    found = iv.locate(part, scan)
    wanted = iv.locate(whole, scan, region=iv.Region.circle((truth.x, truth.y), 3.0))
    assert np.abs(found.best.pose.vector - wanted.best.pose.vector).max() < 1e-6
    on_disk = iv.read_atlas(tmp_path / "site.atlas", box=box)
    assert on_disk.descriptors.tobytes() == part.descriptors.tobytes()


@pytest.mark.slow
def test_a_part_is_checked_and_damage_elsewhere_does_not_matter(corridor, tmp_path):
    whole, path = corridor, tmp_path / "site.atlas"
    iv.write_atlas(whole, path)
    (file,) = path.glob("descriptors.*.npy")
    sound, size = file.read_bytes(), file.stat().st_size
    nodes, rows = whole.positions, whole.rows_columns[0]
    found = 0
    for at in range(200, size, size // 12):
        file.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
        node = (at - (size - whole.descriptors.nbytes)) // whole.descriptors[0].nbytes
        with refused(kind=FileError, code="invalid_file"):
            iv.read_atlas(path, box=[*(nodes[node] - 0.5), *(nodes[node] + 0.5)])
        away = len(nodes) - 1 - node
        if abs(rows[away] - rows[node]) > 0.5 * rows.max():
            box = [*(nodes[away] - 0.5), *(nodes[away] + 0.5)]
            found += len(iv.read_atlas(path, box=box).nodes)
    assert found > 12
    box = [*(nodes[0] - 0.5), *(nodes[0] + 0.5)]
    for cut in (0, 100, size // 2, size - 1):
        file.write_bytes(sound[:cut])
        with refused(kind=FileError, code="invalid_file"):
            iv.read_atlas(path, box=box)
    file.unlink()
    with refused(kind=FileError, code="not_found"):
        iv.read_atlas(path, box=box)


def test_what_cannot_be_read_is_refused(kept):
    def check(code, field=None, **how):
        with refused(field, code, FileError):
            iv.read_atlas(URL, **how)

    store = kept(SITES["plane"].atlas)
    check("empty", "box", box=(900.0, 900.0, 901.0, 901.0))
    with refused("box"):
        iv.read_atlas(URL, box=(0.0, 1.0))
    array = next(row["path"] for row in store.store.list().collect() if "cells" in row["path"])
    data = bytearray(bytes(store.store.get(array).bytes()))
    data[-1] ^= 1
    for damaged in (bytes(data), bytes(data[:-1])):
        store.store.put(array, damaged)
        check("invalid_file")
    for file in (array, "manifest.json"):
        store.store.delete(file)
        check("not_found")
    kept(SPACE.atlas)
    check("wrong_dimension", "box", box=(0.0, 0.0, 1.0, 1.0))


def test_addresses_are_those_of_obstore(tmp_path, monkeypatch):
    iv.write_atlas(SITES["plane"].atlas, tmp_path / "site.atlas")
    there = iv.read_atlas(f"file://{tmp_path}/site.atlas")
    assert (there.nodes == SITES["plane"].atlas.nodes).all()
    shutil.rmtree(tmp_path / "site.atlas")
    for url, code in (
        ("memory:///site.atlas", "not_found"),
        ("gopher://host/site.atlas", "unknown_format"),
    ):
        with refused(kind=FileError, code=code):
            iv.read_atlas(url)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with refused("object-storage", "missing_extra", MissingExtraError):
        iv.read_atlas(URL)
