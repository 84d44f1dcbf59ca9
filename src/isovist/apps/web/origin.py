"""Who may talk to the studio: pages that it served itself, from the machine it runs on.

A page of another site cannot read from here or write to here: the Host must be one of ours (so that
no foreign name can be pointed at this machine), a request of another origin is refused, and what we
serve may load nothing from elsewhere.
"""

import ipaddress
from collections.abc import Iterable
from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isovist.apps.web.streams import refusal_json
from isovist.errors import ErrorCode

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("0.0.0.0", "::")
MOST_BYTES = 512 << 20
"""Of one request: a drive of an hour, or a building in space."""
TOO_LARGE = f"A request has at most {MOST_BYTES >> 20} MiB. Give larger files at the command line."
FOREIGN_HOST = "The studio does not answer to this name. Open it by the address that it printed."
FOREIGN_PAGE = "The studio answers to its own page only."
NO_TOKEN = "The studio needs its token here. Open it by the whole address that it printed."
COOKIE = "isovist-token"


class Guard:
    """ASGI middleware that rejects requests from other sites and limits body sizes.

    Args:
        app: The application that is protected.
        host: Address that the server listens on.
        scripts: Hashes of the inline scripts of the page, as a content policy has them.
        token: Token that a request must bring, as `?token=` or in the cookie that this sets.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str = LOOPBACK[1],
        scripts: Iterable[str] = (),
        token: str | None = None,
    ) -> None:
        self.app, self.host, self.token = app, host, token
        allowed = " ".join(f"'{script}'" for script in scripts)
        self.policy = (
            f"default-src 'self'; script-src 'self' {allowed}; style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; object-src 'none'"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it with what is wrong."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, most = Headers(scope=scope), self.most_bytes(scope)
        refusal = self._refusal(headers, most)
        by_address = self.token is not None and self._is_token(_in_query(scope))
        if refusal is None and self.token is not None and not by_address:
            refusal = None if self._is_token(_in_cookie(headers)) else (403, NO_TOKEN)
        if refusal is not None:
            status, text = refusal
            code: ErrorCode = "too_large" if status == 413 else "forbidden"
            await JSONResponse(refusal_json(text, code), status)(scope, receive, send)
            return
        came = 0

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > most:
                raise TooLargeError
            return message

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(scope=message)
                out["Content-Security-Policy"] = self.policy
                out["X-Content-Type-Options"] = "nosniff"
                out["Cross-Origin-Resource-Policy"] = "same-origin"
                out["Referrer-Policy"] = "no-referrer"
                out.setdefault("Cache-Control", "no-cache")
                if by_address:
                    out.append("Set-Cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict")
            await send(message)

        await self.app(scope, counted, sealed)

    foreign_host, foreign_page = FOREIGN_HOST, FOREIGN_PAGE

    def most_bytes(self, scope: Scope) -> int:
        """Return the most bytes that the body of a request may have."""
        del scope
        return MOST_BYTES

    def too_large(self, most: int) -> str:
        """Return the error text for a body above a limit in bytes."""
        del most
        return TOO_LARGE

    def _refusal(self, headers: Headers, most: int) -> tuple[int, str] | None:
        """Status and reason, where a request may not come in."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return 403, self.foreign_host
        origin = headers.get("origin")
        if origin is not None and not _is_of(origin, host):
            return 403, self.foreign_page
        if headers.get("sec-fetch-site", "none") == "cross-site":
            return 403, self.foreign_page
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > most:
            return 413, self.too_large(most)
        return None

    def _is_token(self, text: str) -> bool:
        """Compare in a time that tells nothing of the token."""
        return compare_digest(text.encode(), str(self.token).encode())

    def _is_ours(self, host: str) -> bool:
        """Whether a Host names this machine as it was told to be reached."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in LOOPBACK or name == self.host:
            return True
        if self.host not in EVERYWHERE:
            return False
        try:  # a number cannot be pointed elsewhere, a name can
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _in_query(scope: Scope) -> str:
    """Return the token of an address, or nothing."""
    query = scope.get("query_string", b"").decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _in_cookie(headers: Headers) -> str:
    """Return the token of a cookie, or nothing."""
    parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return next((value for name, _, value in parts if name == COOKIE), "")


class TooLargeError(Exception):
    """Raised when the body of a request is larger than the limit."""


def _is_of(origin: str, host: str) -> bool:
    """Whether a page of that origin was served by that host."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False
