"""Compile loops: one signature for each, compiled at the first call and cached on disk.

A signature is written as Numba writes types, inputs before the arrow and outputs after it:

    "f4[:,::1], f8 -> f8[::1]"

This kernel takes a read-only contiguous float32 table and a number, and writes to a float64 vector.
Writable arrays are accepted as inputs too, so that no kernel is compiled twice. An output must not
overlap any other argument. Types of arguments stand in the signature and nowhere else: kernels have
no annotations.

Functions that kernels call are a `subroutine`, or `inline` where they run once per ray or so.

Numba caches compiled code beside this package, or in the user's cache if the package is read-only.
If neither can be written to, as in a hardened container, a temporary folder takes its place, and
each process compiles anew.
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
from pathlib import Path
from threading import Lock
from typing import Any

from numba import njit
from numba.core import config, event
from numba.core import types as numba_types
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from isovist.compute.infra.threads import run_parallel

numba_config: Any = config
types: Any = numba_types
DISPATCHER: Any = CPUDispatcher
KERNELS: "dict[str, Kernel]" = {}
"""Kernels of the modules that are imported, by module and name."""
COMPILING_ELSEWHERE: dict[str, Callable[[], object]] = {}
"""For each kernel that another process compiles: the function that waits for that process."""
COMPILE_LOCK = Lock()
COMPILING_NOTICE = (
    "compiling, once on this machine; `isovist warm-up` compiles everything beforehand."
)
NO_CACHE_WARNING = (
    "isovist: no folder for compiled code can be written to, so every process compiles anew "
    "(half a minute). Set NUMBA_CACHE_DIR to one that can.\n"
)
TEMPORARY_PREFIX = "isovist-uncached-"
COMMON: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Two thirds of a small function would be its entry points from Python and C.
NO_ENTRY_POINTS = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Kernel:
    """A compiled loop, called like the function that it is made of.

    With `over`, the function takes `first` and `last` before its arguments. It works on these rows
    of the argument named `over`; a call covers all rows, shared among the cores.

    Attributes:
        name: Module and name of the function.
        loop: Dispatcher of Numba.
        signature: Types of the arguments.
        ready: Whether this process has compiled or loaded it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: str,
        over: str | None,
        block: int,
        max_rows: int | None,
        options: dict[str, Any],
    ) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__wrapped__ = function
        self.loop = njit(function, pipeline_class=NoAliasCompiler, **COMMON, **options)
        if not numba_config.DISABLE_JIT:
            _enable_cache(self.loop)
        self.name = f"{function.__module__}.{function.__name__}"
        self._signature_text, self._block, self._max_rows = signature, block, max_rows
        names = list(inspect.signature(function).parameters)
        self._over = None if over is None else names.index(over) - 2
        self.ready = bool(numba_config.DISABLE_JIT)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Types of the arguments of the loop."""
        inputs, _, outputs = self._signature_text.partition("->")
        ends = () if self._over is None else (types.int64, types.int64)
        return (*ends, *(_read_only(kind) for kind in _types(inputs)), *_types(outputs))

    def compile(self) -> None:
        """Compile the kernel or load it from the cache, unless it is ready."""
        if not self.ready:
            with COMPILE_LOCK:  # of threads that call at once, the first compiles
                if not self.ready:
                    COMPILING_ELSEWHERE.pop(self.name, bool)()
                    with _garbage_collection_off():
                        self.loop.compile(self.signature)
                    self.loop.disable_compile()
                    self.ready = True

    def __call__(self, *arguments: Any) -> Any:
        if not self.ready:
            self.compile()
        if self._over is None:
            return self.loop(*arguments)
        count = len(arguments[self._over])
        return run_parallel(self.loop, count, self._block, self._max_rows, arguments)


def compile_each(*kernels: Kernel) -> None:
    """Compile kernels; those that another process is compiling come last."""
    for kernel in sorted(kernels, key=lambda kernel: kernel.name in COMPILING_ELSEWHERE):
        kernel.compile()


def kernel(
    signature: str,
    *,
    over: str | None = None,
    block: int = 1,
    max_rows: int | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function; see `Kernel` and `threads.run_parallel`.

    Args:
        signature: Types of the arguments.
        over: Argument whose rows are shared among cores. Without it, one call does everything.
        block: The first row of each part is a multiple of this.
        max_rows: Largest number of rows of a part; parts are then as large as this allows.
        options: Options of Numba.
    """

    def make(function: Callable[..., Any]) -> Kernel:
        loop = Kernel(function, signature, over, block, max_rows, options)
        return KERNELS.setdefault(loop.name, loop)

    return make


class NoAliasCompiler(Compiler):
    """Compile under the promise that outputs overlap no other argument: loops become vector code.

    Numba has no public option for this.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags.noalias = True


class Subroutine(DISPATCHER):  # type: ignore[misc]
    """A function compiled into each kernel that calls it, without entry points from outside.

    A call from Python, as in tests, compiles a second version with entry points.
    """

    def __call__(self, *arguments: Any) -> Any:
        if "_entry" not in vars(self):
            self._entry = njit(self.py_func, pipeline_class=NoAliasCompiler, **COMMON)
        return self._entry(*arguments)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Treat a literal argument as a number of its type, so that none is compiled for anew."""
        return super().get_call_template(tuple(types.unliteral(kind) for kind in args), kws)


def subroutine(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function that kernels call. Options are those of Numba."""
    if function is None:
        return lambda undecorated: subroutine(undecorated, **options)
    if numba_config.DISABLE_JIT:
        return function
    options = {**COMMON, **NO_ENTRY_POINTS, **options}
    return Subroutine(function, targetoptions=options, pipeline_class=NoAliasCompiler)


def inline(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a subroutine that becomes part of its caller. It must not create any array.

    References to arrays are not counted in it: counting one takes as long as testing a box.
    """
    return subroutine(function, forceinline=True, _nrt=False, **options)


@cache
def source_hash(folder: Path) -> str:
    """Return a hash of the text of all modules below a folder."""
    modules = sorted(folder.rglob("*.py"))
    texts = (path.read_bytes() for path in modules)
    return sha256(b"".join(sha256(text).digest() for text in texts)).hexdigest()


def has_cache() -> bool:
    """Return whether other processes find what this process compiles."""
    return not Path(numba_config.CACHE_DIR or "").name.startswith(TEMPORARY_PREFIX)


def _enable_cache(loop: Any) -> None:
    """Keep compiled code on disk, valid as long as no module of this room changes."""
    try:
        loop.enable_caching()
    except RuntimeError:  # Numba finds no folder that can be written to
        numba_config.CACHE_DIR = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX)
        sys.stderr.write(NO_CACHE_WARNING)
        loop.enable_caching()
    folder = Path(__file__).parents[1]
    if folder.is_dir():  # not in a program that was packed into one file
        # Numba compares the file of the kernel alone, but functions of others are compiled into it.
        loop._cache._cache_file._source_stamp = source_hash(folder)


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Compile without searching for garbage: there is little, and the search takes 6 %."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _types(text: str) -> tuple[Any, ...]:
    return tuple(eval(f"({text},)", vars(types))) if text.strip() else ()


def _read_only(kind: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([_read_only(part) for part in kind])
    return kind.copy(readonly=True) if isinstance(kind, types.Array) else kind


class _CompileNotice(event.Listener):
    """Log once that kernels are being compiled, since nothing else happens for a while."""

    is_shown = False

    def on_start(self, compilation: Any) -> None:
        function = getattr(compilation.data["dispatcher"], "py_func", None)
        module = getattr(function, "__module__", None) or ""  # of another library, it may be None
        if not self.is_shown and module.startswith("isovist.compute."):
            self.is_shown = True
            logging.getLogger("isovist").info(COMPILING_NOTICE)

    def on_end(self, compilation: Any) -> None:
        pass


COMPILE_NOTICE = _CompileNotice()
event.register("numba:compile", COMPILE_NOTICE)
