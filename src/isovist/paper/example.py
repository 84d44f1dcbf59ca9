"""The worked example of the paper, beside its exact values, or the same with other values.

The room is [0, 6] × [0, 4] m with a wall x = 3, y ∈ [1, 3] and a pillar [4.5, 5] × [1.5, 2.5];
the signal is the range, the basis has 8 directions at i·π/4 and temperature 0.5.
"""

from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, SegmentMap
from isovist.arrays import FloatArray, IntArray
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import CircleSum, Exact
from isovist.paper.static.descriptor_grid import DescriptorGrid
from isovist.paper.static.gauss_newton import Descent, StepLimits, gauss_newton
from isovist.paper.weight_profiles import profile_of
from isovist.poses import unit_vectors

CONVERGENCE_AT = (1.5, 2.0)
TERMS = (64, 256, 1024, 4096, 16384)
TRUE_PLACE = (1.3, 1.7)
"""Position of the robot in the example of the paper, in m."""
SPACING = 0.5
REGION = (0.0, 0.0, 2.75, 4.0)  # the paper's 35 nodes, left of the inner wall
STEP = 0.05  # m, of the paper's central differences
CHANNELS, TEMPERATURE = 8, 0.5
NOISE = 1e-3  # η of the table of static against dynamic localization


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """The room, basis and places of the example.

    Attributes:
        world: The room.
        basis: The directions and their weights.
        place: Position of the robot, (x, y) in m.
        described: Position at which sums of S terms are compared, (x, y) in m.
        region: Box (x0, y0, x1, y1) of the nodes, in m; `None` for the whole room.
    """

    world: SegmentMap
    basis: DirectionalBasis
    place: tuple[float, float] = TRUE_PLACE
    described: tuple[float, float] = CONVERGENCE_AT
    region: tuple[float, float, float, float] | None = REGION

    @classmethod
    def of(
        cls,
        channels: int = CHANNELS,
        temperature: float = TEMPERATURE,
        profile: str = "softmax",
        room: SegmentMap | None = None,
        place: tuple[float, float] | None = None,
    ) -> "Setup":
        """Make a setup with values that differ from those of the paper.

        Args:
            channels: Number of directions of the basis.
            temperature: Width of the weights (`profile_of`).
            profile: softmax, bump or cosine.
            room: A plan of walls; the paper's room when `None`.
            place: Position of the robot, in m.  When `None`, that of the paper in its room, and
                elsewhere the place with most room.
        """
        basis = DirectionalBasis.circle(channels, profile=profile_of(profile, temperature))
        world = paper_room() if room is None else room
        if place is not None and not world.contains(place):
            raise InputError.about(
                "place",
                f"must lie in the free space of the room, got ({place[0]:g}, {place[1]:g}).",
                code="not_free",
            )
        if room is None:
            return cls(world, basis, TRUE_PLACE if place is None else place)
        middle = _roomiest(room) if place is None else place
        return cls(world, basis, middle, middle, None)


def _roomiest(world: SegmentMap) -> tuple[float, float]:
    """Return a free place far from walls, on a lattice beside that of the nodes, in m."""
    low, high = world.bounds
    x, y = (np.arange(a + SPACING / 3.0, b, SPACING) for a, b in zip(low, high, strict=True))
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    places = places[world.contains(places)]
    if len(places) == 0:
        raise InputError(
            "The room is too small for nodes every 0.5 m. Are its lengths in m?", code="empty"
        )
    best = places[int(np.argmax(world.clearance(places)))]
    return float(best[0]), float(best[1])


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Every number of the paper's section 7, as the paper computes it and exactly.

    Attributes:
        setup: What it is computed for.
        phi: S-term sums of F at `setup.described` for S in `TERMS`, shape (5, n).
        errors: Largest difference of each row to the last.
        phi_exact: F there, to 1e-14.
        grid: The nodes, 35 in the paper, described with S = 1024.
        order: The nodes, nearest in descriptor space first.
        distances: ‖F(p_k) − F_obs‖₂ in that order.
        descent: Gauss–Newton with S = 1024 and differences of 0.05 m.
        descent_exact: Gauss–Newton with exact F and J.
        J, J_exact, J_without_shadow: Jacobians at the nearest node, shape (n, 2).
    """

    setup: Setup
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
    """Return the room of the paper's example."""
    return SegmentMap.room(
        6.0, 4.0, walls=[[(3.0, 1.0), (3.0, 3.0)]], pillars=[(4.5, 1.5, 5.0, 2.5)]
    )


def paper_basis() -> DirectionalBasis:
    """Return the 8 directions of the paper's example, temperature 0.5."""
    return DirectionalBasis.circle(CHANNELS, TEMPERATURE)


def run_example(setup: Setup | None = None) -> Example:
    """Compute the whole example, by default with the values of the paper."""
    setup = Setup(paper_room(), paper_basis()) if setup is None else setup
    world, basis, place = setup.world, setup.basis, setup.place
    exact = Descriptor(basis, quadrature=Exact(1e-14))
    phi = np.stack(
        [Descriptor(basis, quadrature=CircleSum(S)).at(world, setup.described)[0] for S in TERMS]
    )
    summed = Descriptor(basis, quadrature=CircleSum(1024), step=STEP)
    grid = DescriptorGrid.over(world, summed, SPACING, region=setup.region)
    F_obs, _ = summed.at(world, place)
    order, distances = grid.nearest(F_obs, len(grid.nodes))
    start = grid.nodes[order[0]]
    F_obs_exact, _ = exact.at(world, place)
    return Example(
        setup=setup,
        phi=phi,
        errors=np.abs(phi - phi[-1]).max(axis=1),
        phi_exact=exact.at(world, setup.described)[0],
        grid=grid,
        order=order,
        distances=distances,
        descent=gauss_newton(summed, world, F_obs, start, StepLimits(max_steps=3)),
        descent_exact=gauss_newton(exact, world, F_obs_exact, start, StepLimits(max_steps=4)),
        J=summed.at(world, start, jacobian=True)[1],
        J_exact=exact.at(world, start, jacobian=True)[1],
        J_without_shadow=exact.at(world, start, jacobian=True, shadow=False)[1],
    )


def as_json(example: Example) -> dict[str, object]:
    """Return the example as plain data; positions and errors in m."""
    nodes, setup = example.grid.nodes[example.order], example.setup
    place = np.array(setup.place)
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
        "jumps": _jumps(setup.world, np.array(setup.described)),
        "error_ratios": [
            float(a / b) for a, b in zip(example.errors[:-2], example.errors[1:-1], strict=True)
        ],
        "static_and_dynamic": _static_and_dynamic(example),
        "nearest": [
            {"node": node.tolist(), "distance": float(distance), "true_error": _gap(node, place)}
            for node, distance in zip(nodes[:4], example.distances[:4], strict=True)
        ],
        "gauss_newton": _descent_rows(example.descent, place),
        "gauss_newton_exact": _descent_rows(example.descent_exact, place),
        "singular_values": singular[0].tolist(),
        "mu": float(singular[0][-1]),
        "singular_values_exact": singular[1].tolist(),
        "mu_exact": float(singular[1][-1]),
        "singular_values_without_shadow": singular[2].tolist(),
        "summary": _summary(example, nodes[0]),
    }


def _summary(example: Example, nearest: FloatArray) -> dict[str, object]:
    """Return the paper's last table as plain data; positions and errors in m."""
    setup, place = example.setup, np.array(example.setup.place)
    return {
        "terms": 1024,
        "nodes": len(example.grid.nodes),
        "spacing": SPACING,
        "covering_radius": example.grid.covering_radius,
        "channels": len(setup.basis),
        "profile": type(setup.basis.profile).__name__,
        "parameter": setup.basis.profile.parameter,
        "described": list(setup.described),
        "true_place": list(setup.place),
        "nearest_error": _gap(nearest, place),
        "gauss_newton_error": _gap(example.descent.positions[-1], place),
        "gauss_newton_exact_error": _gap(example.descent_exact.positions[-1], place),
    }


def _jumps(world: SegmentMap, place: FloatArray) -> list[dict[str, float]]:
    """Return angles (rad) at which the range from a place jumps, and the ranges beside them."""
    pieces = world.see(place[None])
    angles = pieces.angles[0, 1 : 1 + int(pieces.counts[0])]
    before, after = (world.cast(place, unit_vectors(angles + s)).ranges for s in (-1e-9, 1e-9))
    return [
        {"angle": float(a), "before": float(r), "after": float(s)}
        for a, r, s in zip(angles, before, after, strict=True)
        if abs(r - s) > 1e-6
    ]


def _static_and_dynamic(example: Example) -> dict[str, float]:
    """Return the paper's table of both bounds, to first order, at the true place.

    The path is 0.5 m long, a second, diagonal and centred there; the observations err by η.
    """
    setup = example.setup
    exact = Descriptor(setup.basis, quadrature=Exact(1e-12))
    place = np.array(setup.place)
    along = np.linspace(-0.25, 0.25, 21)[:, None] * np.sqrt(0.5)
    path = place + along[setup.world.contains(place + along)]
    _, J = exact.at(setup.world, path, jacobian=True)
    _, J_place = exact.at(setup.world, place, jacobian=True)
    step = 1.0 / len(path)
    min_eigenvalue = float(np.linalg.eigvalsh(step * np.einsum("tni,tnj->ij", J, J))[0])
    L = float(np.linalg.norm(J, ord=2, axis=(1, 2)).max())
    mu = float(np.linalg.svd(J_place, compute_uv=False)[-1])
    if not min(mu, min_eigenvalue) > 0.0:
        raise InputError(
            "The descriptor does not change from place to place, so that nothing bounds an error. "
            "Take another `temperature`.",
            code="empty",
        )
    return {
        "noise": NOISE,
        "mu": mu,
        "lambda_min": min_eigenvalue,
        "static_bound": (L * SPACING / np.sqrt(2.0) + NOISE) / mu,
        "dynamic_bound": 2.0 * L * NOISE / min_eigenvalue,
    }


def _gap(position: FloatArray, place: FloatArray) -> float:
    """Return the distance to the true place, in m."""
    return float(np.linalg.norm(position - place))


def _descent_rows(descent: Descent, place: FloatArray) -> list[dict[str, object]]:
    return [
        {"position": p.tolist(), "residual": float(residual), "error": _gap(p, place)}
        for p, residual in zip(descent.positions, descent.residuals, strict=True)
    ]
