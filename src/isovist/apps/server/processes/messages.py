"""Messages between the server and its worker processes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import isovist as iv
from isovist.apps.server.requests import Body

Verb = Literal["locate", "prove", "check", "begin", "update", "end"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One request for a worker process.

    Attributes:
        verb: Name of the operation; `begin`, `update` and `end` concern a tracking session.
        body: Body of the request.
        session: Key of the tracking session; empty for other requests.
    """

    verb: Verb
    body: Body
    session: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A message to a worker process.

    Attributes:
        library: The maps; `None` to keep the maps of the worker.
        calls: The requests to answer; empty to compile kernels only.
    """

    library: iv.Library | None
    calls: Sequence[Call]


@dataclass(slots=True, eq=False)
class Reply:
    """The result of a request to a worker process.

    Attributes:
        log_fields: Map and verdict, for the log.
        content: The answer as JSON.
        error: The error, if there is no answer.
        needs_proof: Whether the request needs a proof and was not answered; another process
            computes proofs.
    """

    log_fields: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""
    error: Exception | None = None
    needs_proof: bool = False
