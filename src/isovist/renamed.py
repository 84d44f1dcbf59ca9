"""Names of earlier versions: they work, or are refused with the name to use instead.

Modules that examples and pages of earlier versions imported still can be, with a warning.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from isovist.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind", bound=type)

MODULES = {
    "isovist.bench.explore": "isovist.simulation.lost_robot",
    "isovist.bench.storeys": "isovist.simulation.similar_floors",
    "isovist.bench.worlds": "isovist.simulation.worlds",
    "isovist.descriptor.descriptor": "isovist.paper.descriptor.descriptor",
    "isovist.descriptor.moments": "isovist.paper.descriptor.moments",
    "isovist.descriptor.norms": "isovist.paper.descriptor.norms",
    "isovist.descriptor.quadrature": "isovist.paper.descriptor.quadrature",
    "isovist.maps.segments": "isovist.maps.surfaces.segment_map",
    "isovist.roses": "isovist.basis",
    "isovist.theory.autograd": "isovist.paper.descriptor.torch_operator",
    "isovist.theory.completeness": "isovist.paper.completeness",
    "isovist.theory.differentiate": "isovist.paper.descriptor.differentiate",
    "isovist.theory.example": "isovist.paper.example",
    "isovist.theory.gram": "isovist.paper.gram.gram",
    "isovist.theory.hard_bins": "isovist.paper.gram.hard_bins",
    "isovist.theory.optimise": "isovist.paper.basis_fit.gradients",
    "isovist.theory.verify.scenes": "isovist.paper.statements.worlds.scenes",
    "isovist.tracking.link_files": "isovist.io.links",
    "isovist.viz.answers": "isovist.report.figures.answers",
    "isovist.viz.explorations": "isovist.report.figures.explorations",
    "isovist.viz.figures": "isovist.report.figures.figures",
    "isovist.viz.theory": "isovist.paper.report.theory_figures",
}
"""Modules by their earlier names."""

GONE = {
    "bench calibrate --brute": "moved to `python -m benchmarks.exhaustive` of a checkout.",
    "bench descriptors": "moved to `python -m benchmarks.baselines descriptors` of a checkout.",
    "bench space": "moved to `python -m benchmarks.baselines space` of a checkout.",
}
"""Commands and options of earlier versions, and what to use instead."""

NAMES = {
    "Rose": "DirectionalBasis",
    "draw_rose_over_map": "draw_basis_over_map",
    "fine_roses": "fine_bases",
    "fit_rose": "fit_basis",
    "from_rose": "from_basis",
    "rose": "basis",
    "side_by_side": "multi_map",
}
"""Public classes, functions, parameters and attributes by their earlier names."""
OPTIONS = {"--rose": "--basis"}
"""Options of the command line by their earlier names."""
COMMANDS = {
    "convert": "map convert",
    "metric": "paper metric",
    "optimise": "paper fit-basis",
    "steer": "paper steer",
    "verify": "paper verify",
}
"""Commands by their earlier names."""
HELP = ("-h", "--help")


def todays_words(words: list[str]) -> list[str]:
    """Return the words of a command line of an earlier version as they are typed today."""
    first, *rest = [OPTIONS.get(word, word) for word in words] or [""]
    if first in COMMANDS:
        return [*COMMANDS[first].split(), *rest]
    if first == "map" and rest and rest[0] not in ("make", "convert", *HELP):
        return ["map", "make", *rest]
    if first == "paper" and (not rest or (rest[0].startswith("-") and rest[0] not in HELP)):
        return ["paper", "tables", *rest]
    if first in ("locate", "track"):
        rest = [
            part for word in rest for part in word.replace("--method=", "--method\0").split("\0")
        ]
        for method, group in (("paper", ["paper"]), ("isovist", [])):
            for k in range(len(rest) - 1):
                if rest[k : k + 2] == ["--method", method]:
                    return [*group, first, *rest[:k], *rest[k + 2 :]]
    return [first, *rest] if words else []


class RenamedModules:
    """Import modules by their earlier names; it stands last among the finders of Python."""

    @classmethod
    def find_spec(cls, name: str, *_: Any) -> ModuleSpec | None:
        """Return how to import a name that no other finder knows."""
        if name in MODULES:
            return ModuleSpec(name, cls, is_package=True)  # type: ignore[arg-type]
        if any(old.startswith(f"{name}.") for old in MODULES):
            return ModuleSpec(name, None, is_package=True)
        return None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """Return the module of today, and warn."""
        warn(spec.name, MODULES[spec.name])
        module = import_module(MODULES[spec.name])
        for old, new in NAMES.items():
            if new in vars(module):
                setattr(module, old, getattr(module, new))
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Leave the module as it is: importing gave it the earlier name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def warn(old: str, new: str) -> None:
    """Warn that a name has another one now."""
    text = f"{old} is {new} now, and will be gone in version 1.0."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def todays_name(name: str) -> str:
    """Return what a public name is called now; warn if it has changed."""
    if name not in NAMES:
        return name
    warn(name, NAMES[name])
    return NAMES[name]


def rename_keyword(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function whose keyword has another name now: the old one works, and warns."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> R:
            if old in kwargs:
                warn(f"`{old}`", f"`{new}`")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return called

    return decorate


def rename_argument(old: str, new: str) -> Callable[[Kind], Kind]:
    """Decorate a class that is made with a keyword that has another name now."""

    def decorate(kind: Kind) -> Kind:
        made: Any = kind
        made.__init__ = rename_keyword(old, new)(made.__init__)
        return kind

    return decorate


def rename_attributes(
    otherwise: Callable[[object, str], Any] | None = None, /, **today: str
) -> Callable[[object, str], Any]:
    """Return a `__getattr__` for a class whose attributes have other names now."""

    def get(thing: object, name: str) -> Any:
        if name in today:
            warn(f"`{name}`", f"`{today[name]}`")
            return getattr(thing, today[name])
        if otherwise is not None:
            return otherwise(thing, name)
        raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")

    return get


def refuse_keyword(keyword: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that had a keyword: giving it is an error that says what to use."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> R:
            if keyword in kwargs:
                raise InputError.about(keyword, f"is gone. {instead}", code="renamed")
            return function(*args, **kwargs)

        return checked

    return decorate


def refuse_argument(keyword: str, instead: str) -> Callable[[Kind], Kind]:
    """Decorate a class that was made with a keyword: giving it is an error that says what to use.

    It stands above `dataclass`, which makes `__init__`.
    """

    def decorate(kind: Kind) -> Kind:
        made: Any = kind
        made.__init__ = refuse_keyword(keyword, instead)(made.__init__)
        return kind

    return decorate


class GoneError(InputError, AttributeError):
    """An attribute of an earlier version, so that `hasattr` says no."""


def refuse_attributes(**instead: str) -> Callable[[object, str], Any]:
    """Return a `__getattr__` for a class whose attributes of these names are gone."""

    def get(thing: object, name: str) -> Any:
        if name in instead:
            raise GoneError.about(name, f"is gone. {instead[name]}", code="renamed")
        raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")

    return get
