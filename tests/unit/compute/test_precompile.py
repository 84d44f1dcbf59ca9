"""Kernels that another process compiles, and functions that are part of kernels."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from isovist.compute import compile_beside, inner, is_kept, kernel
from isovist.kernels import beside, compiled

OTHER = """
import sys
from isovist.kernels import compiled
from isovist.kernels.beside import compile_beside, is_kept
from isovist.kernels.mapping import count_hits as asked
assert not is_kept(asked)
compile_beside(asked)
assert list(compiled.BESIDE) == [asked.name]
asked.compile()
assert is_kept(asked) and not compiled.BESIDE
print(sum(asked.loop.stats.cache_hits.values()), sum(asked.loop.stats.cache_misses.values()))
compile_beside(asked)
assert not compiled.BESIDE
"""


@pytest.mark.slow
def test_what_another_process_compiled_is_read_and_not_compiled_again(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-c", OTHER],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert run.stdout == "1 0\n", run.stderr


def test_one_core_and_a_cache_of_one_process_compile_for_themselves(monkeypatch):
    monkeypatch.setattr(beside, "is_kept", lambda _kernel: False)
    monkeypatch.setattr(beside.subprocess, "Popen", pytest.fail)
    only = next(iter(compiled.KERNELS.values()))
    monkeypatch.setattr(beside, "COUNT", 1)
    compile_beside(only)
    monkeypatch.setattr(beside, "COUNT", 2)
    monkeypatch.setattr(beside, "KEPT", False)
    compile_beside(only)


def test_a_kernel_whose_file_changed_is_not_kept(tmp_path, monkeypatch):
    source, folder = tmp_path / "some.py", tmp_path / "cache"
    folder.mkdir()
    source.write_text("")
    index = folder / "some.add-1.py311.nbi"
    index.write_bytes(b"")

    stats = SimpleNamespace(cache_path=str(folder))
    add = SimpleNamespace(__name__="add", __wrapped__=None, loop=SimpleNamespace(stats=stats))
    monkeypatch.setattr(beside.inspect, "getfile", lambda _function: str(source))
    os.utime(source, (100, 100))
    os.utime(index, (200, 200))
    assert is_kept(add)
    os.utime(source, (300, 300))
    assert not is_kept(add)


@inner
def _times(value, by):
    return value * by


@kernel("f8[::1] -> f8[::1]")
def _five_times(values, out):
    for k in range(len(values)):
        out[k] = _times(values[k], 2) + _times(values[k], 3)


@pytest.mark.slow
def test_a_function_of_kernels_is_compiled_once_for_all_numbers_and_can_be_called():
    out = np.zeros(2)
    _five_times(np.array([1.0, 2.0]), out)
    np.testing.assert_array_equal(out, [5.0, 10.0])
    assert len(_times.overloads) <= 1  # none where the cache had the kernel
    assert _times(2.0, 3) == 6.0
