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
    """Make a text fit for a terminal: escape unprintable characters, shorten long texts."""
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
    """Base of every error that isovist raises on purpose; its text is one line.

    Attributes:
        code: Kind of mistake, as a stable word for programs, such as "invalid_value".
        field: Name of the parameter, setting or key that is wrong; `None` if there is no single
            one.
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
        """Make an error whose text begins with the name of a field.

        Args:
            field: Name of the parameter, setting or key, as in Python or in the file; or several
                names.
            predicate: The rest of the sentence: "must be positive, got -1."
            code: Kind of mistake; that of the class when `None`.
        """
        names = (field,) if isinstance(field, str) else field
        error = cls(_sentence(names, predicate), field=names[0], code=code)
        error._names = names
        return error

    def text_with(self, names: Mapping[str, str]) -> str:
        """Return the text with fields renamed, as an application calls them.

        Args:
            names: The name that the application uses for each field.
        """
        fields = names if self._names else {k: v for k, v in names.items() if k == self.field}
        return re.sub(r"`(\w+)`", lambda word: f"`{fields.get(word[1], word[1])}`", str(self))

    def to_dict(self) -> dict[str, object]:
        """Return text, code and field as a dictionary, ready for JSON."""
        return {"error": str(self), "code": self.code, "field": self.field}

    def begin_with(self, place: str) -> None:
        """Put the place of the mistake in front of the text, such as "Scan 5: …"."""
        self.args, self._names = (one_line(f"{place}: {self}"),), ()


class InputError(IsovistError, ValueError):
    """An argument that a function cannot work with.

    Examples:
        >>> import isovist as iv
        >>> try:
        ...     iv.Lidar(beams=0)
        ... except iv.InputError as error:
        ...     print(error, error.code, error.field)
        A lidar needs at least 1 beam, got 0. invalid_value beams
    """

    code: ErrorCode = "invalid_value"


class TopicChoiceError(InputError):
    """A bag has several topics of one type, and none is chosen.

    Attributes:
        topics: Names of the topics.
    """

    code: ErrorCode = "several_topics"
    topics: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return text, code, field and topics as a dictionary, ready for JSON."""
        return {**super().to_dict(), "topics": list(self.topics)}


class FileError(IsovistError, ValueError):
    """A file that is missing, damaged, or not of the expected format."""

    code: ErrorCode = "invalid_file"


class MissingExtraError(IsovistError, ImportError):
    """An optional dependency is not installed; the text names the `pip install` command."""

    code: ErrorCode = "missing_extra"

    @classmethod
    def of(cls, what: str, extra: str) -> "MissingExtraError":
        """Make the error for something that needs an optional dependency.

        Args:
            what: The thing that needs it, as the subject of the sentence.
            extra: Name of the extra of isovist that contains it.
        """
        return cls(f"{what} needs an optional part: pip install 'isovist[{extra}]'.", field=extra)

    @classmethod
    @contextmanager
    def unless_found(cls, what: str, extra: str) -> Iterator[None]:
        """Turn a failed import inside the `with` block into this error.

        Args:
            what: The thing that needs the import, as the subject of the sentence.
            extra: Name of the extra of isovist that contains it.
        """
        try:
            yield
        except ImportError as error:
            raise cls.of(what, extra) from error
