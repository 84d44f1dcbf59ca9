"""Errors raised on purpose: a sentence for people, a code and a field for programs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, Self

MAX_LENGTH = 500
"""Characters of an error text; what is longer loses its middle."""

ErrorCode = Literal[
    "invalid_value",  # a value of the wrong type, shape or size
    "missing",  # something that is needed was not given
    "conflict",  # values that exclude each other or do not belong together
    "empty",  # nothing is there to work with
    "not_free",  # a place in a wall or outside the map
    "too_large",  # more than a limit allows
    "wrong_dimension",  # 2D where 3D is needed, or the other way round
    "several_topics",  # a bag has more than one topic of a kind
    "renamed",  # a name of an earlier version
    "unavailable",  # a service, a device or a connection does not answer
    "forbidden",  # a request without permission
    "busy",  # too many requests
    "timed_out",  # no answer in time
    "missing_extra",  # an optional part is not installed
    "invalid_file",  # damaged, cut off, or with a value that is wrong
    "unknown_format",  # not a file of the kind that is needed
    "outdated_file",  # written by another version, or for another map
    "not_found",  # a file, a map or an address
    "file_exists",
    "file_not_readable",
    "file_not_writable",
    "failed",
]
"""What kind of mistake an error is about.  The values are stable."""


def one_line(text: str) -> str:
    """Make a text fit for a terminal: escape what cannot be printed, cut what is endless."""
    if len(text) > MAX_LENGTH:
        text = f"{text[: MAX_LENGTH // 2]} … {text[-MAX_LENGTH // 2 :]}"
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)


def _sentence(names: Sequence[str], predicate: str) -> str:
    """Return a sentence with fields as its subject."""
    return one_line(f"{' and '.join(f'`{name}`' for name in names)} {predicate}")


class IsovistError(Exception):
    """Root of every error that isovist raises on purpose; its text is one line.

    Attributes:
        code: What kind of mistake it is.
        field: Name of the parameter, setting or key that is wrong; `None` where no single one is.
    """

    code: ErrorCode = "failed"
    field: str | None = None
    _names: tuple[str, ...] = ()

    def __init__(
        self, text: object = "", *, field: str | None = None, code: ErrorCode | None = None
    ) -> None:
        super().__init__(one_line(str(text)))
        if field is not None:
            self.field = field
        if code is not None:
            self.code = code

    @classmethod
    def about(
        cls, field: str | tuple[str, ...], predicate: str, *, code: ErrorCode | None = None
    ) -> Self:
        """Make an error whose sentence has a field as its subject.

        Args:
            field: Name of the parameter, setting or key, as Python or the file has it; or several.
            predicate: The rest of the sentence: "must be positive, got -1."
            code: What kind of mistake it is.
        """
        names = (field,) if isinstance(field, str) else field
        error = cls(_sentence(names, predicate), field=names[0], code=code)
        error._names = names
        return error

    def text_with(self, names: Mapping[str, str]) -> str:
        """Return the text with fields under the names that an application has for them."""
        fields = names if self._names else {k: v for k, v in names.items() if k == self.field}
        return re.sub(r"`(\w+)`", lambda word: f"`{fields.get(word[1], word[1])}`", str(self))

    def to_dict(self) -> dict[str, object]:
        """Return what programs read, ready for JSON."""
        return {"error": str(self), "code": self.code, "field": self.field}

    def begin_with(self, place: str) -> None:
        """Put the place of the mistake in front of the sentence: "Scan 5: …"."""
        self.args, self._names = (one_line(f"{place}: {self}"),), ()


class InputError(IsovistError, ValueError):
    """A value that a function cannot work with."""

    code: ErrorCode = "invalid_value"


class TopicChoiceError(InputError):
    """A bag has several topics of a kind, one of which must be chosen.

    Attributes:
        topics: Names of the topics.
    """

    code: ErrorCode = "several_topics"
    topics: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return what programs read, ready for JSON."""
        return {**super().to_dict(), "topics": list(self.topics)}


class FileError(IsovistError, ValueError):
    """A file that cannot be read as what it claims to be."""

    code: ErrorCode = "invalid_file"


class MissingExtraError(IsovistError, ImportError):
    """An optional part is not installed."""

    code: ErrorCode = "missing_extra"

    @classmethod
    def of(cls, what: str, extra: str) -> "MissingExtraError":
        """Return an error that says which ``pip install`` something needs."""
        return cls(f"{what} needs an optional part: pip install 'isovist[{extra}]'.", field=extra)

    @classmethod
    @contextmanager
    def unless_found(cls, what: str, extra: str) -> Iterator[None]:
        """Raise this error if an import inside the `with` block fails."""
        try:
            yield
        except ImportError as error:
            raise cls.of(what, extra) from error
