"""The worked example of the paper, beside its exact values.

The room is [0, 6] × [0, 4] m with a wall x = 3, y ∈ [1, 3] and a pillar [4.5, 5] × [1.5, 2.5];
the signal is the range, the rose has 8 directions at i·π/4 and temperature 0.5.
"""

from dataclasses import dataclass

import numpy as np

from isovist.descriptor.descriptor import Descriptor
from isovist.descriptor.quadrature import CircleSum, Exact
from isovist.maps.segments import SegmentMap
from isovist.roses import Rose
from isovist.theory.static import Descent, DescriptorGrid, gauss_newton
from isovist.types import FloatArray, IntArray

CONVERGENCE_AT = (1.5, 2.0)
TERMS = (64, 256, 1024, 4096, 16384)
TRUE_PLACE = (1.3, 1.7)
SPACING = 0.5
REGION = (0.0, 0.0, 2.75, 4.0)  # the paper's 35 nodes, left of the inner wall
STEP = 0.05  # m, of the paper's central differences


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Every number of the paper's section 7, as the paper computes it and exactly.

    Attributes:
        phi: S-term sums of F at (1.5, 2.0) for S in `TERMS`, shape (5, 8).
        errors: Largest difference of each row to the last.
        phi_exact: F there, to 1e-14.
        grid: The 35 nodes, described with S = 1024.
        order: The nodes, nearest in descriptor space first.
        distances: ‖F(p_k) − F_obs‖₂ in that order.
        descent: Gauss–Newton with S = 1024 and differences of 0.05 m.
        descent_exact: Gauss–Newton with exact F and J.
        J, J_exact, J_without_shadow: Jacobians at the nearest node, shape (8, 2).
    """

    phi: FloatArray
    errors: FloatArray
    phi_exact: FloatArray
    grid: DescriptorGrid
    order: IntArray
    distances: FloatArray
    descent: Descent
    descent_exact: Descent
    J: FloatArray
    J_exact: FloatArray
    J_without_shadow: FloatArray


def paper_room() -> SegmentMap:
    """The room of the paper's example."""
    return SegmentMap.room(
        6.0, 4.0, walls=[[(3.0, 1.0), (3.0, 3.0)]], pillars=[(4.5, 1.5, 5.0, 2.5)]
    )


def paper_rose() -> Rose:
    """The 8 directions of the paper's example, temperature 0.5."""
    return Rose.circle(8, 0.5)


def run_example() -> Example:
    """Compute the whole example."""
    world, rose = paper_room(), paper_rose()
    exact = Descriptor(rose, quadrature=Exact(1e-14))
    phi = np.stack(
        [Descriptor(rose, quadrature=CircleSum(S)).at(world, CONVERGENCE_AT)[0] for S in TERMS]
    )
    plain = Descriptor(rose, quadrature=CircleSum(1024), step=STEP)
    grid = DescriptorGrid.over(world, plain, SPACING, region=REGION)
    F_obs, _ = plain.at(world, TRUE_PLACE)
    order, distances = grid.nearest(F_obs, len(grid.nodes))
    start = grid.nodes[order[0]]
    F_obs_exact, _ = exact.at(world, TRUE_PLACE)
    return Example(
        phi=phi,
        errors=np.abs(phi - phi[-1]).max(axis=1),
        phi_exact=exact.at(world, CONVERGENCE_AT)[0],
        grid=grid,
        order=order,
        distances=distances,
        descent=gauss_newton(plain, world, F_obs, start, steps=3),
        descent_exact=gauss_newton(exact, world, F_obs_exact, start, steps=4),
        J=plain.at(world, start, jacobian=True)[1],
        J_exact=exact.at(world, start, jacobian=True)[1],
        J_without_shadow=exact.at(world, start, jacobian=True, shadow=False)[1],
    )


def as_json(example: Example) -> dict[str, object]:
    """The example as plain data; positions and errors in m."""
    nodes = example.grid.nodes[example.order]
    singular = [
        np.linalg.svd(J, compute_uv=False)
        for J in (example.J, example.J_exact, example.J_without_shadow)
    ]
    return {
        "convergence": [
            {"S": S, "phi": row.tolist(), "error": float(error)}
            for S, row, error in zip(TERMS, example.phi, example.errors, strict=True)
        ],
        "phi_exact": example.phi_exact.tolist(),
        "nearest": [
            {"node": node.tolist(), "distance": float(distance), "true_error": true_error(node)}
            for node, distance in zip(nodes[:4], example.distances[:4], strict=True)
        ],
        "gauss_newton": _descent_rows(example.descent),
        "gauss_newton_exact": _descent_rows(example.descent_exact),
        "singular_values": singular[0].tolist(),
        "mu": float(singular[0][-1]),
        "singular_values_exact": singular[1].tolist(),
        "mu_exact": float(singular[1][-1]),
        "singular_values_without_shadow": singular[2].tolist(),
        "summary": {
            "terms": 1024,
            "nodes": len(nodes),
            "spacing": SPACING,
            "covering_radius": example.grid.covering_radius,
            "true_place": list(TRUE_PLACE),
            "nearest_error": true_error(nodes[0]),
            "gauss_newton_error": true_error(example.descent.positions[-1]),
            "gauss_newton_exact_error": true_error(example.descent_exact.positions[-1]),
        },
    }


def true_error(position: FloatArray) -> float:
    """Distance to the true place of the example, in m."""
    return float(np.linalg.norm(position - np.array(TRUE_PLACE)))


def _descent_rows(descent: Descent) -> list[dict[str, object]]:
    return [
        {"position": p.tolist(), "residual": float(residual), "error": true_error(p)}
        for p, residual in zip(descent.positions, descent.residuals, strict=True)
    ]
