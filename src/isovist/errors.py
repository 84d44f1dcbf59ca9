"""What can go wrong, said in one sentence: the rule, the value, the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

MOST = 500
"""Characters of an error text; what is longer loses its middle."""


def one_line(text: str) -> str:
    """A text fit for a terminal: what cannot be printed is escaped, what is endless is cut."""
    if len(text) > MOST:
        text = f"{text[: MOST // 2]} … {text[-MOST // 2 :]}"
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)


class IsovistError(Exception):
    """Root of every error that isovist raises on purpose; its text is one line."""

    def __init__(self, text: object = "") -> None:
        super().__init__(one_line(str(text)))


class InputError(IsovistError, ValueError):
    """A value that a function cannot work with."""


class FileError(IsovistError, ValueError):
    """A file that cannot be read as what it claims to be."""


class MissingExtraError(IsovistError, ImportError):
    """An optional part is not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> "MissingExtraError":
        """Say which ``pip install`` brings the missing part."""
        return cls(f"{what} needs an optional part: pip install 'isovist[{extra}]'.")

    @classmethod
    @contextmanager
    def unless_found(cls, what: str, extra: str) -> Iterator[None]:
        """Around the import of an optional part: say so where it is missing."""
        try:
            yield
        except ImportError as error:
            raise cls.of(what, extra) from error
