"""Kernels: compiled loops with one signature each, compiled when they are first called.

A signature is written as Numba writes types, inputs before the arrow and outputs after it:

    "f4[:,::1], f8 -> f8[::1]"

is a read-only contiguous table of singles, a number, and a list that is written to.  Arrays that
may be written to are good as inputs too, so that no array of the right kind is compiled for anew.
An output must not overlap any other argument.

Numba keeps what it has compiled beside this package, or in the user's cache where the package is
read-only.  Where neither can be written to, as in a hardened container, it would refuse to compile:
then a temporary folder does, and everything is compiled anew in each process.
"""

import gc
import inspect
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from numba import njit
from numba.core import config, event
from numba.core import types as numba_types
from numba.core.caching import FunctionCache
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.misc import appdirs

from isovist.compute.infra.threads import share

NUMBA: Any = config
types: Any = numba_types
FOLDERS: Any = appdirs.AppDirs
DISPATCHER: Any = CPUDispatcher
KERNELS: "dict[str, Kernel]" = {}
"""By module and name, as far as their modules are imported."""
BESIDE: dict[str, Callable[[], object]] = {}
"""Kernels that another process is compiling, by name: what waits for it (`infra.precompile`)."""
_ONE_BY_ONE = Lock()
COMPILING = "compiling, once on this machine; `isovist warm-up` compiles everything beforehand."


class Kernel:
    """A compiled loop; call it like the function that it is made of.

    With `over`, the function takes `first` and `last` before its arguments and works on that part
    of the rows of the argument of that name; a call goes over all of them, on all cores.

    Attributes:
        name: Its module and its own.
        loop: The dispatcher of Numba.
        signature: Types of its arguments.
        ready: Whether it is compiled, in this process.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        text: str,
        over: str | None,
        block: int,
        most: int | None,
        options: dict[str, Any],
    ) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__wrapped__ = function
        self.loop = njit(function, pipeline_class=_Apart, **COMMON, **options)
        if not NUMBA.DISABLE_JIT:
            self.loop._cache = _Kept(function)
        self.name = f"{function.__module__}.{function.__name__}"
        self._text, self._block, self._most = text, block, most
        names = list(inspect.signature(function).parameters)
        self._over = None if over is None else names.index(over) - 2
        self.ready = bool(NUMBA.DISABLE_JIT)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Types of the arguments of the loop."""
        given, _, written = self._text.partition("->")
        ends = () if self._over is None else (types.int64, types.int64)
        return (*ends, *(_read_only(kind) for kind in _types(given)), *_types(written))

    def compile(self) -> None:
        """Compile it, or read it from the cache, unless that is done."""
        if not self.ready:
            with _ONE_BY_ONE:  # of threads that come at once, the first compiles
                if not self.ready:
                    BESIDE.pop(self.name, bool)()
                    with _uncollected():
                        self.loop.compile(self.signature)
                    self.loop.disable_compile()
                    self.ready = True

    def __call__(self, *arguments: Any) -> Any:
        if not self.ready:
            self.compile()
        if self._over is None:
            return self.loop(*arguments)
        return share(self.loop, len(arguments[self._over]), self._block, self._most, arguments)


def compile_each(*kernels: Kernel) -> None:
    """Compile kernels; those that another process is compiling come last."""
    for each in sorted(kernels, key=lambda one: one.name in BESIDE):
        each.compile()


def kernel(
    signature: str,
    *,
    over: str | None = None,
    block: int = 1,
    most: int | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function; see `Kernel` and `threads.share`.

    Args:
        signature: Types of its arguments.
        over: The argument whose rows are shared out among cores; one call does all without.
        block: Parts begin at multiples of this.
        most: Rows of a part, when parts are to be as large as that allows.
        options: Of Numba.
    """

    def make(function: Callable[..., Any]) -> Kernel:
        made = Kernel(function, signature, over, block, most, options)
        return KERNELS.setdefault(made.name, made)

    return make


class _Apart(Compiler):
    """What is written to overlaps no other argument, which lets loops become vector code."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags.noalias = True


class _Kept(FunctionCache):
    """What is kept of a kernel, read without all that only compiling needs: 0.2 s in a process.

    Numba would keep it as long as the file of the kernel stays as it is, but functions of others
    are compiled into it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        folder = Path(__file__).parents[1]
        if folder.is_dir():  # not in a program that was packed into one file
            self._cache_file._source_stamp = text_of(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            kept = self._load_overload(sig, target_context)
        if kept is None:
            _load_arrays()
        return kept


@cache
def text_of(folder: Path) -> str:
    """Return a hash of the text of all modules below a folder."""
    modules = sorted(folder.rglob("*.py"))
    texts = (path.read_bytes() for path in modules)
    return sha256(b"".join(sha256(text).digest() for text in texts)).hexdigest()


COMMON: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Two thirds of a small function would be ways into it from Python and C.
NO_WAY_IN = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Inner(DISPATCHER):  # type: ignore[misc]
    """A function that kernels call: compiled into each of them, with no way in from outside.

    A call from Python, which tests make, compiles it once more, with one.
    """

    def __call__(self, *arguments: Any) -> Any:
        if "_alone" not in vars(self):
            self._alone = njit(self.py_func, pipeline_class=_Apart, **COMMON)
        return self._alone(*arguments)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """A number that stands in a call is one of its kind, not a reason to compile once more."""
        return super().get_call_template(tuple(types.unliteral(kind) for kind in args), kws)


def inner(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function that kernels call; options are those of Numba."""
    if function is None:
        return lambda given: inner(given, **options)
    if NUMBA.DISABLE_JIT:
        return function
    options = {**COMMON, **NO_WAY_IN, **options}
    return Inner(function, targetoptions=options, pipeline_class=_Apart)


def within(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make an `inner` function that is called once per ray or so: it must not make any array.

    It becomes part of whoever calls it, and references to arrays are not counted, each of which
    takes as long as a box.
    """
    return inner(function, forceinline=True, _nrt=False, **options)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without a search for garbage, of which compiling makes little: it would take 6 % of it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def _load_arrays() -> None:
    """Load what Numba knows of arrays, but not SciPy's linear algebra, which takes a tenth of 1 s.

    Numba would look whether it is there (it is), and looks again whenever it is used.
    """
    linalg: Any = import_module("numba.np.linalg")
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


def _types(text: str) -> tuple[Any, ...]:
    return tuple(eval(f"({text},)", vars(types))) if text.strip() else ()


def _read_only(kind: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([_read_only(part) for part in kind])
    return kind.copy(readonly=True) if isinstance(kind, types.Array) else kind


class _Notice(event.Listener):
    """Says once that kernels are being compiled, since nothing else happens for a while."""

    said = False

    def on_start(self, compilation: Any) -> None:
        function = getattr(compilation.data["dispatcher"], "py_func", None)
        module = getattr(function, "__module__", None) or ""  # somebody else's may have none
        if not self.said and module.startswith("isovist.compute."):
            self.said = True
            logging.getLogger("isovist").info(COMPILING)

    def on_end(self, compilation: Any) -> None:
        pass


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _find_cache() -> bool:
    """Whether what is compiled is kept for other processes."""
    beside = Path(__file__).parent / "__pycache__"
    of_user = Path(FOLDERS(appname="numba", appauthor=False).user_cache_dir)
    if NUMBA.CACHE_DIR or _writable(beside) or _writable(of_user):
        return True
    NUMBA.CACHE_DIR = tempfile.mkdtemp(prefix="isovist-")
    sys.stderr.write(
        "isovist: no folder for compiled code can be written to, so every process compiles anew "
        "(half a minute). Set NUMBA_CACHE_DIR to one that can.\n"
    )
    return False


KEPT = _find_cache()
NOTICE = _Notice()
event.register("numba:compile", NOTICE)
