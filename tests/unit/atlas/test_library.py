"""A folder of atlases: opened late, closed early, and refused with one line."""

import json
import pickle
import shutil

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES, SPACE, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import FileError, InputError, write_scan
from isovist.apps import app
from isovist.atlas import bytes_of, is_library
from isovist.localization.contrast import contrast
from isovist.report import draw_answer
from isovist.storage import write_folder

both = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@pytest.fixture
def folder(tmp_path):
    """Three maps of the plane, the second of which has the places."""
    shelf = tmp_path / "floors"
    shelf.mkdir()
    hall = iv.build(iv.SegmentMap.room(9.0, 7.0))
    for name, atlas in (("first", PLANE.twin_atlas), ("second", PLANE.atlas), ("third", hall)):
        iv.write_atlas(atlas, shelf / f"{name}.atlas")
    (shelf / "notes.txt").write_text("files are nobody's business")
    (shelf / ".hidden").mkdir()
    return shelf


@pytest.mark.slow
@both
def test_a_folder_of_atlases_is_several_maps(site, tmp_path):
    iv.write_atlas(site.twin_atlas, tmp_path / "first")
    iv.write_atlas(site.atlas, tmp_path / "second.atlas")
    library = iv.read_library(tmp_path)
    assert list(library) == ["first", "second"]
    truth = site.places[0]
    answer = iv.locate(library, site.look(truth))
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "second")
    assert gap(answer.best.pose, truth)[0] < 0.1


def test_atlases_are_opened_when_they_are_needed(folder):
    library = iv.read_library(folder)
    assert library.opened == ()
    assert "second" in library
    assert "fourth" not in library
    assert library.opened == ()
    assert library["second"] is library["second"]
    assert library.opened == ("second",)
    assert library.taken == bytes_of(library["second"])
    with pytest.raises(KeyError):
        library["fourth"]


@pytest.mark.slow
def test_the_one_not_used_for_longest_is_closed(folder):
    whole = iv.read_library(folder)
    sizes = {name: bytes_of(atlas) for name, atlas in whole.items()}
    assert whole.opened == ("first", "second", "third")
    small = iv.read_library(folder, memory=sizes["first"] + sizes["second"] + sizes["third"] - 1)
    for name in ("first", "second", "first", "third"):
        assert small[name] is not None
    assert small.opened == ("first", "third")
    one = iv.read_library(folder, memory=1)
    scan = PLANE.look(PLANE.places[0])
    tight, free = iv.locate(one, scan), iv.locate(whole, scan)
    assert len(one.opened) == 1
    assert (tight.map, tight.best.pose) == (free.map, free.best.pose) == ("second", free.best.pose)


def test_a_library_goes_to_another_process_closed(folder):
    library = iv.read_library(folder, memory=5e8)
    assert library["second"] is not None
    there = pickle.loads(pickle.dumps(library))
    assert (there.opened, there.memory, list(there)) == ((), 5e8, list(library))
    assert (there["second"].nodes == library["second"].nodes).all()


@pytest.mark.slow
def test_bad_libraries_are_one_line(folder, tmp_path):
    def refused(path, kind=FileError, **given):
        with pytest.raises(kind) as error:
            iv.read_library(path, **given)
        return str(error.value)

    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused(empty) == ("empty holds no atlas. Write some: isovist build MAP -o empty/NAME.")
    assert refused(tmp_path / "none") == f"{tmp_path / 'none'}: there is no such folder."
    assert refused(folder, InputError, memory=0) == (
        "`memory` must be a number of bytes above 0, got 0."
    )
    (folder / "loose").mkdir()
    assert refused(folder) == (
        "loose is not an atlas: it has no manifest.json. Build it again, or put it elsewhere."
    )
    (folder / "loose").rmdir()
    write_folder(folder / "rose", "rose", 1, {}, {"a": np.zeros(3)})
    assert refused(folder) == "rose is a folder of kind 'rose', not an atlas."
    shutil.rmtree(folder / "rose")
    manifest = folder / "third.atlas" / "manifest.json"
    sound = manifest.read_text()
    manifest.write_text(sound.replace("spacing", "spacinG", 1))
    assert refused(folder) == ("third.atlas/manifest.json is damaged, or isovist did not write it.")
    manifest.write_text(sound)
    shutil.copytree(folder / "third.atlas", folder / "third")
    assert refused(folder) == "third and third.atlas are one map by name. Rename one."
    shutil.rmtree(folder / "third")
    iv.write_atlas(SPACE.atlas, folder / "space")
    assert refused(folder, InputError) == (
        "Maps must all be of the plane or all in space: 'first' is of the plane, and 'space' is "
        "in space."
    )
    shutil.rmtree(folder / "space")
    near = iv.build(iv.SegmentMap.room(4.0, 3.0), settings=iv.AtlasSettings(reach=12.0))
    iv.write_atlas(near, folder / "near")
    assert refused(folder, InputError) == (
        "'first' was built with `reach` 30, and 'near' with 12. Build both with the same settings."
    )


def test_a_damaged_array_is_named_when_its_atlas_is_opened(folder):
    array = next((folder / "third.atlas").glob("cells.*.npy"))
    data = bytearray(array.read_bytes())
    data[-1] ^= 1
    array.write_bytes(data)
    library = iv.read_library(folder)
    with pytest.raises(FileError) as error:
        iv.locate(library, PLANE.look(PLANE.places[0]))
    assert str(error.value) == f"third.atlas/{array.name} is damaged: its checksum differs."


@pytest.mark.slow
def test_the_command_takes_several_maps_and_libraries(folder, tmp_path):
    truth = PLANE.places[0]
    scan = tmp_path / "scan.json"
    write_scan(PLANE.look(truth), scan)
    runner = CliRunner()
    picture = tmp_path / "answer.png"
    atlases = [str(folder / f"{name}.atlas") for name in ("first", "second", "third")]
    for maps in (atlases, [str(folder)]):
        done = runner.invoke(app, ["locate", *maps, str(scan), "--json", "--why"])
        assert done.exit_code == 0
        told = json.loads(done.output)
        assert told["map"] == told["estimates"][0]["map"] == "second"
        assert (
            np.hypot(told["estimates"][0]["x"] - truth.x, told["estimates"][0]["y"] - truth.y) < 0.1
        )
    done = runner.invoke(app, ["locate", *atlases, str(scan), "--figure", str(picture)])
    assert done.output.splitlines()[1].startswith("  1. second:  x ")
    assert picture.stat().st_size > 10_000
    alone = json.loads(runner.invoke(app, ["locate", atlases[1], str(scan), "--json"]).output)
    assert "map" not in alone
    assert "map" not in alone["estimates"][0]


@pytest.mark.slow
def test_the_command_says_between_which_maps(folder, tmp_path):
    shutil.copytree(folder / "second.atlas", tmp_path / "upper.atlas")
    scan, picture = tmp_path / "scan.json", tmp_path / "answer.png"
    write_scan(PLANE.look(PLANE.places[0]), scan)
    maps = [str(folder / "second.atlas"), str(tmp_path / "upper.atlas")]
    done = CliRunner().invoke(app, ["locate", *maps, str(scan), "--why", "--figure", str(picture)])
    assert done.exit_code == 1
    first = done.output.splitlines()[0]
    assert first.startswith("ambiguous: 1 other place ")
    assert first.endswith(" it may be second or upper.")
    assert picture.exists()


@pytest.mark.slow
@both
def test_a_picture_is_of_the_map_of_the_best_place_and_says_so(site):
    for maps, title in (
        ({"a": site.twin_atlas, "b": site.atlas}, "unique on b:"),
        ({"a": site.atlas, "b": site.atlas}, "ambiguous, at best on "),
    ):
        scan = site.look(site.places[0])
        answer = iv.locate(maps, scan)
        figure = draw_answer(maps, scan, answer, contrast=contrast(maps, scan, answer))
        assert figure.get_suptitle().startswith(title)
        assert figure.axes[0].get_title().endswith(f": {answer.map}")
        number = f" on {answer.map}: "
        assert any(axes.get_title().startswith(f"Place 1{number}") for axes in figure.axes[1:])


@pytest.mark.slow
def test_what_the_command_cannot_do_with_several_maps_is_one_line(folder, tmp_path):
    scan = tmp_path / "scan.json"
    write_scan(PLANE.look(PLANE.places[0]), scan)
    one, two = str(folder / "first.atlas"), str(folder / "second.atlas")
    cases = {
        ("--near", "1", "1", "2"): "`--near` and `--heading` are about one map, and there are "
        "several. Give that map alone.",
        ("--prove",): "A proof is of one map, got 2 by name. Prove it on the map of the answer "
        "alone.",
    }
    for options, text in cases.items():
        done = CliRunner().invoke(app, ["locate", one, two, str(scan), *options])
        assert str(done.exception) == text
    done = CliRunner().invoke(app, ["locate", one, one, str(scan)])
    assert str(done.exception) == f"The map {one} is given twice. Give each map once."


def test_a_library_is_a_folder_that_is_no_atlas(folder):
    assert is_library(folder)
    assert not is_library(folder / "first.atlas")
    assert not is_library(folder / "notes.txt")
