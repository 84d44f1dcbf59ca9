"""Define tables of file formats: suffixes, reader and optional extra of each kind.

`io.maps.read`, `io.scans.read` and `io.logs.read` have one table each.  To add a format, write a
module with a function that takes a path, and add a row.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file that can be read.

    Attributes:
        name: Name in help and error texts, e.g. "OctoMap".
        suffixes: Suffixes of such files, in lower case with the dot.
        reader: The function that reads it, as "module:function", imported when it is needed.
        extra: The extra of `pip install 'isovist[…]'` that it needs; empty without one.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    extra: str = ""

    @property
    def read(self) -> Callable[..., Any]:
        """The function that reads a file of this format; its first argument is the path."""
        function: Callable[..., Any] = resolve_name(self.reader)
        return function

    def __str__(self) -> str:
        extra = f", needs isovist[{self.extra}]" if self.extra else ""
        return f"{', '.join(self.suffixes)} ({self.name}{extra})"


def format_of(path: Path, formats: Iterable[Format]) -> Format | None:
    """Return the format that has the suffix of a path, or `None` if there is none."""
    return next((row for row in formats if path.suffix.lower() in row.suffixes), None)


def suffixes_of(formats: Iterable[Format]) -> tuple[str, ...]:
    """Return the suffixes of all formats of a table, in its order."""
    return tuple(suffix for row in formats for suffix in row.suffixes)


def list_formats(formats: Iterable[Format]) -> str:
    """Return a table as one line for an error text."""
    return "; ".join(map(str, formats))
