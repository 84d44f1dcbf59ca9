"""The operations that every backend computes.

`compute.cpu` and `compute.cuda` implement them, and `compute.registry` chooses between them.
Nothing above this room knows which one ran.  Costs of headings, deficits of boxes, ranges and
distances are equal bit by bit; sums over many beams differ by rounding.
`tests/unit/compute/test_conformance.py` holds every backend to the same slow twins, with the
tolerance of each operation.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from isovist.compute.requests import (
    AlignAndScoreRequest,
    AlignedPoses,
    AlignRequest,
    BeamRatings,
    BoundRequest,
    BoxDeficits,
    BoxSearchRequest,
    BoxSearchResult,
    CorrelateRequest,
    DescribeMapRequest,
    DescribeNodesRequest,
    HeadingCosts,
    MapDescription,
    NodeSums,
    ScoredPoses,
    ScoreRequest,
    Shortlist,
    ShortlistRequest,
)

Item = TypeVar("Item")
Result = TypeVar("Result")


class Compute(Protocol):
    """A backend: something that computes the operations below.

    The last three do in one piece what their callers can do step by step.  A backend that has no
    better way returns `None`.
    """

    @property
    def name(self) -> str:
        """The name that users choose the backend by."""

    @property
    def is_exhaustive(self) -> bool:
        """`True` if comparing all nodes costs less than first dropping most by a bound."""

    def map_in_order(
        self, work: Callable[[int, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Call work(number, item) for each item, several at once; yield the results in order.

        Items may be generated: they are taken only a few ahead of the results.
        """

    def correlate(self, request: CorrelateRequest) -> HeadingCosts:
        """Compare nodes with a scan at every heading."""

    def shortlist(self, request: ShortlistRequest) -> Shortlist:
        """Compare nodes with a coarse scan, then the cheapest of them with the full scan."""

    def align(self, request: AlignRequest) -> AlignedPoses:
        """Move poses until the beams end at walls."""

    def score(self, request: ScoreRequest) -> BeamRatings:
        """Rate each beam from each pose."""

    def align_and_score(self, request: AlignAndScoreRequest) -> ScoredPoses:
        """Align poses, then rate those that the beams constrain best."""

    def bound_boxes(self, request: BoundRequest) -> BoxDeficits:
        """Bound the best possible score of boxes of poses, and drop those below a budget."""

    def describe_nodes(self, request: DescribeNodesRequest) -> NodeSums | None:
        """Sum the rays of nodes to channels."""

    def describe_map(self, request: DescribeMapRequest) -> MapDescription | None:
        """Describe a 2D map: its nodes, their channels and what rays walk on."""

    def search_boxes(self, request: BoxSearchRequest) -> BoxSearchResult | None:
        """Find all boxes of poses that may hold a good one, from large boxes to small ones."""
