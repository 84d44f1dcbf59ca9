"""Errors that say why a request is refused, with the HTTP status."""

import isovist as iv
from isovist.apps.web.settings import Limits
from isovist.errors import ErrorCode

CODES: dict[int, ErrorCode] = {404: "not_found", 408: "timed_out", 429: "busy", 503: "unavailable"}


class RefusedError(iv.IsovistError):
    """A refused request; the client reads the text of the error.

    Attributes:
        status: HTTP status.
        retry_after_s: Time in s after which the client may try again; `None` if that is useless.
    """

    def __init__(self, status: int, text: str, retry_after_s: int | None = None) -> None:
        super().__init__(text, code=CODES[status])
        self.status, self.retry_after_s = status, retry_after_s

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[int, str, int | None]]:
        return RefusedError, (self.status, str(self), self.retry_after_s)


def overloaded(waiting: int, retry_after_s: int) -> RefusedError:
    """Return the error for a request that arrives while too many others wait."""
    text = f"{waiting} requests are waiting already. Try again in {retry_after_s} s."
    return RefusedError(429, text, retry_after_s)


def answer_timeout(limits: Limits) -> RefusedError:
    """Return the error for an answer that is not ready in time."""
    text = f"No answer was ready within {limits.answer_timeout_s:g} s. Try again later."
    return RefusedError(503, text, limits.retry_after_s)


def body_timeout(limits: Limits) -> RefusedError:
    """Return the error for a request whose body does not arrive in time."""
    text = f"The body of the request did not arrive within {limits.body_timeout_s:g} s."
    return RefusedError(408, text)


def unknown_map(name: str) -> RefusedError:
    """Return the error for a map that does not exist."""
    return RefusedError(404, f"There is no map {name!r}. GET /maps lists the maps.")
