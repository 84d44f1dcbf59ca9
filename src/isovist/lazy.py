"""Import the names of a room from their modules when they are first used.

A room lists its names once, as imports in the `__init__.pyi` beside its `__init__.py`: type
checkers read them there, and so does `lazy_names` when a program asks for one.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from itertools import pairwise
from pathlib import Path
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package."""

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(modules_of(package))
        if not name.startswith("__") and name not in modules_of(package):
            from isovist.renamed import todays_name

            name = todays_name(name, modules_of(package))
        if name not in modules_of(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules_of(package)[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(modules_of(package))


@cache
def modules_of(package: str) -> dict[str, str]:
    """Return the module of each name that a package lists."""
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    words = stub.read_text(encoding="utf-8").translate(str.maketrans("(),", "   ")).split()
    modules, module = {}, ""
    for word, after in pairwise(words):
        if word == "from":
            module = after
        elif word == "as":
            modules[after] = module
    return modules


class EarlierNames:
    """A finder of modules by their earlier names, whose table is read on demand.

    It must come before the finder of files, which takes a folder without code for a module.  A
    checkout of an earlier version leaves such folders behind, with a `__pycache__` in them.
    """

    @classmethod
    def install(cls) -> None:
        """Let Python import modules by their earlier names."""
        finders: list[Any] = sys.meta_path
        place = finders.index(PathFinder) if PathFinder in finders else len(finders)
        finders.insert(place, cls)

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, *_: Any) -> ModuleSpec | None:
        """Return how to import a module of this package: from its file, or by its earlier name."""
        if not name.startswith("isovist."):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            return spec
        from isovist.renamed import RenamedModules

        return RenamedModules.find_spec(name)
