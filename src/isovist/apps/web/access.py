"""Decide who may send requests: pages of this application on this machine, or clients with a token.

A page of another site can neither read nor write here. The Host header must name this machine, so
that no foreign name can be pointed at it. A request of another origin is refused, and pages from
here may load nothing from elsewhere.
"""

import asyncio
import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from hmac import compare_digest
from secrets import token_urlsafe
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isovist.apps.web.errors import body_timeout
from isovist.apps.web.responses import TooLargeError, refusal_json
from isovist.apps.web.settings import Limits
from isovist.errors import ErrorCode

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names of this machine."""
ALL_ADDRESSES = ("0.0.0.0", "::")
WITHOUT_TOKEN = ("/health", "/ready")
"""Paths that need no token: monitors ask them."""
FOREIGN_HOST = (
    "Requests to this host name are refused. Use the address that was printed at the start."
)
FOREIGN_PAGE = "Requests from pages of other sites are refused."
NO_TOKEN = "This request needs a token: `Authorization: Bearer TOKEN`."
NO_PAGE_TOKEN = "The token is missing. Open the whole address that was printed at the start."
COOKIE = "isovist-token"


@dataclass(frozen=True, slots=True)
class Access:
    """The permission to send requests.

    Attributes:
        host: Address that the application listens on.
        tokens: Accepted tokens; without tokens only this machine may send requests.
        in_page: Whether a browser sends the token as `?token=` and then in a cookie, instead of an
            `Authorization` header.
    """

    host: str = "127.0.0.1"
    tokens: tuple[str, ...] = ()
    in_page: bool = False

    @classmethod
    def of_page(cls, host: str) -> "Access":
        """Make the access to a page, with a new token if other machines can send requests."""
        return cls(host, () if host in LOOPBACK else (token_urlsafe(24),), in_page=True)

    def accepts(self, token: str) -> bool:
        """Return whether a token is valid, in a time that does not depend on the token."""
        digest = _digest(token)
        matches = [compare_digest(digest, _digest(right)) for right in self.tokens]
        return any(matches)

    def is_local(self, host: str) -> bool:
        """Return whether a Host header names this machine."""
        if self.tokens and not self.in_page:  # the token says who asks
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in LOOPBACK or name == self.host:
            return True
        if self.host not in ALL_ADDRESSES:
            return False
        try:  # a foreign name can be pointed at this machine, a number cannot
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class Gate:
    """An ASGI middleware that requires a token, and limits size and time of request bodies.

    Args:
        app: The application that is protected.
        access: Permission to send requests.
        limits: Limits on request bodies.
        scripts: Hashes of the inline scripts of the page, for its content security policy.
    """

    def __init__(
        self, app: ASGIApp, access: Access, limits: Limits, scripts: Iterable[str] = ()
    ) -> None:
        self.app, self.access, self.limits = app, access, limits
        allowed = " ".join(f"'{script}'" for script in scripts)
        self.policy = (
            f"default-src 'self'; script-src 'self' {allowed}; style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; object-src 'none'"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        max_bytes = self.max_bytes(scope["path"])
        refusal = self._refusal(scope, headers) or _refusal_of_size(headers, max_bytes)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        has_cookie = self.access.in_page and self.access.tokens and _query_token(scope)
        sealed = self._sealed(send, self.access.tokens[0] if has_cookie else "")
        await self.app(scope, self._limited(receive, max_bytes), sealed)

    def max_bytes(self, path: str) -> int:
        """Return the maximum size of a request body in bytes."""
        is_scan = not self.access.in_page and not path.startswith("/maps")
        return self.limits.max_scan_bytes if is_scan else self.limits.max_upload_bytes

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        if self.access.tokens and not (self.access.in_page or scope["path"] in WITHOUT_TOKEN):
            kind, _, token = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not self.access.accepts(token.strip()):
                return _refuse(401, NO_TOKEN, {"WWW-Authenticate": "Bearer"})
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.access.is_local(host):
            return _refuse(403, FOREIGN_HOST)
        is_foreign = origin is not None and not _is_from(origin, host)
        if is_foreign or headers.get("sec-fetch-site", "none") == "cross-site":
            return _refuse(403, FOREIGN_PAGE)
        if self.access.tokens and self.access.in_page:
            token = _query_token(scope) or cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
            if not self.access.accepts(token):
                return _refuse(403, NO_PAGE_TOKEN)
        return None

    def _limited(self, receive: Receive, max_bytes: int) -> Receive:
        """Return a `receive` that raises an error when a body is too large or too slow."""
        loop = asyncio.get_running_loop()
        end = None if self.access.in_page else loop.time() + self.limits.body_timeout_s
        size = 0

        async def limited() -> Message:
            nonlocal size, end
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                raise body_timeout(self.limits) from None
            size += len(message.get("body", b""))
            if size > max_bytes:
                raise TooLargeError(max_bytes)
            if not message.get("more_body", False):
                end = None
            return message

        return limited

    def _sealed(self, send: Send, cookie: str) -> Send:
        """Return a `send` that forbids pages to load foreign content, and may set a cookie."""

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(scope=message)
                out["Content-Security-Policy"] = self.policy
                out["X-Content-Type-Options"] = "nosniff"
                out["Cross-Origin-Resource-Policy"] = "same-origin"
                out["Referrer-Policy"] = "no-referrer"
                out.setdefault("Cache-Control", "no-cache")
                if cookie:
                    out.append("Set-Cookie", f"{COOKIE}={cookie}; HttpOnly; SameSite=Strict")
            await send(message)

        return sealed


def _refuse(status: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    code: ErrorCode = "too_large" if status == 413 else "forbidden"
    return JSONResponse(refusal_json(text, code), status, headers)


def _refusal_of_size(headers: Headers, max_bytes: int) -> JSONResponse | None:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 18 or int(length) > max_bytes:
        return _refuse(413, str(TooLargeError(max_bytes)))
    return None


def _query_token(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _is_from(origin: str, host: str) -> bool:
    """Return whether a page of an origin was served by a host."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False
