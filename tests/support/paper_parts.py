"""The parts of the laboratory of the paper that tests of other things need."""

from isovist.basis import Band, Bump, CosinePower, Softmax, fibonacci_sphere
from isovist.paper import (
    CircleSum,
    EqualArea,
    Exact,
    Lebedev,
    fit_to_map,
    free_points,
    paper_basis,
    paper_room,
    squared_norms,
)

__all__ = [
    "Band",
    "Bump",
    "CircleSum",
    "CosinePower",
    "EqualArea",
    "Exact",
    "Lebedev",
    "Softmax",
    "fibonacci_sphere",
    "fit_to_map",
    "free_points",
    "paper_basis",
    "paper_room",
    "squared_norms",
]  # fmt: skip
