"""Every name and every module imports, the product loads no theory, and light parts stay light."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import isovist as iv

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(iv.__path__, "isovist.")
    if not module.name.endswith("__main__")
)
HEAVY = "{'numba', 'matplotlib', 'scipy.spatial', 'scipy.integrate', 'scipy.ndimage'}"
ROOMS = "{'paper', 'simulation', 'evaluation', 'report', 'apps'}"


def test_every_public_name_exists_and_none_is_there_twice():
    assert len(set(iv.__all__)) == len(iv.__all__)
    assert set(iv.__all__) <= set(dir(iv))
    assert all(getattr(iv, name) is not None for name in iv.__all__)
    assert not hasattr(iv, "teleport")


def test_a_module_is_what_import_as_gives():
    """`import a.b as s` takes attributes, so a function of the same name would hide a module."""
    hidden = []
    for name in MODULES:
        scope = {}
        exec(f"import {name} as s", scope)
        if scope["s"] is not importlib.import_module(name) or scope["s"].__name__ != name:
            hidden.append(name)
    assert hidden == []


def in_a_new_process(code):
    """What a Python of its own wrote; it must not fail."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import isovist.localization.answer, isovist as iv; iv.Answer; assert callable(iv.locate)",
        f"import isovist, sys; assert not {HEAVY} & set(sys.modules), set(sys.modules)",
        "import sys, isovist as iv; iv.Tracker\n"
        "rooms = [m.split('.')[1] for m in sys.modules if m.startswith('isovist.')]\n"
        f"assert not {ROOMS} & set(rooms), rooms",
    ],
    ids=["the verb is no package", "light", "a tracker without theory"],
)
def test_a_new_process_imports(code):
    in_a_new_process(code)


@pytest.mark.slow
def test_a_read_only_installation_compiles_into_a_temporary_folder():
    code = (
        "import errno, tempfile\n"
        "real = tempfile.TemporaryFile\n"
        "def refuse(dir=None, **options):\n"
        "    if 'isovist-' in str(dir): return real(dir=dir, **options)\n"
        "    raise OSError(errno.EROFS, 'Read-only file system')\n"
        "tempfile.TemporaryFile = refuse\n"
        "from isovist.compute.trees.boxes import build_bvh\n"
        "from numba.core import config\n"
        "assert 'isovist-' in config.CACHE_DIR\n"
        "assert build_bvh.loop._cache.cache_path.startswith(config.CACHE_DIR)\n"
    )
    done = in_a_new_process(code)
    assert done.stderr.startswith("isovist: ")
    assert done.stderr.count("\n") == 1
