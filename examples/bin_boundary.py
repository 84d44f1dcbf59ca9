"""The bin-boundary effect: surface points that vote into hard bins, against soft weights."""

from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.basis import DirectionalBasis
from isovist.paper.descriptor.quadrature import EqualArea
from isovist.paper.gram.hard_bins import localization_errors, sectors, votes, walk
from isovist.paper.report.theory_figures import draw_channels, draw_errors, draw_steps
from isovist.paper.statements.worlds.scenes import BoxScene
from isovist.report.figures.figures import new_figure, save


def wall_points(width: float, height: float, spacing: float) -> FloatArray:
    """Surface points of a rectangular room, every `spacing` m."""
    x, y = np.arange(spacing / 2, width, spacing), np.arange(spacing / 2, height, spacing)
    return np.concatenate(
        [
            np.stack([x, np.zeros_like(x)], axis=1),
            np.stack([np.full_like(y, width), y], axis=1),
            np.stack([x[::-1], np.full_like(x, height)], axis=1),
            np.stack([np.zeros_like(y), y[::-1]], axis=1),
        ]
    )


def compare_in_space() -> None:
    """A sensor that turns by 0.05° at a time: hard sectors, SHOT's shared ones, a basis."""
    box = BoxScene.from_size([6.0, 5.0, 3.0], [[4.0, 3.5, 1.2, 0.5]])
    rule = EqualArea(600).rule()
    ranges = box.cast([2.0, 2.0, 1.5], rule.directions).ranges * rule.coefficients
    azimuth = 0.25 * np.pi * (np.arange(8) + 0.5)
    grid = np.array([[np.cos(a), np.sin(a), z] for z in (-0.6, 0.6) for a in azimuth])
    basis = DirectionalBasis.from_directions(grid, 0.2)
    series: dict[str, list[FloatArray]] = {"hard sectors": [], "shared sectors": [], "basis": []}
    for yaw in np.deg2rad(0.05 * np.arange(200)):
        c, s = np.cos(yaw), np.sin(yaw)
        theta = rule.directions @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        series["hard sectors"].append(ranges @ sectors(theta, shared=False))
        series["shared sectors"].append(ranges @ sectors(theta, shared=True))
        series["basis"].append(votes(basis, theta, ranges))
    for name, F in series.items():
        step = np.linalg.norm(np.diff(F, axis=0), axis=1)
        bend = np.linalg.norm(np.diff(F, n=2, axis=0), axis=1)
        print(f"3D, 16 sectors, {name:15s} change per 0.05°: median {np.median(step):.5f}, "
              f"largest {step.max():.5f}; largest change of slope {bend.max():.5f}")  # fmt: skip


def corner_of_a_box(spacing: float = 0.15) -> tuple[FloatArray, FloatArray]:
    """Surface points and normals of three walls that meet at the origin, 1.5 m each way."""
    t = np.arange(spacing / 2, 1.5, spacing)
    u, v = (x.ravel() for x in np.meshgrid(t, t))
    zero = np.zeros_like(u)
    points = [np.stack(p, axis=1) for p in ((u, v, zero), (u, zero, v), (zero, u, v))]
    normals = [np.tile(e, (len(u), 1)) for e in np.eye(3)[[2, 1, 0]]]
    return np.concatenate(points), np.concatenate(normals)


def compare_with_fpfh() -> None:
    """A keypoint that slides over the floor: FPFH of Open3D against votes for directions."""
    try:
        import open3d
    except ImportError:
        print("FPFH: left out, since open3d is not installed (pip install open3d)")
        return
    cloud, normals = corner_of_a_box()
    basis = DirectionalBasis.fibonacci(33, 0.05)
    search = open3d.geometry.KDTreeSearchParamRadius(9.0)  # everything: no point comes or goes
    series: dict[str, list[FloatArray]] = {"FPFH, 33 bins": [], "33 hard bins": [], "33 soft": []}
    for t in np.linspace(0.0, 0.1, 201):
        p = np.array([0.6 + t, 0.5 + 0.7 * t, 0.0])
        shape = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(np.vstack([p, cloud])))
        shape.normals = open3d.utility.Vector3dVector(np.vstack([[0.0, 0.0, 1.0], normals]))
        fpfh = open3d.pipelines.registration.compute_fpfh_feature(shape, search)
        series["FPFH, 33 bins"].append(np.asarray(fpfh.data)[:, 0].copy())
        gap = cloud - p
        theta = gap / np.linalg.norm(gap, axis=1, keepdims=True)
        ones = np.ones(len(cloud))
        series["33 hard bins"].append(votes(basis, theta, ones, hard=True))
        series["33 soft"].append(votes(basis, theta, ones))
    for name, F in series.items():
        step = np.linalg.norm(np.diff(F, axis=0), axis=1) / np.linalg.norm(F[0])
        print(f"3D, keypoint on a floor, {name:13s} change per 0.6 mm: median "
              f"{100 * np.median(step):.4f} %, largest {100 * step.max():.4f} %")  # fmt: skip


def main(out: Path = Path("out/bin_boundary.png")) -> None:
    cloud = wall_points(6.0, 4.0, 0.1)
    basis = DirectionalBasis.circle(8, 0.5)
    steps = walk(basis, cloud, [2.0, 1.5], [3.0, 2.2], steps=800)
    print(f"2D, {len(cloud)} points, 8 bins, 1.5 mm a step: largest change of F "
          f"hard {steps.hard_steps.max():.4f}, soft {steps.soft_steps.max():.4f}; "
          f"slope promised hard {steps.hard_slope.max():.2f}, soft {steps.soft_slope.max():.2f} "
          f"per m")  # fmt: skip
    places = np.random.default_rng(0).uniform([1.0, 1.0], [5.0, 3.0], (100, 2))
    noise = np.array([0.0, 0.01, 0.02, 0.05])
    medians = np.array(
        [
            [float(np.median(e)) for e in localization_errors(basis, cloud, places, noise=float(s))]
            for s in noise
        ]
    )
    for s, (soft, hard) in zip(noise, medians, strict=True):
        print(f"noise {s:.2f} m: median error soft {1e3 * soft:5.1f} mm, hard {1e3 * hard:5.1f} mm")
    compare_in_space()
    compare_with_fpfh()
    figure = new_figure(11.0, 3.4)
    left, middle, right = figure.subplots(1, 3)
    draw_channels(left, steps, 1)
    draw_steps(middle, steps)
    draw_errors(right, noise, medians[:, 0], medians[:, 1])
    save(figure, out)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
