"""Names of earlier versions that are refused with the name to use instead."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from isovist.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind", bound=type)


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
