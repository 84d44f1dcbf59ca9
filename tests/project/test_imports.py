"""Every module imports by its own name, and the product loads no theory."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import isovist
from isovist.compute import count_hits

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(isovist.__path__, "isovist.")
    if not module.name.endswith("__main__")
)


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
def test_the_tracker_loads_no_theory_and_no_pictures():
    code = (
        "import sys, isovist as iv; iv.Tracker; "
        "rooms = ('descriptor', 'theory', 'bench', 'report', 'viz'); "
        "found = [m for m in sys.modules if m.startswith('isovist.') and m.split('.')[1] in rooms];"
        "sys.exit(', '.join(found) or 0)"
    )
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
        "from isovist.kernels.bvh import build_bvh\n"
        "from numba.core import config\n"
        "assert 'isovist-' in config.CACHE_DIR\n"
        "assert build_bvh.loop._cache.cache_path.startswith(config.CACHE_DIR)\n"
    )
    done = in_a_new_process(code)
    assert done.stderr.startswith("isovist: no folder for compiled code can be written to")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_kept_kernel_is_read_without_what_only_compiling_needs():
    code = (
        "import sys\n"
        "from isovist.kernels.mapping import count_hits as asked\n"
        "asked.compile()\n"
        "hits, known = asked.loop.stats.cache_hits, 'numba.np.arraymath' in sys.modules\n"
        "print(sum(hits.values()), known)\n"
    )
    count_hits.compile()  # so that it is kept
    done = in_a_new_process(code)
    assert done.stdout == "1 False\n"


@pytest.mark.slow
def test_the_command_line_needs_no_pydantic():
    code = (
        "import sys\n"
        "from isovist.cli.app import app\n"
        "try:\n    app(['info', 'nowhere'], standalone_mode=False)\n"
        "except Exception as error:\n    print(error)\n"
        "sys.exit('pydantic' in sys.modules)\n"
    )
    done = in_a_new_process(code)
    assert "nowhere" in done.stdout
