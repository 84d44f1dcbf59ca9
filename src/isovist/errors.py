"""What can go wrong, said in one sentence: the rule, the value, the remedy."""


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
