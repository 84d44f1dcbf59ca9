"""Count requests and response times, in the text format of Prometheus (0.0.4)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate

BIN_EDGES_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of the Prometheus text format."""


class Metrics:
    """Counters and response times of requests since the server started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.verdicts: Counter[str] = Counter()
        self._bins: dict[str, list[int]] = {}
        self._sums_s: dict[str, float] = {}

    def count(self, route: str, status: int, seconds: float, verdict: str | None) -> None:
        """Count an answered request, with its response time in s."""
        self.requests[route, status] += 1
        bins = self._bins.setdefault(route, [0] * (len(BIN_EDGES_S) + 1))
        bins[bisect_left(BIN_EDGES_S, seconds)] += 1
        self._sums_s[route] = self._sums_s.get(route, 0.0) + seconds
        if verdict is not None:
            self.verdicts[verdict] += 1

    def text(self, gauges: Mapping[str, float], batches: tuple[int, int]) -> str:
        """Return all metrics in the Prometheus text format.

        Args:
            gauges: Current values by name, such as the number of sessions.
            batches: Number of batches so far, and number of scans in them.
        """
        requests = [
            f'{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self.requests.items())
        ]
        verdicts = [f'{{verdict="{v}"}} {count}' for v, count in sorted(self.verdicts.items())]
        lines = [
            *_metric("requests_total", "counter", "Requests by path and status.", requests),
            *_metric("answers_total", "counter", "Answers by verdict.", verdicts),
            *_metric("request_seconds", "histogram", "Response times.", self._histogram()),
            *_metric("batches_total", "counter", "Batches of requests.", [f" {batches[0]}"]),
            *_metric("batched_scans_total", "counter", "Scans in batches.", [f" {batches[1]}"]),
        ]
        for name, value in gauges.items():
            lines += _metric(name, "gauge", "Current value.", [f" {value:g}"])
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        rows = []
        edges = (*(f"{edge:g}" for edge in BIN_EDGES_S), "+Inf")
        for route, bins in sorted(self._bins.items()):
            for edge, count in zip(edges, accumulate(bins), strict=True):
                rows.append(f'_bucket{{route="{route}",le="{edge}"}} {count}')
            rows.append(f'_sum{{route="{route}"}} {self._sums_s[route]:.6f}')
            rows.append(f'_count{{route="{route}"}} {sum(bins)}')
        return rows


def _metric(name: str, kind: str, text: str, rows: Iterable[str]) -> list[str]:
    heading = [f"# HELP isovist_{name} {text}", f"# TYPE isovist_{name} {kind}"]
    return heading + [f"isovist_{name}{row}" for row in rows]
