"""Folders of arrays: exact, checked to the last byte, and replaced as a whole."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isovist import FileError, InputError
from isovist.io import folder
from isovist.io.folder import _sealed
from isovist.storage import check_folder, place_of, read_folder, read_manifest, write_folder

META = {"spacing": 0.25, "name": "Büro", "rose": [1, 2, {"n": 64}], "none": None}


def arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "field": random.normal(size=(50, 7)).astype(np.float32),
        "cells": random.integers(0, 3, (9, 11), dtype=np.uint8),
    }


@pytest.fixture
def atlas(tmp_path) -> Path:
    write_folder(tmp_path / "atlas", "atlas", 2, META, arrays())
    return tmp_path / "atlas"


def read(path: Path) -> tuple[dict, dict]:
    return read_folder(path, "atlas", 2)


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
    assert back["a"].dtype == array.dtype
    assert back["a"].shape == array.shape
    assert back["a"].tobytes() == array.tobytes()
    assert back["turned"].tobytes() == array.T.tobytes()
    assert check_folder(path) == []


def test_meta_and_arrays_come_back_read_only_and_mapped(atlas):
    meta, back = read(atlas)
    assert meta == META
    assert list(back) == ["field", "cells"]
    for name, array in arrays().items():
        assert (back[name] == array).all()
        assert not back[name].flags.writeable
        assert isinstance(back[name].base, np.memmap) or isinstance(back[name].base.base, np.memmap)
    contents = read_manifest(atlas)
    assert (contents.kind, contents.version) == ("atlas", 2)
    for name, entry in contents.arrays.items():
        assert entry.shape == arrays()[name].shape
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
            problems = check_folder(atlas)
            assert len(problems) == 1
            assert file.name in problems[0]
            with pytest.raises(FileError, match=file.name):
                read(atlas)
            flip(file, at, at % 8)
    assert check_folder(atlas) == []


@pytest.mark.parametrize("piece", [64, 128, 1000, 1 << 16])
def test_rows_are_those_of_the_array_and_every_piece_is_checked(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(folder, "PIECE", piece)
    atlas, random = tmp_path / "atlas", np.random.default_rng(5)
    table = random.normal(size=(90, 7)).astype(np.float32)
    write_folder(atlas, "atlas", 2, {}, {"table": table})
    entry, place = read_manifest(atlas).arrays["table"], place_of(atlas)
    assert len(entry.pieces) == (0 if piece > entry.nbytes else -(-entry.nbytes // piece))
    head, each = entry.nbytes - table.nbytes, table[0].nbytes
    for _ in range(60):
        first, last = np.sort(random.integers(0, 91, 2)).tolist()
        assert entry.rows(place, first, last).tobytes() == table[first:last].tobytes()
        at = int(random.integers(0, entry.nbytes))
        flip(atlas / entry.file, at)
        if head + first * each <= at < head + last * each:
            with pytest.raises(FileError, match=r"is damaged: (a|its) checksum differs\.$"):
                entry.rows(place, first, last)
        flip(atlas / entry.file, at)


def test_a_manifest_without_pieces_is_read_as_before(atlas, monkeypatch):
    monkeypatch.setattr(folder, "PIECE", 64)
    entry = read_manifest(atlas).arrays["field"]  # as versions before this one wrote it
    assert entry.pieces == ()
    assert (entry.rows(place_of(atlas), 3, 40) == arrays()["field"][3:40]).all()


def test_what_is_wrong_is_said_in_one_line(atlas, tmp_path):
    def said(path: Path, kind: str = "atlas", version: int = 2) -> str:
        with pytest.raises(FileError) as error:
            read_folder(path, kind, version)
        return str(error.value)

    assert said(tmp_path / "gone") == f"{tmp_path / 'gone'}: there is no such folder."
    (tmp_path / "file").write_text("")
    assert said(tmp_path / "file") == (f"{tmp_path / 'file'}: there is no such folder.")
    (tmp_path / "empty").mkdir()
    assert said(tmp_path / "empty") == (
        f"{tmp_path / 'empty' / 'manifest.json'}: there is no such file."
    )
    assert said(atlas, kind="rose") == (
        "atlas/manifest.json says kind 'atlas', where 'rose' is needed."
    )
    assert said(atlas, version=1) == (
        "atlas/manifest.json says version 2 of the atlas format, and this isovist reads version 1. "
        "Upgrade isovist."
    )
    assert said(atlas, version=3) == (
        "atlas/manifest.json says version 2 of the atlas format, and this isovist reads "
        "version 3. Write it again."
    )
    (file,) = atlas.glob("field.*.npy")
    field = file.read_bytes()
    for cut in (field[:-1], field + b"\0", b""):
        file.write_bytes(cut)
        assert said(atlas) == f"atlas/{file.name} has {len(cut)} bytes instead of 1528."
    file.write_bytes(bytes([*field[:-1], field[-1] ^ 1]))
    assert said(atlas) == f"atlas/{file.name} is damaged: its checksum differs."
    file.unlink()
    assert said(atlas) == f"atlas/{file.name} is missing."
    assert check_folder(atlas) == [f"atlas/{file.name} is missing."]
    (atlas / "manifest.json").write_text("{}")
    damaged = "atlas/manifest.json is damaged, or isovist did not write it."
    assert said(atlas) == damaged
    assert check_folder(atlas) == [damaged]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_no_regular_file_is_refused_and_not_waited_for(atlas):
    (file,) = atlas.glob("field.*.npy")
    for make in (os.mkfifo, os.mkdir):
        file.rename(atlas.parent / "kept")
        make(file)
        with pytest.raises(FileError) as error:
            read(atlas)
        assert str(error.value) == f"atlas/{file.name} is no file."
        assert check_folder(atlas) == [str(error.value)]
        (atlas.parent / "aside").mkdir(exist_ok=True)
        file.rename(atlas.parent / "aside" / make.__name__)
        (atlas.parent / "kept").rename(file)
    (atlas / "manifest.json").unlink()
    os.mkfifo(atlas / "manifest.json")
    with pytest.raises(FileError, match="is not a regular file, so it cannot be a manifest"):
        read(atlas)
    with pytest.raises(FileError, match="is not a folder of arrays"):
        write_folder(atlas, "atlas", 2, META, arrays())


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
        text = _sealed(text[: -len(_sealed(b""))])
    (atlas / "manifest.json").write_bytes(text)
    with pytest.raises(FileError, match=r"manifest\.json is damaged"):
        read(atlas)


def test_bad_input_writes_nothing(tmp_path):
    path = tmp_path / "atlas"
    row = np.zeros(3)
    cases: list[tuple[dict, dict, str]] = [
        ({"x": float("nan")}, {}, "`meta` must be JSON without NaN or infinity, got {'x': nan}."),
        ({"x": row}, {}, "`meta` must be JSON without NaN or infinity, "
            "got {'x': array([0., 0., 0.])}."),
        ({}, {"a": np.array([{}])}, "`a` must hold plain numbers, got 'object'."),
        ({}, {"a": np.array(["x"])}, "`a` must hold plain numbers, got '<U1'."),
        ({}, {"../a": row}, "An array is named with letters, digits and _, got '../a'."),
    ]  # fmt: skip
    for meta, bad, text in cases:
        with pytest.raises(InputError) as error:
            write_folder(path, "atlas", 1, meta, bad)
        assert str(error.value) == text
    with pytest.raises(FileError) as missing:
        write_folder(tmp_path / "no" / "atlas", "atlas", 1, {}, {})
    assert str(missing.value) == (
        f"{tmp_path / 'no' / 'atlas'} cannot be written: No such file or directory."
    )
    assert list(tmp_path.iterdir()) == []
