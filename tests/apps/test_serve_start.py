"""How a server begins: from how many places its threads take memory."""

import re
import subprocess
import sys

import pytest

LOOK = """
import ctypes, os, sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from isovist.serve.start import share_arenas
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
gnu = pytest.mark.skipif(sys.platform != "linux", reason="That of GNU alone has arenas.")


def begin(word, **environment):
    """What is said, and how many places there are then."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK, word], capture_output=True, text=True, check=True,
        env={"PATH": "", **environment},
    )  # fmt: skip
    return done.stdout.split("\n", 1)[0], len(re.findall("<heap nr=", done.stdout))


@gnu
def test_threads_of_a_server_take_memory_from_few_places():
    said, few = begin("shared")
    _, many = begin("as it is")
    assert said == "True"
    assert few <= 3 < many


@gnu
def test_whoever_says_how_many_places_is_heard():
    assert begin("shared", MALLOC_ARENA_MAX="1") == ("False", 1)
