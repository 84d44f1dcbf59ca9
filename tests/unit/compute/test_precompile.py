"""Kernels that another process compiles, and functions that are part of kernels."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from isovist.compute import inner, is_kept, kernel

OTHER = """
import os
from isovist.compute import BESIDE, compile_beside, is_kept
from isovist.compute import count_hits as asked
assert not is_kept(asked)
compile_beside(asked)
assert list(BESIDE) == [asked.name][: int(os.environ["NUMBA_NUM_THREADS"]) - 1]
if BESIDE:
    asked.compile()
    assert is_kept(asked) and not BESIDE
    print(sum(asked.loop.stats.cache_hits.values()), sum(asked.loop.stats.cache_misses.values()))
    compile_beside(asked)
    assert not BESIDE
"""


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "told"), [(1, ""), (2, "1 0\n")])
def test_what_another_process_compiled_is_read_but_one_core_compiles_for_itself(
    tmp_path, threads, told
):
    own = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": str(threads)}
    command = [sys.executable, "-c", OTHER]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **own}
    )
    assert run.stdout == told, run.stderr


def test_a_kernel_whose_file_changed_is_not_kept(tmp_path):
    source, index = tmp_path / "some.py", tmp_path / "some.add-1.py311.nbi"
    source.write_text("def add(): ...\n")
    index.write_bytes(b"")
    named = {}
    exec(compile(source.read_text(), str(source), "exec"), named)
    loop = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    add = SimpleNamespace(__name__="add", __wrapped__=named["add"], loop=loop)
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
