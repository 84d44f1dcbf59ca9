"""Parts of the server: the folder of maps, robots, connections, memory and files of the process."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from tests.support.errors import refused
from tests.support.serve_door import library
from tests.support.sites import PLANE

import isovist as iv
from isovist.apps import Limits, Maps, RefusedError, Sessions, protocol_of


def test_robots_are_forgotten_after_a_while_and_are_not_too_many():
    now = [0.0]
    sessions = Sessions(Limits(sessions=2, session_s=10.0), lambda: now[0])
    keys = [sessions.begin(name) for name in "ab"]
    with pytest.raises(RefusedError) as error:
        sessions.begin("c")
    assert (error.value.status, error.value.code) == (429, "busy")
    now[0] = 8.0
    assert sessions.get(keys[1]) == "b"
    now[0] = 10.0
    sessions.forget()
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
    before = maps.get("plane")
    assert not maps.refresh()
    iv.write_atlas(PLANE.twin_atlas, folder / "plane.atlas")
    assert maps.get("plane") is before  # until it is looked at
    assert maps.refresh()
    after = maps.get("plane")
    sizes = [atlas.nodes.size for atlas in (after, before)]
    assert sizes == [atlas.nodes.size for atlas in (PLANE.twin_atlas, PLANE.atlas)]
    assert iv.locate(before, scan).verdict is iv.Verdict.UNIQUE
    # Another map that comes leaves what is open as it is.
    shutil.copytree(folder / "plane.atlas", folder / "second.atlas")
    assert maps.refresh()
    assert maps.get("plane") is after
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
        maps.put("room", files)
    (folder / "room.atlas").unlink()
    assert [path.name for path in folder.iterdir()] == ["plane.atlas"]
    assert maps.put("room", files)
    assert not maps.put("room", files)
    assert sorted(path.name for path in folder.iterdir()) == ["plane.atlas", "room.atlas"]


class Line:
    """A connection, and a loop whose time passes when it is told."""

    def __init__(self, protocol):
        import uvicorn
        from uvicorn.server import ServerState

        self.timers, self.closed = [], False
        kept = uvicorn.Config(None, log_level="critical")
        self.http = protocol(kept, ServerState(), {}, _loop=self)
        self.http.connection_made(self)

    def call_later(self, delay, call):
        handle = SimpleNamespace(delay=delay, call=call, cancel=lambda: self.timers.remove(handle))
        self.timers.append(handle)
        return handle

    def create_task(self, work):
        work.close()
        return Future()

    def get_extra_info(self, _name):
        return None

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def write(self, _data):
        return None


def test_a_connection_has_so_long_for_its_first_head_and_no_longer():
    protocol = protocol_of(7.5, 10)
    slow, quick = Line(protocol), Line(protocol)
    for line in (slow, quick):
        assert [timer.delay for timer in line.timers] == [7.5]
    slow.http.data_received(b"GET / HTTP/1.1\r\nHost: ")
    (timer,) = slow.timers
    timer.call()
    assert slow.closed
    quick.http.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
    assert quick.timers == []
    assert not quick.closed


LOOK = """
import ctypes, sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from isovist.apps import share_arenas
print(share_arenas() if sys.argv[1] == "shared" else "", flush=True)
libc, start = ctypes.CDLL(None), Barrier(12)
def take(_):
    start.wait()
    libc.malloc(1000)
with ThreadPoolExecutor(12) as pool:
    list(pool.map(take, range(12)))
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""
ROOM = """
import resource as r, sys
from isovist.apps import room_for
r.setrlimit(r.RLIMIT_NOFILE, (100, int(sys.argv[1])))
print(room_for(50), r.getrlimit(r.RLIMIT_NOFILE)[0])
"""


def printed(code, word, **environment):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC")}
    command, env = [sys.executable, "-c", code, word], plain | environment
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="That of GNU alone has arenas.")
def test_threads_of_a_server_take_memory_from_few_places_unless_it_was_said_from_how_many():
    def places(said):
        return len(re.findall("<heap nr=", said))

    shared, plain = printed(LOOK, "shared"), printed(LOOK, "as it is")
    assert shared.startswith("True\n")
    assert places(shared) <= 3 < places(plain)
    told = printed(LOOK, "shared", MALLOC_ARENA_MAX="1")
    assert (told.partition("\n")[0], places(told)) == ("False", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("hard", "told"), [("400", "50 150"), ("120", "40 120")])
def test_a_server_asks_for_as_many_open_files_as_its_connections_need(hard, told):
    assert printed(ROOM, hard).strip() == told
