"""Kernels as such: one signature each, compiled once, and a line that says so."""

import json
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.sites import SITES
from typer.testing import CliRunner

import isovist as iv
from isovist.apps import app
from isovist.compute import GONE, KERNELS, decay, kernel, logarithm, score, text_of
from isovist.kernels import compiled


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
    poses = {answer.best.pose.vector.tobytes() for answer in answers}
    assert len(poses) == 1
    used = [made for made in KERNELS.values() if made.loop.signatures]
    assert len(used) >= 4
    assert all(len(made.loop.signatures) == 1 for made in used)


@pytest.mark.parametrize("name", SITES)
def test_an_unpickled_atlas_is_read_only(name):
    atlas = pickle.loads(pickle.dumps(SITES[name].atlas))
    assert not any(array.flags.writeable for array in atlas.arrays().values())


def test_a_kernel_takes_arrays_of_its_kind_and_no_others():
    @kernel("f4[:,:], i8 -> f8[::1]", over="out")
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
    assert len(total.loop.signatures) == 1
    with pytest.raises(TypeError, match="No matching definition"):
        total(table.astype(float), 2, out)


@pytest.mark.slow
def test_a_command_that_must_compile_says_so_once_and_not_in_its_output(tmp_path):
    """Of the verbs, `map` has the least to compile."""
    turn = np.pi / 45
    np.savez(
        tmp_path / "log.npz",
        ranges_m=np.full((2, 90), 2.0), pose=np.zeros((2, 3)), angle_min=0.0, angle_inc=turn,
    )  # fmt: skip
    command = (sys.executable, "-m", "isovist", "map", "log.npz", "-o", "map.yaml")
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
    done = json.loads(CliRunner().invoke(app, ["warm-up", "--json"]).output)
    assert done["kernels"] == len([k for k in KERNELS if k.startswith("isovist.")])
    assert Path(done["folder"]).is_dir()
    assert done["folder"] in CliRunner().invoke(app, ["warm-up"]).output


def test_kernels_are_compiled_anew_when_a_function_of_another_module_changes(tmp_path):
    """They hold functions of other modules, and Numba asks only for the text of their own."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n")
    before = text_of.__wrapped__(tmp_path)
    assert text_of.__wrapped__(tmp_path) == before
    (tmp_path / "b.py").write_text("x = 2\n")
    assert text_of.__wrapped__(tmp_path) != before
    assert score.loop._cache._cache_file._source_stamp == text_of(Path(compiled.__file__).parent)


@pytest.mark.slow
def test_exponentials_and_logarithms_are_those_of_the_library():
    random = np.random.default_rng(3)
    t = np.append(random.uniform(0.0, GONE, 2000), [0.0, GONE])
    assert max(abs(decay(x) / math.exp(-x) - 1.0) for x in t) < 1e-12
    assert decay(1e9) == decay(GONE) < 1e-17
    assert math.isnan(decay(math.nan))
    p = np.append(np.exp(random.uniform(-600.0, 600.0, 2000)), [1.0, 0.5, 2.0, math.sqrt(0.5)])
    assert max(abs(logarithm(x) - math.log(x)) / max(1.0, abs(math.log(x))) for x in p) < 1e-12
