"""Folders of arrays, and files, are replaced as a whole, whatever happens to the writer."""

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.support.errors import refused
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


@pytest.fixture
def when_it_replaces(monkeypatch):
    """Have a function called instead of the next replacement of a file; it is given how to."""
    replace, waiting = Path.replace, []

    def instead(draft: Path, target: Path) -> None:
        if waiting:
            waiting.pop()(lambda: replace(draft, target))
        else:
            replace(draft, target)

    monkeypatch.setattr(Path, "replace", instead)
    return waiting.append


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
        with refused(kind=FileError, code="file_exists"):
            write_folder(victim, "atlas", 1, {}, arrays())
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
    old = tmp_path / "old"
    old.mkdir()
    (old / "a.npy").write_bytes(b"")
    (old / "manifest.json").write_bytes(body + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body))
    with refused(kind=FileError, code="outdated_file") as caught:
        read(old)
    assert "'isovist folder 1'" in str(caught.value)
    write_folder(old, "atlas", 2, META, arrays())
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
def test_a_failed_write_leaves_what_was_there(atlas, when_it_replaces, name):
    def refuse(_replace) -> None:
        raise OSError(28, "No space left on device")

    when_it_replaces(refuse)
    with refused(kind=FileError, code="file_not_writable") as caught:
        write_folder(atlas.parent / name, "atlas", 2, {}, {"only": np.arange(5)})
    assert ("No space left" in str(caught.value)) == (name != "no/atlas")
    assert read(atlas)[0] == META
    assert names(atlas) == ["cells.npy", "field.npy", "manifest.json"]
    assert [entry.name for entry in atlas.parent.iterdir()] == ["atlas"]


def test_an_interrupt_just_after_the_new_manifest_keeps_the_new_folder(atlas, when_it_replaces):
    def interrupted(replace) -> None:
        replace()
        raise KeyboardInterrupt

    when_it_replaces(interrupted)
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


def test_two_writers_at_once_leave_the_folder_of_the_last(atlas, when_it_replaces):
    """The second writes all of its folder while the first is about to put its manifest there."""

    def second_first(replace) -> None:
        write_folder(atlas, "atlas", 2, {"writer": 2}, {"b": np.arange(4)})
        assert read(atlas)[0] == {"writer": 2}
        replace()

    when_it_replaces(second_first)
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
