"""Folders of arrays: exact, checked to the last byte, and replaced as a whole."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isovist.errors import FileError, InputError
from isovist.io.folder import folder as store
from isovist.io.folder import manifest, part
from isovist.io.folder.folder import (
    check_folder,
    open_folder,
    read_folder,
    read_manifest,
    write_folder,
)

META = {"spacing": 0.25, "name": "Büro", "rose": [1, 2, {"n": 64}], "none": None}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of 256 bytes, so that small arrays have several."""
    monkeypatch.setattr(part, "BLOCK", 256)


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


@settings(deadline=None)
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
    assert contents.nbytes == sum(f.stat().st_size for f in atlas.glob("*.npy"))


def test_parts_are_joined_along_the_first_axis(tmp_path):
    pieces = [np.full((n, 4), n, dtype=np.int16) for n in (3, 0, 5)]
    write_folder(tmp_path / "p", "thing", 1, {}, {"rows": pieces})
    names = sorted(f.name for f in (tmp_path / "p").iterdir())
    assert names == ["manifest.json", "rows.000.npy", "rows.001.npy", "rows.002.npy"]
    _, back = read_folder(tmp_path / "p", "thing", 1)
    assert (back["rows"] == np.concatenate(pieces)).all()
    assert not back["rows"].flags.writeable


def flip(file: Path, at: int, bit: int = 0) -> None:
    """Flip one bit of a file where it lies."""
    with file.open("r+b") as stream:
        stream.seek(at)
        (value,) = stream.read(1)
        stream.seek(at)
        stream.write(bytes([value ^ 1 << bit]))


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


def test_a_large_folder_is_checked_at_its_ends_and_by_rows(atlas, monkeypatch):
    monkeypatch.setattr(store, "FULL_CHECK_BYTES", 0)
    flip(atlas / "field.npy", 128 + 20 * 28)  # row 20, in the third block of six
    read(atlas)
    with pytest.raises(FileError) as error:
        read_folder(atlas, "atlas", 2, full=True)
    message = "atlas/field.npy is damaged: the checksum of its bytes 512 to 767 differs."
    assert str(error.value) == message
    assert check_folder(atlas) == [message]
    folder = open_folder(atlas, "atlas", 2)
    folder.verify("cells")
    folder.verify("field", 0, 13)
    folder.verify("field", 23)
    for start, stop in ((0, None), (20, 21), (0, 14), (22, 50)):
        with pytest.raises(FileError) as error:
            folder.verify("field", start, stop)
        assert str(error.value) == message
    flip(atlas / "field.npy", 0)
    with pytest.raises(FileError) as error:
        read(atlas)
    assert str(error.value) == (
        "atlas/field.npy is damaged: the checksum of its bytes 0 to 255 differs."
    )


def test_rows_are_verified_across_parts(tmp_path):
    path = tmp_path / "p"
    write_folder(path, "thing", 1, {}, {"rows": [np.zeros((9, 99)), np.ones((9, 99))]})
    folder = open_folder(path, "thing", 1)
    flip(path / "rows.001.npy", (path / "rows.001.npy").stat().st_size - 1)
    folder.verify("rows", 0, 9)
    folder.verify("rows", 9, 16)
    with pytest.raises(FileError, match=r"p/rows\.001\.npy is damaged"):
        folder.verify("rows", 17)


def test_what_is_wrong_is_said_in_one_line(atlas, tmp_path):
    def said(path: Path, kind: str = "atlas", version: int = 2) -> str:
        with pytest.raises(FileError) as error:
            read_folder(path, kind, version)
        return str(error.value)

    assert said(tmp_path / "gone") == f"{tmp_path / 'gone'}: there is no such folder."
    (tmp_path / "file").write_text("")
    assert said(tmp_path / "file") == (
        f"{tmp_path / 'file'} is a file; a folder with a manifest.json was expected."
    )
    (tmp_path / "empty").mkdir()
    assert said(tmp_path / "empty") == (
        "empty/manifest.json is missing, so isovist did not write this folder."
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
    field = (atlas / "field.npy").read_bytes()
    (atlas / "field.npy").write_bytes(field[:-1])
    assert said(atlas) == "atlas/field.npy is cut off: 1527 bytes instead of 1528."
    (atlas / "field.npy").write_bytes(field + b"\0")
    assert said(atlas) == "atlas/field.npy is too long: 1529 bytes instead of 1528."
    (atlas / "field.npy").unlink()
    assert said(atlas) == "atlas/field.npy is missing."
    assert check_folder(atlas) == ["atlas/field.npy is missing."]
    (atlas / "manifest.json").write_text("{}")
    damaged = "atlas/manifest.json is damaged, or a newer isovist wrote it."
    assert said(atlas) == damaged
    assert check_folder(atlas) == [damaged]


@pytest.mark.parametrize(
    ("change", "into"),
    [
        ('"field.npy"', '"../field.npy"'),
        ('"<f4"', '"|O"'),
        ('"shape": [', '"shape": [-1,'),
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
        body = text[: -manifest._SEAL_BYTES]
        text = body + manifest._seal(body)
    (atlas / "manifest.json").write_bytes(text)
    with pytest.raises(FileError, match=r"manifest\.json is damaged"):
        read(atlas)


def test_bad_input_writes_nothing(tmp_path):
    path = tmp_path / "atlas"
    row = np.zeros(3)
    cases: list[tuple[dict, dict, str]] = [
        ({"x": float("nan")}, {}, "`meta` must be plain JSON without NaN or infinity, "
            "got {'x': nan}."),
        ({"x": row}, {}, "`meta` must be plain JSON without NaN or infinity, "
            "got {'x': array([0., 0., 0.])}."),
        ({}, {"a": np.array([{}])}, "`a` must hold plain numbers, got 'object'."),
        ({}, {"a": np.array(["x"])}, "`a` must hold plain numbers, got '<U1'."),
        ({}, {"../a": row}, "An array is named with letters, digits and _, got '../a'."),
        ({}, {"a": [row, np.zeros((3, 3))]}, "The parts of `a` must be rows of one array, "
            "alike but in number."),
        ({}, {"a": []}, "The parts of `a` must be rows of one array, alike but in number."),
        ({}, {"a": [np.array(1), np.array(2)]}, "The parts of `a` must be rows of one array, "
            "alike but in number."),
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
