"""Parts of the server: the folder of maps, robots, and files of the process."""

import shutil
import subprocess
import sys

import pytest
from tests.support.errors import refused
from tests.support.serve_door import library
from tests.support.sites import PLANE

import isovist as iv
from isovist.apps import Limits, Maps, RefusedError, Sessions


def test_robots_are_forgotten_after_a_while_and_are_not_too_many():
    now = [0.0]
    sessions = Sessions(Limits(max_sessions=2, session_timeout_s=10.0), lambda: now[0])
    keys = [sessions.begin(name) for name in "ab"]
    with pytest.raises(RefusedError) as error:
        sessions.begin("c")
    assert (error.value.status, error.value.code) == (429, "busy")
    now[0] = 8.0
    assert sessions.get(keys[1]) == "b"
    now[0] = 10.0
    sessions.expire()
    assert list(sessions) == ["a", "b"]
    now[0] = 12.0
    assert sessions.begin("c", "key") == "key"
    assert list(sessions) == ["b", "c"]
    with pytest.raises(RefusedError) as error:
        sessions.get(keys[0])
    assert (error.value.status, error.value.code) == (404, "not_found")


@pytest.mark.slow
def test_a_map_that_is_written_anew_is_taken_up_and_those_who_have_the_old_keep_it(tmp_path):
    folder, scan = library(tmp_path / "maps"), PLANE.look(PLANE.places[0])
    maps = Maps(folder)
    before = maps.library["plane"]
    assert not maps.refresh()
    iv.write_atlas(PLANE.twin_atlas, folder / "plane.atlas")
    assert maps.library["plane"] is before  # until it is looked at
    assert maps.refresh()
    after = maps.library["plane"]
    sizes = [atlas.nodes.size for atlas in (after, before)]
    assert sizes == [atlas.nodes.size for atlas in (PLANE.twin_atlas, PLANE.atlas)]
    assert iv.locate(before, scan).verdict is iv.Verdict.UNIQUE
    # Another map that comes leaves what is open as it is.
    shutil.copytree(folder / "plane.atlas", folder / "second.atlas")
    assert maps.refresh()
    assert maps.library["plane"] is after
    # What cannot be read leaves everything as it was.
    (folder / "second.atlas" / "manifest.json").write_text("{}")
    with pytest.raises(iv.FileError):
        maps.refresh()
    assert maps.names == ("plane", "second")


@pytest.mark.slow
def test_a_map_comes_under_its_name_when_it_is_whole(tmp_path):
    """What a killed server left is removed, and what does not become a map leaves nothing."""
    iv.write_map(iv.SegmentMap.room(4.0, 3.0), tmp_path / "room.geojson")
    files = {"room.geojson": (tmp_path / "room.geojson").read_bytes()}
    folder = library(tmp_path / "maps")
    shutil.copytree(folder / "plane.atlas", folder / ".incoming-0123")
    (folder / ".incoming-0123" / "manifest.json").unlink()
    maps = Maps(folder)
    assert maps.names == ("plane",)
    assert [path.name for path in folder.iterdir()] == ["plane.atlas"]
    (folder / "room.atlas").write_bytes(b"in the way")
    with refused(None, "file_not_writable", iv.FileError):
        maps.add("room", files)
    (folder / "room.atlas").unlink()
    assert [path.name for path in folder.iterdir()] == ["plane.atlas"]
    assert maps.add("room", files)
    assert not maps.add("room", files)
    assert sorted(path.name for path in folder.iterdir()) == ["plane.atlas", "room.atlas"]


ROOM = """
import resource as r, sys
from isovist.apps import allow_connections
r.setrlimit(r.RLIMIT_NOFILE, (100, int(sys.argv[1])))
print(allow_connections(50), r.getrlimit(r.RLIMIT_NOFILE)[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("hard", "told"), [("400", "50 150"), ("120", "40 120")])
def test_a_server_asks_for_as_many_open_files_as_its_connections_need(hard, told):
    command = [sys.executable, "-c", ROOM, hard]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == told
