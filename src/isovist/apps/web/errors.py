"""What a request is refused for, with the status that says so."""

from isovist.apps.web.limits import Limits
from isovist.errors import ErrorCode, IsovistError

CODES: dict[int, ErrorCode] = {404: "not_found", 408: "timed_out", 429: "busy", 503: "unavailable"}


class RefusedError(IsovistError):
    """A request that is not answered; its text is what the client reads.

    Attributes:
        status: HTTP status.
        retry_s: What the client is told to wait, in s; `None` where waiting does not help.
    """

    def __init__(self, status: int, text: str, retry_s: int | None = None) -> None:
        super().__init__(text, code=CODES[status])
        self.status, self.retry_s = status, retry_s

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[int, str, int | None]]:
        return RefusedError, (self.status, str(self), self.retry_s)


def busy(waiting: int, retry_s: int) -> RefusedError:
    """Return the error for a request that came while too many others wait."""
    text = f"{waiting} requests wait already. Try again in {retry_s} s."
    return RefusedError(429, text, retry_s)


def late(limits: Limits) -> RefusedError:
    """Return the error for an answer that did not come in time."""
    text = f"There was no answer within {limits.seconds:g} s. Try again later."
    return RefusedError(503, text, limits.retry_s)


def slow(limits: Limits) -> RefusedError:
    """Return the error for a request whose body did not arrive in time."""
    return RefusedError(408, f"The body of the request did not come within {limits.body_s:g} s.")


def unknown(name: str) -> RefusedError:
    """Return the error for a map that does not exist."""
    return RefusedError(404, f"There is no map {name!r}. GET /maps lists those there are.")
