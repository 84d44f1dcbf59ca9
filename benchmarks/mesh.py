"""How fast are rays through a mesh, next to Open3D's ray caster?

    python -m benchmarks.mesh [--cpu]

Rows: million rays per second on a closed, rough surface of 100 000 triangles and on a hall full of
boxes of about as many, for (a) random origins and directions, (b) one origin and directions all
over the sphere, (c) a lidar of 16 rings; and Open3D's `RaycastingScene` on the same rays where it
is installed, all with two threads in one run, or by the CPU time of one thread, which says more on
a busy machine.  Origins and directions are those of float32 numbers,
because Open3D takes no others.  Agreement: how many rays meet the same face at the same range to
1e-5 of it, and the largest difference where the face is the same.
"""

import platform
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from isovist.arrays import FloatArray
from isovist.basis.directional_basis import fibonacci_sphere
from isovist.compute.infra import threads
from isovist.compute.trees.flatten import NODE_WIDTH
from isovist.maps.surfaces.mesh_map import MeshMap

RAYS = 400_000


def rough_sphere(faces: int) -> MeshMap:
    """A sphere of 10 m with waves and noise, seen from within."""
    n = int(np.sqrt(faces / 2))
    rng = np.random.default_rng(0)
    phi, theta = np.meshgrid(2 * np.pi * np.arange(n) / n, np.linspace(0.02, 3.12, n + 1))
    radius = 10 + 2 * np.sin(5 * phi) * np.sin(4 * theta) + 0.3 * rng.standard_normal(phi.shape)
    flat = radius * np.sin(theta)
    vertices = np.stack([flat * np.cos(phi), flat * np.sin(phi), radius * np.cos(theta)], axis=-1)
    at = np.arange(vertices.size // 3).reshape(n + 1, n)
    a, b, c, d = at[:-1], np.roll(at[:-1], -1, 1), at[1:], np.roll(at[1:], -1, 1)
    parts = [np.stack(part, axis=-1).reshape(-1, 3) for part in ((a, b, c), (b, d, c))]
    return MeshMap.from_arrays(vertices.reshape(-1, 3), np.concatenate(parts))


def furnished_hall(boxes: int) -> MeshMap:
    """A hall of 60 × 40 × 4 m full of turned boxes, away from the middle."""
    rng = np.random.default_rng(1)
    corner = MeshMap.box([0, 0, 0], [1, 1, 1])
    angle = rng.uniform(0, 2 * np.pi, boxes)
    size = rng.uniform(0.05, 0.4, (boxes, 1, 3))
    place = rng.uniform([-30, -20, 0], [30, 20, 3.6], (boxes, 1, 3))
    place += 4.0 * place / np.linalg.norm(place[..., :2], axis=-1, keepdims=True) * [1, 1, 0]
    turn = np.zeros((boxes, 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 1, 0] = np.sin(angle)
    turn[:, 0, 1] = -turn[:, 1, 0]
    turn[:, 2, 2] = 1.0
    vertices = (corner.vertices - 0.5) * size @ turn.transpose(0, 2, 1) + place
    faces = corner.faces + 8 * np.arange(boxes)[:, None, None]
    hall = MeshMap.box([-36, -26, 0], [36, 26, 4])
    return MeshMap.join([hall, MeshMap.from_arrays(vertices.reshape(-1, 3), faces.reshape(-1, 3))])


def rays() -> Iterator[tuple[str, FloatArray, FloatArray]]:
    rng = np.random.default_rng(2)
    around = fibonacci_sphere(RAYS)
    yield "random", rng.uniform([-2, -2, 0], [2, 2, 4], (RAYS, 3)), rng.permutation(around)
    yield "all round", np.full((RAYS, 3), [0.1, 0.2, 1.5]), around
    azimuth = 2 * np.pi * np.arange(RAYS // 16) / (RAYS // 16)
    rise = np.deg2rad(np.linspace(-15, 15, 16))[:, None] + 0 * azimuth
    flat = np.cos(rise)
    rings = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(rise)], axis=-1)
    yield "lidar", np.full((rings.size // 3, 3), [0.1, 0.2, 1.5]), rings.reshape(-1, 3)


def faster_of(
    ways: dict[str, Callable[[], object]], clock: Callable[[], float], times: int = 5
) -> dict[str, float]:
    """Seconds of the fastest of some runs of each way, one after the other in turns."""
    best = dict.fromkeys(ways, np.inf)
    for turn in range(times + 1):
        for name, work in ways.items():
            start = clock()
            work()
            if turn:
                best[name] = min(best[name], clock() - start)
    return best


def main() -> None:
    alone = "--cpu" in sys.argv[1:]
    count, clock = (1, time.process_time) if alone else (2, time.perf_counter)
    threads.THREADS = min(count, threads.THREADS)
    said = "CPU time of one thread" if alone else f"{threads.THREADS} threads"
    print(f"{platform.machine()}, nodes of {NODE_WIDTH} children, {said}\n")
    try:
        import open3d
    except (ImportError, OSError):
        open3d = None
    print("| mesh | rays | ours, million/s | Open3D | ratio | agreement |")
    print("|---|---|---|---|---|---|")
    for name, world in (("sphere", rough_sphere(100_000)), ("hall", furnished_hall(8_300))):
        scene = None
        if open3d is not None:
            scene = open3d.t.geometry.RaycastingScene(nthreads=count)
            scene.add_triangles(world.vertices.astype("f4"), world.faces.astype("u4"))
        for kind, origins, directions in rays():
            o, d = (x.astype("f4").astype(float) for x in (origins, directions))
            ways: dict[str, Callable[[], object]] = {"ours": partial(world.cast, o, d)}
            if scene is not None:
                packed = open3d.core.Tensor(np.concatenate([o, d], axis=1).astype("f4"))
                ways["theirs"] = partial(scene.cast_rays, packed, nthreads=count)
            seconds = faster_of(ways, clock)
            row = f"| {name}, {len(world.faces)} | {kind} | {len(o) / seconds['ours'] / 1e6:.2f} |"
            if scene is None:
                print(row, "not installed | | |")
                continue
            theirs = scene.cast_rays(packed, nthreads=count)
            hits = world.cast(o, d)
            t = theirs["t_hit"].numpy() * np.linalg.norm(d, axis=1)
            same = (theirs["primitive_ids"].numpy() == hits.walls) & (hits.walls >= 0)
            error = np.abs(t[same] - hits.ranges[same])
            near = 100.0 * np.count_nonzero(error <= 1e-5 * hits.ranges[same]) / len(o)
            print(
                row,
                f"{len(o) / seconds['theirs'] / 1e6:.2f} |",
                f"{seconds['theirs'] / seconds['ours']:.2f} |",
                f"{near:.3f} % within 1e-5, {error.max():.0e} m at most |",
            )


if __name__ == "__main__":
    main()
