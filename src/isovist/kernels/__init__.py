"""Compiled loops.

Numba keeps what it has compiled beside this package, or in the user's cache where the package is
read-only.  Where neither can be written to, as in a hardened container, it would refuse to compile:
then a temporary folder does, and everything is compiled anew in each process.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from numba.core import config
from numba.misc import appdirs

NUMBA: Any = config
FOLDERS: Any = appdirs.AppDirs


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _find_cache() -> None:
    beside = Path(__file__).parent / "__pycache__"
    of_user = Path(FOLDERS(appname="numba", appauthor=False).user_cache_dir)
    if NUMBA.CACHE_DIR or _writable(beside) or _writable(of_user):
        return
    NUMBA.CACHE_DIR = tempfile.mkdtemp(prefix="isovist-")
    sys.stderr.write(
        "isovist: no folder for compiled code can be written to, so every process compiles anew "
        "(half a minute). Set NUMBA_CACHE_DIR to one that can.\n"
    )


_find_cache()
