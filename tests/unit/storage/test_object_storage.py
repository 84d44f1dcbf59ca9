"""Atlases in object storage: whole, in parts, and how many bytes that takes."""

import shutil
import sys

import numpy as np
import pytest
from tests.support.sites import SITES, SPACE

import isovist as iv
from isovist import FileError, InputError, MissingExtraError
from isovist.atlas import atlas_info, check_atlas
from isovist.io import places

obstore = pytest.importorskip("obstore", reason="needs pip install 'isovist[cloud]'")


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
        monkeypatch.setattr(places, "store_at", lambda _url: store)
        return store

    return put


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
def test_an_atlas_is_read_from_storage(site, kept, monkeypatch):
    monkeypatch.setattr(places, "PIECE", 1 << 16)
    store = kept(site.atlas)
    there = iv.read_atlas("s3://bucket/site.atlas")
    for name, array in site.atlas.arrays().items():
        assert there.arrays()[name].tobytes() == array.tobytes(), name
    assert not there.descriptors.flags.writeable
    store.bytes = 0
    assert atlas_info("s3://bucket/site.atlas").nodes == len(site.atlas.nodes)
    assert store.bytes < 4096
    assert check_atlas("s3://bucket/site.atlas") == []


@pytest.mark.slow
def test_a_part_is_read_by_ranges(kept, tmp_path):
    whole = corridor()
    store = kept(whole)
    truth = whole.world.origin @ iv.Pose(3.0, 40.0, 1.0)
    box = (truth.x - 3.0, truth.y - 3.0, truth.x + 3.0, truth.y + 3.0)
    part = iv.read_atlas("s3://bucket/site.atlas", box=box)
    every = sum(array.nbytes for array in whole.arrays().values())
    assert store.bytes < 0.25 * every
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
    wanted = iv.locate(whole, scan, prior=iv.Region.circle((truth.x, truth.y), 3.0))
    assert np.abs(found.best.pose.vector - wanted.best.pose.vector).max() < 1e-6
    on_disk = iv.read_atlas(tmp_path / "site.atlas", box=box)
    assert on_disk.descriptors.tobytes() == part.descriptors.tobytes()


def test_a_part_is_checked_and_damage_elsewhere_does_not_matter(kept, tmp_path):
    whole = corridor()
    kept(whole)
    path = tmp_path / "site.atlas"
    (file,) = path.glob("descriptors.*.npy")
    sound, size = file.read_bytes(), file.stat().st_size
    nodes, rows = whole.positions, whole.rows_columns[0]
    refused = 0
    for at in range(200, size, size // 12):
        file.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
        node = (at - (size - whole.descriptors.nbytes)) // whole.descriptors[0].nbytes
        for place in (node, len(nodes) - 1 - node):
            box = [*(nodes[place] - 0.5), *(nodes[place] + 0.5)]
            if place == node:
                with pytest.raises(FileError, match=r"is damaged: a checksum differs\.$"):
                    iv.read_atlas(path, box=box)
                refused += 1
            elif abs(rows[place] - rows[node]) > 0.5 * rows.max():
                assert len(iv.read_atlas(path, box=box).nodes)
    assert refused >= 12
    box = [*(nodes[0] - 0.5), *(nodes[0] + 0.5)]
    for cut in (0, 100, size // 2, size - 1):
        file.write_bytes(sound[:cut])
        with pytest.raises(FileError, match=rf"has {cut} bytes instead of {size}\.$"):
            iv.read_atlas(path, box=box)
    file.unlink()
    with pytest.raises(FileError, match=r"\.npy is missing\.$"):
        iv.read_atlas(path, box=box)


def test_what_cannot_be_read_is_one_line(kept):
    def refused(path, kind=FileError, **how):
        with pytest.raises(kind) as error:
            iv.read_atlas(path, **how)
        return str(error.value)

    store = kept(SITES["plane"].atlas)
    url = "s3://bucket/site.atlas"
    assert refused(url, box=(900.0, 900.0, 901.0, 901.0)) == (
        "site.atlas has no node in `box` (900, 900, 901, 901). Its corners are in m."
    )
    assert refused(url, InputError, box=(0.0, 1.0)) == "`box` must have shape (4,), got (2,)."
    array = next(row["path"] for row in store.store.list().collect() if "cells" in row["path"])
    data = bytearray(bytes(store.store.get(array).bytes()))
    data[-1] ^= 1
    store.store.put(array, bytes(data))
    assert refused(url) == f"site.atlas/{array} is damaged: its checksum differs."
    store.store.put(array, bytes(data[:-1]))
    assert refused(url) == f"site.atlas/{array} has {len(data) - 1} bytes instead of {len(data)}."
    store.store.delete(array)
    assert refused(url) == f"site.atlas/{array} is missing."
    store.store.delete("manifest.json")
    assert refused(url) == "site.atlas/manifest.json is missing."
    kept(SPACE.atlas)
    assert refused(url, box=(0.0, 0.0, 1.0, 1.0)) == (
        "site.atlas is in space; `box` is for atlases of the plane."
    )


def test_addresses_are_those_of_obstore(tmp_path, monkeypatch):
    iv.write_atlas(SITES["plane"].atlas, tmp_path / "site.atlas")
    there = iv.read_atlas(f"file://{tmp_path}/site.atlas")
    assert (there.nodes == SITES["plane"].atlas.nodes).all()
    shutil.rmtree(tmp_path / "site.atlas")
    with pytest.raises(FileError) as error:
        iv.read_atlas("memory:///site.atlas")
    assert str(error.value) == "site.atlas/manifest.json is missing."
    with pytest.raises(FileError) as error:
        iv.read_atlas("gopher://host/site.atlas")
    assert str(error.value) == (
        "An address of gopher:// cannot be opened. Take s3, gs, az, https or file, or a folder of "
        "this machine."
    )
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(MissingExtraError) as error:
        iv.read_atlas("s3://bucket/site.atlas")
    assert str(error.value) == (
        "Reading from object storage needs an optional part: pip install 'isovist[cloud]'."
    )
