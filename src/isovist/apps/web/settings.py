"""Limits of the server and the studio: sizes, counts and times."""

from dataclasses import dataclass

from isovist.settings import Settings, setting


@dataclass(frozen=True, slots=True)
class Limits(Settings):
    """Limit the sizes, counts and times of requests to the server and the studio.

    Attributes:
        max_scan_bytes: Maximum size of a request with a scan.
        max_upload_bytes: Maximum size of an upload: a map, and in the studio also a log.
        max_json_bytes: Maximum size of a JSON request to the studio.
        max_files: Maximum number of files in an upload.
        max_waiting: Maximum number of requests that wait for an answer.
        max_batch: Maximum number of requests that a worker gets at a time.
        batch_s: Expected work time of a batch that a worker gets.
        answer_timeout_s: Maximum time from the last byte of a request to its answer.
        max_connections: Maximum number of open connections; above it, the longest idle one is
            closed.
        idle_timeout_s: Maximum time that a connection may be open without a request.
        body_timeout_s: Maximum time from the head of a request to its last byte.
        proof_budget_s: Maximum time of a proof.
        max_sessions: Maximum number of tracked robots.
        session_timeout_s: Time without an update after which a robot is forgotten.
        max_stored_maps: Maximum number of uploaded maps that the studio keeps.
        max_stored_scans: Maximum number of uploaded scans that the studio keeps.
        max_stored_logs: Maximum number of uploaded logs, and of libraries, that the studio keeps.
        retry_after_s: Time after which a refused client may try again.
    """

    max_scan_bytes: int = setting(
        16 << 20, unit="bytes", range=(1, 1 << 40), raises="longer scans, more memory per request",
        evidence="a cloud of half a million points",
    )  # fmt: skip
    max_upload_bytes: int = setting(
        512 << 20, unit="bytes", range=(1, 1 << 40), raises="larger maps and logs, more memory",
        evidence="a drive of an hour, or the point cloud of a building",
    )  # fmt: skip
    max_json_bytes: int = setting(
        64 << 20, unit="bytes", range=(1, 1 << 40), raises="larger shared pages of the studio",
        evidence="a shared page with its map; not varied",
    )  # fmt: skip
    max_files: int = setting(
        500, unit="1", range=(1, 100_000), raises="larger uploads",
        evidence="a library of 100 atlases, or a folder of clouds; not varied",
    )  # fmt: skip
    max_waiting: int = setting(
        256, unit="1", range=(0, 1_000_000), raises="fewer refusals, longer waits",
        evidence="a few seconds of work on two cores; python -m benchmarks.serve",
    )  # fmt: skip
    max_batch: int = setting(
        8, unit="1", range=(1, 1024), raises="fewer messages to a worker, later answers",
        evidence="python -m benchmarks.serve --workers 16",
    )  # fmt: skip
    batch_s: float = setting(
        0.02, unit="s", range=(0.0, 10.0), raises="larger batches where scans take long",
        evidence="python -m benchmarks.serve --workers 16",
    )  # fmt: skip
    answer_timeout_s: float = setting(
        30.0, unit="s", range=(0.0, 3600.0), raises="later refusals when the server is overloaded",
        evidence="not varied",
    )  # fmt: skip
    max_connections: int = setting(
        2048, unit="1", range=(1, 1_000_000), raises="more clients, more open files",
        evidence="twice as many as tracked robots",
    )  # fmt: skip
    idle_timeout_s: float = setting(
        10.0, unit="s", range=(0.0, 86_400.0), raises="idle connections are closed later",
        evidence="not varied",
    )  # fmt: skip
    body_timeout_s: float = setting(
        30.0, unit="s", range=(0.0, 3600.0), raises="slower networks, longer held connections",
        evidence="not varied",
    )  # fmt: skip
    proof_budget_s: float = setting(
        20.0, unit="s", range=(0.0, 3600.0), raises="more complete proofs, longer waits for them",
        evidence="below answer_timeout_s; not varied",
    )  # fmt: skip
    max_sessions: int = setting(
        1000, unit="1", range=(0, 1_000_000), raises="more tracked robots, more memory",
        evidence="python -m benchmarks.serve --robots 1000",
    )  # fmt: skip
    session_timeout_s: float = setting(
        600.0, unit="s", range=(0.0, 1e7), raises="silent robots are forgotten later",
        evidence="not varied",
    )  # fmt: skip
    max_stored_maps: int = setting(
        24, unit="1", range=(1, 10_000), raises="more uploaded maps in the studio, more memory",
        evidence="not varied",
    )  # fmt: skip
    max_stored_scans: int = setting(
        60, unit="1", range=(1, 10_000), raises="more uploaded scans in the studio, more memory",
        evidence="not varied",
    )  # fmt: skip
    max_stored_logs: int = setting(
        4, unit="1", range=(1, 10_000), raises="more uploaded logs and libraries, more memory",
        evidence="not varied",
    )  # fmt: skip
    retry_after_s: int = setting(
        1, unit="s", range=(0, 3600), raises="refused clients come back later",
        evidence="not varied",
    )  # fmt: skip
