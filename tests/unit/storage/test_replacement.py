"""Folders of arrays are replaced as a whole, whatever happens to the writer."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.support.paths import SUPPORT

from isovist import FileError
from isovist.storage import Entry, check_folder, read_folder, write_folder

META = {"spacing": 0.25}


def arrays() -> dict[str, np.ndarray]:
    return {"field": np.arange(12.0).reshape(4, 3), "cells": np.zeros((2, 2), dtype=np.uint8)}


@pytest.fixture
def atlas(tmp_path) -> Path:
    write_folder(tmp_path / "atlas", "atlas", 2, META, arrays())
    return tmp_path / "atlas"


def read(path: Path) -> tuple[dict, dict]:
    return read_folder(path, "atlas", 2)


def names(folder: Path) -> list[str]:
    """What lies in a folder, without the tokens."""
    return sorted(f"{f.name.split('.')[0]}{f.suffix}" for f in folder.iterdir())


def test_nobodys_data_is_replaced(tmp_path):
    home, rows, app = (tmp_path / name for name in ("home", "rows", "app"))
    for folder in (home, rows, app):
        folder.mkdir()
    (home / "thesis.tex").write_text("years of work")
    (rows / "mine.npy").write_text("years of work")
    (app / "manifest.json").write_text('{"name": "a program in the browser"}')
    for victim in (home, home / "thesis.tex", rows, app):
        with pytest.raises(FileError) as error:
            write_folder(victim, "atlas", 1, {}, arrays())
        assert str(error.value) == (
            f"{victim} exists and is not a folder of arrays. Choose another name."
        )
    assert (home / "thesis.tex").read_text() == (rows / "mine.npy").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", "atlas", 1, {}, arrays())
    assert check_folder(tmp_path / "empty") == []


def test_a_folder_is_replaced_as_a_whole(atlas):
    _, old = read(atlas)
    write_folder(atlas, "atlas", 2, {"new": True}, {"only": np.arange(5)})
    meta, new = read(atlas)
    assert meta == {"new": True}
    assert list(new) == ["only"]
    assert (old["field"] == arrays()["field"]).all(), "what was mapped stays readable"
    assert names(atlas) == ["manifest.json", "only.npy"]
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_a_folder_of_the_first_format_is_named_and_replaced(tmp_path):
    body = b'{\n "format": "isovist folder 1",\n "arrays": {"a": [{"file": "a.npy"}]}'
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.npy").write_bytes(b"")
    (tmp_path / "old" / "manifest.json").write_bytes(
        body + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body)
    )
    with pytest.raises(FileError) as error:
        read(tmp_path / "old")
    assert str(error.value) == (
        "old/manifest.json says 'isovist folder 1', and this isovist reads 'isovist folder 2'. "
        "Write it again."
    )
    write_folder(tmp_path / "old", "atlas", 2, META, arrays())
    assert names(tmp_path / "old") == ["cells.npy", "field.npy", "manifest.json"]
    assert read(tmp_path / "old")[0] == META


def test_a_link_to_a_folder_stays_a_link(atlas, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(atlas)
    write_folder(link, "atlas", 2, {"new": True}, {})
    assert link.is_symlink()
    assert read(atlas)[0] == {"new": True}


@pytest.mark.parametrize("existed", [True, False])
def test_a_failed_write_leaves_what_was_there(atlas, monkeypatch, existed):
    def refuse(_draft: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    path = atlas if existed else atlas.with_name("fresh")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FileError) as error:
        write_folder(path, "atlas", 2, {}, {"only": np.arange(5)})
    assert str(error.value) == f"{path} cannot be written: No space left on device."
    assert read(atlas)[0] == META
    assert names(atlas) == ["cells.npy", "field.npy", "manifest.json"]
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_an_interrupt_just_after_the_new_manifest_keeps_the_new_folder(atlas, monkeypatch):
    replace = Path.replace

    def interrupted(draft: Path, target: Path) -> None:
        replace(draft, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
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


def test_two_writers_at_once_leave_the_folder_of_the_last(atlas, monkeypatch):
    """The second writes all of its folder while the first is about to put its manifest there."""
    replace = Path.replace

    def second_first(draft: Path, target: Path) -> None:
        monkeypatch.setattr(Path, "replace", replace)
        write_folder(atlas, "atlas", 2, {"writer": 2}, {"b": np.arange(4)})
        assert read(atlas)[0] == {"writer": 2}
        replace(draft, target)

    monkeypatch.setattr(Path, "replace", second_first)
    write_folder(atlas, "atlas", 2, {"writer": 1}, {"a": np.arange(5)})
    meta, back = read(atlas)
    assert meta == {"writer": 1}
    assert back["a"].tolist() == [0, 1, 2, 3, 4]


def test_a_folder_replaced_while_it_is_read_is_read_again(atlas, monkeypatch):
    mapped, replaced = Entry.map, []

    def replace_first(self: Entry, folder: Path) -> np.ndarray:
        if not replaced:
            replaced.append(True)
            write_folder(atlas, "atlas", 2, {"new": True}, {"field": np.arange(5)})
        return mapped(self, folder)

    monkeypatch.setattr(Entry, "map", replace_first)
    meta, back = read(atlas)
    assert meta == {"new": True}
    assert back["field"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a writer is killed in a fork")
def test_a_writer_killed_at_any_line_leaves_the_old_folder_or_the_new_one():
    driver = SUPPORT.joinpath("kill_writer.py")
    done = subprocess.run([sys.executable, str(driver)], capture_output=True, text=True, check=True)
    assert done.stdout == "['new', 'old'] ['new', 'none']\n"
