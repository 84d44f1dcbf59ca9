"""How much the server takes on: of one request, of all of them, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers that were chosen for a machine of a few cores.

    Attributes:
        scan_bytes: Of a request that asks: a cloud of half a million points.
        map_bytes: Of a request that brings a map, as in the studio.
        batch: Scans that are located together at most.
        gather_s: So long the first of a batch waits for others, in s: a tenth of what it costs.
        queue: Requests that wait for an answer at most; a few seconds of work on two cores.
        seconds: From the last byte of a request to its answer.
        connections: That are open at once, twice as many as robots that are followed; of more,
            those that ask nothing are closed.
        head_s: From the beginning of a connection to the last byte of the first head, and between
            two requests.
        body_s: From the head of a request to its last byte.
        proof_s: Most that one proof may take.
        sessions: Robots that are followed at once.
        session_s: After so long without an update a robot is forgotten, in s.
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
