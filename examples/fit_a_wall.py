"""A wall that a plan has wrong by 20 cm, found from scans by gradient descent (extra `torch`)."""

import numpy as np

import isovist as iv
from isovist.basis import DirectionalBasis
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.differentiate import Plan
from isovist.paper.descriptor.torch_operator import describe

RIGHT = np.array([(2.4, 0.0), (2.6, 1.8)])  # a thin wall in a room of 5 m × 4 m
DRAWN = np.array([(2.25, 0.0), (2.45, 1.66)])


def room(wall: np.ndarray) -> iv.SegmentMap:
    return iv.SegmentMap.room(5.0, 4.0, walls=[wall], pillars=[(3.7, 2.4, 4.2, 2.9)])


def scans(places: np.ndarray, basis: DirectionalBasis) -> np.ndarray:
    """Descriptors of scans in the right room, with noise of 5 mm, shape (P, n)."""
    lidar = iv.Lidar(2.0 * np.pi, 1440, 20.0, 0.005)
    rng, world, descriptor = np.random.default_rng(1), room(RIGHT), Descriptor(basis)
    return np.array([descriptor.of_scan(lidar.scan(world, iv.Pose(*p), rng)).F for p in places])


def main(steps: int = 120, places: int = 60) -> float:
    """Fit both ends of the wall; the larger error that is left, in m."""
    import torch

    basis = DirectionalBasis.circle(16)
    world = room(DRAWN)
    inside = np.random.default_rng(0).uniform(0.2, (4.8, 3.8), (4 * places, 2))
    inside = inside[world.contains(inside) & (world.clearance(inside) > 0.3)][:places]
    seen = torch.from_numpy(scans(inside, basis))
    plan = Plan.from_map(world)
    ends = [int(np.linalg.norm(plan.corners - end, axis=1).argmin()) for end in DRAWN]
    wall = torch.tensor(DRAWN, requires_grad=True)
    descent = torch.optim.Adam([wall], lr=0.02)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(descent, steps)
    for step in range(steps):
        corners = torch.from_numpy(plan.corners.copy()).index_put((torch.tensor(ends),), wall)
        F = describe(
            plan, inside, corners=corners, directions=basis.directions.copy(),
            temperature=basis.temperature,
        )  # fmt: skip
        loss = ((F - seen) ** 2).mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
        slower.step()
        if step % 20 == 0:
            print(f"step {step:3d}: loss {loss.item():.6f}")
    left = float(np.linalg.norm(wall.detach().numpy() - RIGHT, axis=1).max())
    print(f"the wall is {1000.0 * left:.2f} mm from where it is")
    return left


if __name__ == "__main__":
    main()
