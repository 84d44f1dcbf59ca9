"""Provide F as an operator of PyTorch (extra `torch`), with exact derivatives.

    from isovist.paper.descriptor.torch_operator import describe

    F = describe(plan, points, corners=corners, directions=d, temperature=epsilon)
    loss(F).backward()

Every argument except the plan may be a tensor that requires a gradient, in double precision and on
the CPU. The walls between the corners are those of the plan.
"""

from typing import Any

import numpy as np

from isovist import DirectionalBasis, InputError, MissingExtraError
from isovist.paper.descriptor.differentiate import Plan
from isovist.sensing import Signal


def describe(
    plan: Plan,
    points: Any,
    *,
    directions: Any,
    temperature: Any,
    corners: Any = None,
    signal: Signal | None = None,
) -> Any:
    """Return F at places, a tensor of shape (..., n).

    Args:
        plan: The walls between the corners.
        points: Places off the walls, shape (..., 2), in m.
        directions: Directions of the basis, shape (n, 2); they are normalised.
        temperature: ε of the softmax profile, a number.
        corners: Corners of the walls, shape (k, 2), in m; those of the plan when `None`.
        signal: `Range` or `Intensity`; the range when `None`.
    """
    with MissingExtraError.unless_found("A descriptor in PyTorch", "torch"):
        import torch
    arguments = {
        "points": points,
        "corners": plan.corners.copy() if corners is None else corners,
        "directions": directions,
        "temperature": temperature,
    }
    tensors = [torch.as_tensor(value, dtype=torch.float64) for value in arguments.values()]
    for name, tensor in zip(arguments, tensors, strict=True):
        if tensor.device.type != "cpu":
            raise InputError.about(
                name, f"must be on the CPU, got {tensor.device}.", code="unavailable"
            )
    shape = tensors[0].shape
    if len(shape) == 0 or shape[-1] != 2:
        raise InputError.about("points", f"must have shape (..., 2), got {tuple(shape)}.")
    F = _operator(torch, plan, signal).apply(tensors[0].reshape(-1, 2), *tensors[1:])
    return F.reshape(*shape[:-1], F.shape[-1])


def _operator(torch: Any, plan: Plan, signal: Signal | None) -> Any:
    """Return F of a plan and a signal as a function that PyTorch can differentiate."""

    class Describe(torch.autograd.Function):  # type: ignore[misc]
        """F of points, corners, directions and temperature."""

        @staticmethod
        def forward(ctx: Any, points: Any, corners: Any, directions: Any, temperature: Any) -> Any:
            basis = DirectionalBasis.from_directions(
                directions.detach().numpy(), float(temperature)
            )
            ctx.plan, ctx.basis = plan.with_corners(corners.detach().numpy()), basis
            ctx.moments = ctx.plan.moments(points.detach().numpy(), basis, signal)
            ctx.lengths = np.linalg.norm(directions.detach().numpy(), axis=1)
            return torch.from_numpy(ctx.moments.describe(basis)[0])

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, u: Any) -> tuple[Any, ...]:
            pulled = ctx.plan.pull(ctx.moments, ctx.basis, u.numpy())
            by_direction = pulled.directions / ctx.lengths[:, None]
            tensors = (torch.from_numpy(x) for x in (pulled.points, pulled.corners, by_direction))
            return *tensors, torch.tensor(pulled.parameter, dtype=torch.float64)

    return Describe
