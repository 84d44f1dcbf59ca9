"""A folder of atlases: opened late, closed early, and refused with one line."""

import pickle
import shutil

import pytest
from tests.support.atlas_parts import write_as
from tests.support.command_line import one_line, run
from tests.support.errors import refused
from tests.support.sites import PLANE, SITES, SPACE, gap

import isovist as iv
from isovist import FileError


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


@pytest.fixture
def scan(tmp_path):
    iv.write_scan(PLANE.look(PLANE.places[0]), tmp_path / "scan.json")
    return tmp_path / "scan.json"


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_folder_of_atlases_is_several_maps(site, tmp_path):
    iv.write_atlas(site.twin_atlas, tmp_path / "first")
    iv.write_atlas(site.atlas, tmp_path / "second.atlas")
    library = iv.read_library(tmp_path)
    assert list(library) == ["first", "second"]
    answer = iv.locate(library, site.look(site.places[0]))
    assert (answer.verdict, answer.map) == (iv.Verdict.UNIQUE, "second")
    assert gap(answer.best.pose, site.places[0])[0] < 0.1


def test_atlases_are_opened_when_they_are_needed(folder):
    library = iv.read_library(folder)
    assert "second" in library
    assert "fourth" not in library
    assert library.opened == ()
    assert library["second"] is library["second"]
    assert library.opened == ("second",)
    assert library.open_bytes >= sum(a.nbytes for a in library["second"].arrays().values())
    with pytest.raises(KeyError):
        library["fourth"]


@pytest.mark.slow
def test_the_one_not_used_for_longest_is_closed(folder):
    whole = iv.read_library(folder)
    assert [atlas.dimension for atlas in whole.values()] == [2, 2, 2]
    assert whole.opened == ("first", "second", "third")
    small = iv.read_library(folder, memory=whole.open_bytes - 1)
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


def near_atlas():
    return iv.build(iv.SegmentMap.room(4.0, 3.0), settings=iv.AtlasSettings(reach=12.0))


def damage(shelf):
    manifest = shelf / "third.atlas" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("spacing", "spacinG", 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "kind", "code"),
    [
        (lambda shelf: (shelf / "loose").mkdir(), FileError, "unknown_format"),
        (lambda shelf: write_as(shelf / "basis", "basis", 1), FileError,
         "unknown_format"),
        (damage, FileError, "invalid_file"),
        (lambda shelf: shutil.copytree(shelf / "third.atlas", shelf / "third"), FileError,
         "invalid_file"),
        (lambda shelf: iv.write_atlas(SPACE.atlas, shelf / "space"), iv.InputError,
         "wrong_dimension"),
        (lambda shelf: iv.write_atlas(near_atlas(), shelf / "near"), iv.InputError, "conflict"),
        (shutil.rmtree, FileError, "not_found"),
        (lambda shelf: [shutil.rmtree(path) for path in shelf.glob("*.atlas")], FileError,
         "invalid_file"),
    ],
)  # fmt: skip
def test_bad_libraries_are_refused(folder, change, kind, code):
    change(folder)
    with refused(kind=kind, code=code):
        iv.read_library(folder)


@pytest.mark.parametrize("name", ["memory", "max_maps"])
def test_numbers_of_a_library_are_above_0(folder, name):
    with refused(name):
        iv.read_library(folder, **{name: 0})


def test_a_damaged_array_is_named_when_its_atlas_is_opened(folder):
    array = next((folder / "third.atlas").glob("cells.*.npy"))
    data = bytearray(array.read_bytes())
    data[-1] ^= 1
    array.write_bytes(data)
    library = iv.read_library(folder)
    with refused(kind=FileError, code="invalid_file") as caught:
        iv.locate(library, PLANE.look(PLANE.places[0]))
    assert f"third.atlas/{array.name}" in str(caught.value)


@pytest.mark.slow
def test_the_command_takes_several_maps_and_libraries(folder, scan):
    truth, picture = PLANE.places[0], folder / "answer.png"
    atlases = [folder / f"{name}.atlas" for name in ("first", "second", "third")]
    for maps in (atlases, [folder]):
        line = run("locate", *maps, scan, "--json", "--why", "--figure", picture)
        assert line.code == 0
        assert line.json["map"] == line.json["estimates"][0]["map"] == "second"
        assert gap(line.pose, truth)[0] < 0.1
        assert picture.read_bytes()[:4] == b"\x89PNG"
        picture.unlink()
    alone = run("locate", atlases[1], scan, "--json").json
    assert "map" not in alone
    assert "map" not in alone["estimates"][0]


@pytest.mark.slow
def test_the_command_says_between_which_maps_and_proves_on_one_alone(folder, scan, tmp_path):
    shutil.copytree(folder / "second.atlas", tmp_path / "upper.atlas")
    words = ("locate", folder / "second.atlas", tmp_path / "upper.atlas", scan)
    line = run(*words)
    assert line.code == 1
    assert line.out.splitlines()[1].startswith(("  1. second: ", "  1. upper: "))
    assert run(*words, "--json").json["reasons"][:2] == ["competitors", "several_maps"]
    assert one_line(*words, "--prove").out == ""
