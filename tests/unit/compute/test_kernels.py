"""Kernels as such: one signature each, compiled once or by another process, and a line of it."""

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.command_line import run
from tests.support.sites import SITES

import isovist as iv
from isovist.compute import (
    KERNELS,
    MAX_EXPONENT,
    decay,
    is_cached,
    logarithm,
    score_2d,
    source_hash,
)
from isovist.compute.infra import compiled


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_built_read_and_unpickled_atlases_share_one_signature(name, tmp_path):
    site = SITES[name]
    iv.write_atlas(site.atlas, tmp_path / "atlas")
    scan = site.look(site.places[0])
    atlases = (
        site.atlas, iv.read_atlas(tmp_path / "atlas"), pickle.loads(pickle.dumps(site.atlas))
    )  # fmt: skip
    answers = [iv.locate(atlas, scan) for atlas in atlases]
    assert not any(array.flags.writeable for array in atlases[2].arrays().values())
    poses = {answer.best.pose.vector.tobytes() for answer in answers}
    assert len(poses) == 1
    used = [made for made in KERNELS.values() if made.loop.signatures]
    assert len(used) >= 4
    assert all(len(made.loop.signatures) == 1 for made in used)


def test_a_kernel_takes_arrays_of_its_kind_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(
        compiled.numba_config, "CACHE_DIR", str(tmp_path)
    )  # nobody compiled it before

    @compiled.kernel("f4[:,:], i8 -> f8[::1]", over="out")
    def total(first, last, table, times, out):
        for i in range(first, last):
            for k in range(table.shape[1]):
                out[i] += times * table[i, k]

    KERNELS.pop(f"{__name__}.total")
    table, out = np.ones((5, 4), dtype=np.float32), np.zeros(5)
    total(table, 2, out)
    table.flags.writeable = False
    total(table[:, ::2], 1, out)
    assert out.tolist() == [10.0] * 5
    if total.loop.signatures:
        with pytest.raises(TypeError):
            total(table.astype(np.float64), 2, out)


@pytest.mark.slow
def test_a_command_that_must_compile_says_so_once_and_not_in_its_output(tmp_path):
    """Of the verbs, `map` has the least to compile."""
    turn = np.pi / 45
    np.savez(
        tmp_path / "log.npz",
        ranges_m=np.full((2, 90), 2.0), pose=np.zeros((2, 3)), angle_min=0.0, angle_inc=turn,
    )  # fmt: skip
    command = (sys.executable, "-m", "isovist", "map", "make", "log.npz", "-o", "map.yaml")
    runs = [
        subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )
        for _ in range(2)
    ]  # fmt: skip
    assert runs[0].stdout == runs[1].stdout != ""
    assert "warm-up" in runs[0].stderr
    assert runs[0].stderr.count("\n") == 1
    assert runs[1].stderr == ""


@pytest.mark.slow
def test_warming_up_compiles_every_kernel_and_says_where_they_are():
    done = run("warm-up", "--json").json
    assert done["kernels"] == len([k for k in KERNELS if k.startswith("isovist.")])
    assert Path(done["folder"]).is_dir()
    assert done["folder"] in run("warm-up").out


def test_kernels_are_compiled_anew_when_a_function_of_another_module_changes(tmp_path):
    """They hold functions of other modules, and Numba asks only for the text of their own."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n")
    before = source_hash.__wrapped__(tmp_path)
    assert source_hash.__wrapped__(tmp_path) == before
    (tmp_path / "b.py").write_text("x = 2\n")
    assert source_hash.__wrapped__(tmp_path) != before
    assert score_2d.loop._cache._cache_file._source_stamp == source_hash(
        Path(compiled.__file__).parents[1]
    )


@pytest.mark.slow
def test_exponentials_and_logarithms_are_those_of_the_library():
    random = np.random.default_rng(3)
    t = np.append(random.uniform(0.0, MAX_EXPONENT, 2000), [0.0, MAX_EXPONENT])
    assert max(abs(decay(x) / math.exp(-x) - 1.0) for x in t) < 1e-12
    assert decay(1e9) == decay(MAX_EXPONENT) < 1e-17
    assert math.isnan(decay(math.nan))
    p = np.append(np.exp(random.uniform(-600.0, 600.0, 2000)), [1.0, 0.5, 2.0, math.sqrt(0.5)])
    assert max(abs(logarithm(x) - math.log(x)) / max(1.0, abs(math.log(x))) for x in p) < 1e-12


OTHER = """
import os
from isovist.compute import COMPILING_ELSEWHERE, compile_in_background, is_cached
from isovist.compute import count_hits as asked
assert not is_cached(asked)
compile_in_background(asked)
assert list(COMPILING_ELSEWHERE) == [asked.name][: int(os.environ["NUMBA_NUM_THREADS"]) - 1]
if COMPILING_ELSEWHERE:
    asked.compile()
    assert is_cached(asked) and not COMPILING_ELSEWHERE
    print(sum(asked.loop.stats.cache_hits.values()), sum(asked.loop.stats.cache_misses.values()))
    compile_in_background(asked)
    assert not COMPILING_ELSEWHERE
"""


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "told"), [(1, ""), (2, "1 0\n")])
def test_what_another_process_compiled_is_read_but_one_core_compiles_for_itself(
    tmp_path, threads, told
):
    own = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": str(threads)}
    command = [sys.executable, "-c", OTHER]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **own}
    )
    assert done.stdout == told, done.stderr


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
    assert is_cached(add)
    os.utime(source, (300, 300))
    assert not is_cached(add)
