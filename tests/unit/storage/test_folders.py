"""Folders of arrays: exact, checked to the last byte, and replaced as a whole whatever happens."""

import json
import os
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.support.errors import refused
from tests.support.folders import (
    check_folder,
    location_of,
    read_folder,
    read_manifest,
    write_folder,
)
from tests.support.paths import SUPPORT

from isovist import FileError

META = {"spacing": 0.25, "name": "Büro", "rose": [1, 2, {"n": 64}], "none": None}
ARRAYS = {
    "field": np.random.default_rng(3).normal(size=(50, 7)).astype(np.float32),
    "cells": np.random.default_rng(3).integers(0, 3, (9, 11), dtype=np.uint8),
}
PIECE = 1 << 16
"""Bytes of a file that have a checksum of their own."""


@pytest.fixture
def atlas(tmp_path) -> Path:
    write_folder(tmp_path / "atlas", "atlas", 2, META, ARRAYS)
    return tmp_path / "atlas"


def read(path: Path, kind: str = "atlas", version: int = 2) -> tuple[dict, dict]:
    return read_folder(path, kind, version)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    array=hnp.arrays(
        dtype=st.sampled_from(["<f8", ">f4", "<i2", "u1", "?", "<c16"]),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9),
    )
)
def test_any_array_reads_back_bit_for_bit(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("any") / "one"
    write_folder(path, "thing", 1, {}, {"a": array, "turned": array.T})
    _, back = read_folder(path, "thing", 1)
    assert (back["a"].dtype, back["a"].shape) == (array.dtype, array.shape)
    assert back["a"].tobytes() == array.tobytes()
    assert back["turned"].tobytes() == array.T.tobytes()
    assert check_folder(path) == []


def test_meta_and_arrays_come_back_read_only_and_mapped(atlas):
    meta, back = read(atlas)
    assert meta == META
    assert list(back) == ["field", "cells"]
    for name, array in ARRAYS.items():
        assert (back[name] == array).all()
        assert not back[name].flags.writeable
        assert isinstance(back[name].base, np.memmap) or isinstance(back[name].base.base, np.memmap)
    contents = read_manifest(atlas)
    assert (contents.kind, contents.version) == ("atlas", 2)
    for name, entry in contents.arrays.items():
        assert entry.shape == ARRAYS[name].shape
        assert entry.nbytes == (atlas / entry.file).stat().st_size
    assert len(list(atlas.iterdir())) == 3


def flip(file: Path, at: int, bit: int = 0) -> None:
    """Flip one bit of a file where it lies."""
    with file.open("r+b") as stream:
        stream.seek(at)
        (value,) = stream.read(1)
        stream.seek(at)
        stream.write(bytes([value ^ 1 << bit]))


@pytest.mark.slow
def test_every_flipped_byte_is_found_by_the_check_and_by_reading(tmp_path):
    atlas = tmp_path / "atlas"
    small = {"field": np.arange(99, dtype=np.float32).reshape(33, 3), "k": np.array(5)}
    write_folder(atlas, "atlas", 2, {"n": 64}, small)
    for file in sorted(atlas.iterdir()):
        for at in range(file.stat().st_size):
            flip(file, at, at % 8)
            (problem,) = check_folder(atlas)
            assert file.name in problem
            with refused(kind=FileError, code="invalid_file") as caught:
                read(atlas)
            assert str(caught.value) == problem
            flip(file, at, at % 8)
    assert check_folder(atlas) == []


@pytest.mark.parametrize("bytes_of_rows", [500, PIECE - 128, PIECE - 127, 3 * PIECE + 77])
def test_rows_are_those_of_the_array_and_every_piece_is_checked(tmp_path, bytes_of_rows):
    atlas, random = tmp_path / "atlas", np.random.default_rng(5)
    table = random.integers(0, 256, (bytes_of_rows, 1), dtype=np.uint8)
    write_folder(atlas, "atlas", 2, {}, {"table": table})
    entry, place = read_manifest(atlas).arrays["table"], location_of(atlas)
    assert len(entry.pieces) == (0 if entry.nbytes <= PIECE else -(-entry.nbytes // PIECE))
    head = entry.nbytes - table.nbytes
    for _ in range(60):
        first, last = np.sort(random.integers(0, len(table) + 1, 2)).tolist()
        assert entry.rows(place, first, last).tobytes() == table[first:last].tobytes()
        at = int(random.integers(0, entry.nbytes))
        flip(atlas / entry.file, at)
        if head + first <= at < head + last:
            with refused(kind=FileError, code="invalid_file"):
                entry.rows(place, first, last)
        flip(atlas / entry.file, at)


def resealed(text: bytes) -> bytes:
    """A manifest with a checksum that fits, as one who edits it on purpose makes it."""
    body = text[: -len(b',\n "crc32": "01234567"\n}\n')]
    return body + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body)


def test_a_manifest_without_pieces_is_read_as_before(tmp_path):
    table = np.arange(40_000, dtype=np.float32).reshape(-1, 4)
    write_folder(tmp_path / "old", "atlas", 2, {}, {"table": table})
    manifest = tmp_path / "old" / "manifest.json"
    text = manifest.read_bytes()
    begin = text.index(b'"pieces": [') + len(b'"pieces": [')
    manifest.write_bytes(resealed(text[:begin] + text[text.index(b"]", begin) :]))
    entry = read_manifest(tmp_path / "old").arrays["table"]
    assert entry.pieces == ()
    assert (entry.rows(location_of(tmp_path / "old"), 3, 4000) == table[3:4000]).all()
    manifest.write_bytes(resealed(text.replace(b'"pieces": [', b'"pieces": ["00000000", ')))
    with refused(kind=FileError, code="invalid_file"):
        read_manifest(tmp_path / "old")


def test_what_is_wrong_is_refused(atlas, tmp_path):
    def check(code: str, path: Path = atlas, **how) -> None:
        with refused(kind=FileError, code=code):
            read(path, **how)

    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for name in ("gone", "file", "empty"):
        check("not_found", tmp_path / name)
    check("unknown_format", kind="rose")
    for version in (1, 3):
        check("outdated_file", version=version)
    (file,) = atlas.glob("field.*.npy")
    field = file.read_bytes()
    for cut in (field[:-1], field + b"\0", b""):
        file.write_bytes(cut)
        check("invalid_file")
    file.unlink()
    check("not_found")
    (problem,) = check_folder(atlas)
    assert file.name in problem
    (atlas / "manifest.json").write_text("{}")
    check("invalid_file")
    assert len(check_folder(atlas)) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_no_regular_file_is_refused_and_not_waited_for(atlas):
    (file,) = atlas.glob("field.*.npy")
    file.unlink()
    for make, remove in ((os.mkfifo, Path.unlink), (os.mkdir, Path.rmdir)):
        make(file)
        with refused(kind=FileError, code="not_found") as caught:
            read(atlas)
        assert check_folder(atlas) == [str(caught.value)]
        remove(file)
    (atlas / "manifest.json").unlink()
    os.mkfifo(atlas / "manifest.json")
    for code, call in (
        ("file_not_readable", lambda: read(atlas)),
        ("file_exists", lambda: write_folder(atlas, "atlas", 2, META, ARRAYS)),
    ):
        with refused(kind=FileError, code=code):
            call()


@pytest.mark.parametrize(
    ("change", "into"),
    [
        ('"file": "', '"file": "../'),
        ('"<f4"', '"|O"'),
        ('"shape": [', '"shape": [-1,'),
        ('"nbytes": ', '"nbytes": null, "n": '),
        ('"kind": "atlas"', '"kind": "atlas" '),
        ('"spacing": 0.25', '"spacing": 0.250'),
        ('"arrays": {', '"arrays": 7, "x": {'),
        ('"<f4"', '","'),
        ('"version"', '"vision"'),
    ],
)
@pytest.mark.parametrize("sealed", [True, False])
def test_a_manifest_that_was_edited_is_refused(atlas, change, into, sealed):
    text = (atlas / "manifest.json").read_bytes()
    assert change.encode() in text
    text = text.replace(change.encode(), into.encode(), 1)
    if sealed and into not in ('"kind": "atlas" ', '"spacing": 0.250'):
        text = resealed(text)
    (atlas / "manifest.json").write_bytes(text)
    with refused(kind=FileError, code="invalid_file"):
        read(atlas)


@pytest.mark.parametrize(
    ("meta", "arrays", "field"),
    [
        ({"x": float("nan")}, {}, "meta"),
        ({"x": np.zeros(3)}, {}, "meta"),
        ({}, {"a": np.array([{}])}, "a"),
        ({}, {"a": np.array(["x"])}, "a"),
        ({}, {"../a": np.zeros(3)}, "name"),
    ],
)
def test_bad_input_writes_nothing(tmp_path, meta, arrays, field):
    with refused(field):
        write_folder(tmp_path / "atlas", "atlas", 1, meta, arrays)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def at_next(monkeypatch):
    """Have a function called instead of a method of paths, once; it is given how to go on."""

    def wait(method, instead):
        plain, waiting = getattr(Path, method), [instead]

        def called(*given):
            go_on = partial(plain, *given)
            return waiting.pop()(go_on) if waiting else go_on()

        monkeypatch.setattr(Path, method, called)

    return wait


def names(folder: Path) -> list[str]:
    """What lies in a folder, without the tokens."""
    return sorted(f"{f.name.split('.')[0]}{f.suffix}" for f in folder.iterdir())


def test_nobodys_data_is_replaced(tmp_path):
    for name, file in (("home", "thesis.tex"), ("rows", "mine.npy"), ("app", "manifest.json")):
        path = tmp_path / name / file
        path.parent.mkdir()
        path.write_text('{"name": "years of work"}')
        for victim in (path.parent, path):
            with refused(kind=FileError, code="file_exists"):
                write_folder(victim, "atlas", 1, {}, ARRAYS)
        assert path.read_text() == '{"name": "years of work"}'
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", "atlas", 1, {}, ARRAYS)
    assert check_folder(tmp_path / "empty") == []


def test_a_folder_is_replaced_as_a_whole(atlas):
    _, old = read(atlas)
    write_folder(atlas, "atlas", 2, {"new": True}, {"only": np.arange(5)})
    meta, new = read(atlas)
    assert meta == {"new": True}
    assert list(new) == ["only"]
    assert (old["field"] == ARRAYS["field"]).all(), "what was mapped stays readable"
    assert names(atlas) == ["manifest.json", "only.npy"]
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_a_folder_of_the_first_format_is_named_and_replaced(tmp_path):
    body = b'{\n "format": "isovist folder 1",\n "arrays": {"a": [{"file": "a.npy"}]}'
    old = tmp_path / "old"
    old.mkdir()
    (old / "a.npy").write_bytes(b"")
    (old / "manifest.json").write_bytes(body + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body))
    with refused(kind=FileError, code="outdated_file"):
        read(old)
    write_folder(old, "atlas", 2, META, ARRAYS)
    assert names(old) == ["cells.npy", "field.npy", "manifest.json"]
    assert read(old)[0] == META


def test_a_link_to_a_folder_stays_a_link(atlas, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(atlas)
    write_folder(link, "atlas", 2, {"new": True}, {})
    assert link.is_symlink()
    assert read(atlas)[0] == {"new": True}


@pytest.mark.parametrize("name", ["atlas", "fresh", "no/atlas"])
def test_a_failed_write_leaves_what_was_there(atlas, at_next, name):
    def refuse(_replace) -> None:
        raise OSError(28, "No space left on device")

    at_next("replace", refuse)
    with refused(kind=FileError, code="file_not_writable"):
        write_folder(atlas.parent / name, "atlas", 2, {}, {"only": np.arange(5)})
    assert read(atlas)[0] == META
    assert names(atlas) == ["cells.npy", "field.npy", "manifest.json"]
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_an_interrupt_just_after_the_new_manifest_keeps_the_new_folder(atlas, at_next):
    def interrupted(replace) -> None:
        replace()
        raise KeyboardInterrupt

    at_next("replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(atlas, "atlas", 2, {"new": True}, {"only": np.arange(5)})
    assert read(atlas)[0] == {"new": True}
    assert names(atlas) == ["manifest.json", "only.npy"]


def test_drafts_of_others_are_left_alone_for_an_hour(atlas):
    fresh, old = atlas / "field.00000000.npy", atlas / "manifest.11111111.json"
    fresh.write_bytes(b"half of an array")
    old.write_bytes(b"half of a manifest")
    os.utime(old, (0, 0))
    assert read(atlas)[0] == META
    assert check_folder(atlas) == []
    write_folder(atlas, "atlas", 2, {"new": True}, {})
    assert sorted(f.name for f in atlas.iterdir()) == [fresh.name, "manifest.json"]


@pytest.mark.parametrize(("method", "last"), [("replace", 1), ("read_bytes", 2)])
def test_a_folder_that_another_replaces_meanwhile_is_that_of_the_last(atlas, at_next, method, last):
    """Another writes all of his before one puts a manifest there, or after one has read it."""

    def with_another(go_on):
        before = go_on() if last == 2 else None
        write_folder(atlas, "atlas", 2, {"writer": 2}, {"field": np.arange(2)})
        return before if last == 2 else go_on()

    at_next(method, with_another)
    if last == 1:
        write_folder(atlas, "atlas", 2, {"writer": 1}, {"field": np.arange(1)})
    meta, back = read(atlas)
    assert (meta, len(back["field"])) == ({"writer": last}, last)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a writer is killed in a fork")
def test_a_writer_killed_at_any_line_leaves_nothing_half_that_reads():
    command = [sys.executable, str(SUPPORT / "kill_files.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    names = {"map.yaml", "plan.geojson", "scan.json", "scan.npz", "folder", "picture.png"}
    assert set(told) == names
    # A map is two files: between them there is none.
    assert told.pop("map.yaml") == [["new", "none", "old"], ["new", "none"]]
    for name, states in told.items():
        assert states == [["new", "old"], ["new", "none"]], name
