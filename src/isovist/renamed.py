"""Names of earlier versions that are refused with the name to use instead."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from isovist.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")


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
