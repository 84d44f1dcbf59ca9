"""What can go wrong, said in one sentence: the rule, the value, the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager


class IsovistError(Exception):
    """Root of every error that isovist raises on purpose."""


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
