"""Counts and times, as Prometheus reads them (text format 0.0.4)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Of the bins of times, in s."""
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters and response times of requests since the server started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.verdicts: Counter[str] = Counter()
        self._bins: dict[str, list[int]] = {}
        self._sums: Counter[str] = Counter()

    def note(self, route: str, status: int, seconds: float, verdict: str | None) -> None:
        """Count a request that was answered, with its response time in s."""
        self.requests[route, status] += 1
        bins = self._bins.setdefault(route, [0] * (len(EDGES) + 1))
        bins[bisect_left(EDGES, seconds)] += 1
        self._sums[route] += seconds  # type: ignore[assignment]
        if verdict is not None:
            self.verdicts[verdict] += 1

    def text(self, now: Mapping[str, float], batches: tuple[int, int]) -> str:
        """Return all metrics in the Prometheus text format.

        Args:
            now: Current values by name, such as the number of sessions.
            batches: Number of batches so far, and number of scans in them.
        """
        lines = _head("requests_total", "counter", "Requests by address and status.")
        lines += [
            f'isovist_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self.requests.items())
        ]
        lines += _head("answers_total", "counter", "Answers by verdict.")
        lines += [
            f'isovist_answers_total{{verdict="{verdict}"}} {count}'
            for verdict, count in sorted(self.verdicts.items())
        ]
        lines += _head("request_seconds", "histogram", "From a request to its answer.")
        for route, bins in sorted(self._bins.items()):
            edges = (*(f"{edge:g}" for edge in EDGES), "+Inf")
            for edge, count in zip(edges, accumulate(bins), strict=True):
                lines.append(
                    f'isovist_request_seconds_bucket{{route="{route}",le="{edge}"}} {count}'
                )
            lines.append(f'isovist_request_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}')
            lines.append(f'isovist_request_seconds_count{{route="{route}"}} {sum(bins)}')
        lines += _head("batches_total", "counter", "Batches of scans.")
        lines.append(f"isovist_batches_total {batches[0]}")
        lines += _head("batched_scans_total", "counter", "Scans in batches.")
        lines.append(f"isovist_batched_scans_total {batches[1]}")
        for name, value in now.items():
            lines += [*_head(name, "gauge", "At this moment."), f"isovist_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, words: str) -> list[str]:
    return [f"# HELP isovist_{name} {words}", f"# TYPE isovist_{name} {kind}"]
