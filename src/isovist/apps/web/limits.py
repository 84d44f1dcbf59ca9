"""How much the server takes on: of one request, of all of them, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on requests and sessions, chosen for a machine with a few cores.

    Attributes:
        scan_bytes: Most bytes of a request with a scan: a cloud of half a million points.
        map_bytes: Most bytes of a request that uploads a map, as in the studio.
        batch: Most scans that are located together.
        gather_s: Time that the first scan of a batch waits for others, in s: a tenth of its cost.
        queue: Most requests that wait for an answer; a few seconds of work on two cores.
        seconds: Longest time from the last byte of a request to its answer, in s.
        connections: Most open connections, twice as many as tracked robots; beyond that,
            idle ones are closed.
        head_s: Longest time from the start of a connection to the end of its first request
            head, and between two requests, in s.
        body_s: Longest time from the head of a request to its last byte, in s.
        proof_s: Longest time that one proof may take, in s.
        sessions: Most robots that are tracked at once.
        session_s: Time without an update after which a robot is forgotten, in s.
        retry_s: What a client that is refused is told to wait, in s.
    """

    scan_bytes: int = 16 << 20
    map_bytes: int = 512 << 20
    batch: int = 64
    gather_s: float = 0.002
    queue: int = 256
    seconds: float = 30.0
    connections: int = 2048
    head_s: float = 10.0
    body_s: float = 30.0
    proof_s: float = 20.0
    sessions: int = 1000
    session_s: float = 600.0
    retry_s: int = 1
