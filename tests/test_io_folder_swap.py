"""Folders of arrays are replaced as a whole, whatever happens to the writer."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isovist.errors import FileError
from isovist.io.folder import folder as store
from isovist.io.folder import part, swap
from isovist.io.folder.folder import check_folder, read_folder, write_folder

META = {"spacing": 0.25}


def arrays() -> dict[str, np.ndarray]:
    return {"field": np.arange(12.0).reshape(4, 3), "cells": np.zeros((2, 2), dtype=np.uint8)}


@pytest.fixture
def atlas(tmp_path) -> Path:
    write_folder(tmp_path / "atlas", "atlas", 2, META, arrays())
    return tmp_path / "atlas"


def read(path: Path) -> tuple[dict, dict]:
    return read_folder(path, "atlas", 2)


def test_nobodys_data_is_replaced(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("years of work")
    for victim in (home, home / "thesis.tex"):
        with pytest.raises(FileError) as error:
            write_folder(victim, "atlas", 1, {}, arrays())
        assert str(error.value) == (
            f"{victim} exists and is not a folder of arrays. Choose another name."
        )
    assert (home / "thesis.tex").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", "atlas", 1, {}, arrays())
    assert check_folder(tmp_path / "empty") == []


@pytest.mark.parametrize("at_once", [True, False])
def test_a_folder_is_replaced_as_a_whole(atlas, monkeypatch, at_once):
    if not at_once:
        monkeypatch.setattr(swap, "exchange", lambda *_names: False)
    _, old = read(atlas)
    write_folder(atlas, "atlas", 2, {"new": True}, {"only": np.arange(5)})
    meta, new = read(atlas)
    assert meta == {"new": True}
    assert list(new) == ["only"]
    assert (old["field"] == arrays()["field"]).all(), "what was mapped stays readable"
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_a_link_to_a_folder_stays_a_link(atlas, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(atlas)
    write_folder(link, "atlas", 2, {"new": True}, {})
    assert link.is_symlink()
    assert read(atlas)[0] == {"new": True}


def test_a_failed_write_leaves_the_old_folder(atlas, monkeypatch):
    monkeypatch.setattr(store.Manifest, "encode", lambda _self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_folder(atlas, "atlas", 2, {}, {"only": np.arange(5)})
    monkeypatch.undo()
    assert read(atlas)[0] == META
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_the_system_refusing_the_second_rename_leaves_the_old_folder(atlas, monkeypatch):
    monkeypatch.setattr(swap, "exchange", lambda *_names: False)
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if ".tmp-" in self.name:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(FileError) as error:
        write_folder(atlas, "atlas", 2, {}, {"only": np.arange(5)})
    assert str(error.value) == f"{atlas} cannot be written: No space left on device."
    assert read(atlas)[0] == META
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_what_was_put_aside_is_read_and_put_back(atlas):
    aside = atlas.with_name(".atlas.old-0123")
    atlas.rename(aside)
    shutil.copytree(aside, atlas.with_name(".atlas.tmp-4567"))
    assert read(atlas)[0] == META
    assert check_folder(atlas) == []
    write_folder(atlas, "atlas", 2, {"new": True}, {})
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_a_folder_replaced_while_it_is_read_is_read_again(atlas, monkeypatch):
    mapped = part.Part.map
    replaced = []

    def replace_first(self: part.Part, folder: int) -> np.ndarray:
        if not replaced:
            replaced.append(True)
            write_folder(atlas, "atlas", 2, {"new": True}, {"field": np.arange(5)})
        return mapped(self, folder)

    monkeypatch.setattr(part.Part, "map", replace_first)
    meta, back = read(atlas)
    assert meta == {"new": True}
    assert back["field"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("mode", "before"), [("exchange", "old"), ("two renames", "old"), ("exchange", "none")]
)
def test_a_writer_killed_at_any_line_leaves_the_old_folder_or_the_new_one(mode, before):
    driver = Path(__file__).with_name("kill_writer.py")
    done = subprocess.run(
        [sys.executable, str(driver), mode, before], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(sorted({before, "new"}))
