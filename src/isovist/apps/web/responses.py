"""Answer errors with a status and JSON: `{"error": "…", "code": "…", "field": …}`."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

import isovist as iv
from isovist.apps.web.errors import RefusedError
from isovist.errors import ErrorCode

log = logging.getLogger("isovist.studio")
FAILED = "An internal error occurred. The terminal of the program shows it."
HTTP_ERRORS = {
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}


class TooLargeError(Exception):
    """The body of a request is larger than the limit, in bytes."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The body of this request has at most {max_bytes >> 20} MiB.")


def error_json(error: BaseException) -> dict[str, object]:
    """Return an error as JSON data; unexpected errors are described in general words."""
    match error:
        case iv.IsovistError():
            return error.to_dict()
        case MultiPartException():
            return refusal_json(error.message, "unknown_format")
        case TooLargeError():
            return refusal_json(str(error), "too_large")
        case HTTPException():
            text = HTTP_ERRORS.get(error.status_code, error.detail)
            return refusal_json(text, "unknown_format" if error.status_code == 400 else "not_found")
        case MemoryError():
            text = "The machine has not enough memory for this request."
            return refusal_json(text, "too_large")
    log.error("a request failed", exc_info=error)
    return refusal_json(FAILED, "failed")


def refusal_json(text: str, code: ErrorCode) -> dict[str, object]:
    """Return the JSON data of a request that is refused before any work is done."""
    return {"error": text, "code": code, "field": None}


def _handler(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return a handler of errors; some errors have a status of their own."""

    async def handle(_request: Request, error: Exception) -> Response:
        content = error_json(error)
        if isinstance(error, RefusedError):
            retry_s = error.retry_after_s
            headers = {} if retry_s is None else {"Retry-After": str(retry_s)}
            return JSONResponse(content, error.status, headers)
        if isinstance(error, HTTPException):
            return JSONResponse(content, error.status_code, error.headers)
        return JSONResponse(content, status)

    return handle


ERROR_HANDLERS: dict[Any, Any] = {
    Exception: _handler(500),
    HTTPException: _handler(400),
    iv.IsovistError: _handler(400),
    MultiPartException: _handler(400),
    ClientDisconnect: _handler(400),  # nobody reads it
    TooLargeError: _handler(413),
}
"""Functions that answer with an error, by the type of the exception."""
