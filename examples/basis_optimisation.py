"""A basis fitted to a corridor against the uniform one, each at its best temperature."""

from pathlib import Path

import numpy as np

from isovist.basis import DirectionalBasis
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.basis_fit.gradients import (
    captured_energy,
    fit_basis,
    mean_injectivity,
    worst_injectivity,
)
from isovist.paper.descriptor.moments import Moments
from isovist.paper.report.theory_figures import draw_bars, draw_basis_over_map
from isovist.report.figures.figures import new_figure, save

OUTLINE = [(0, 0), (5, 0), (5, -1), (6.2, -1), (6.2, 0), (16, 0), (16, 2), (11, 2), (11, 2.8),
           (9.8, 2.8), (9.8, 2), (0, 2)]  # fmt: skip
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.5)


def main(out: Path = Path("out/basis_optimisation.png"), directions: int = 8) -> None:
    corridor = SegmentMap.from_polygons([OUTLINE])
    x, y = np.meshgrid(np.arange(0.5, 16.0, 1.0), (0.6, 1.4))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    moments = Moments.from_segments(
        corridor, places, DirectionalBasis.circle(16, 0.02), tolerance=1e-8
    )
    objectives = {
        "captured energy": captured_energy(moments),
        "mean μ": mean_injectivity(moments),
        "worst μ": worst_injectivity(moments),
    }
    adapted, bars = {}, {}
    for name, objective in objectives.items():
        starts = [DirectionalBasis.circle(directions, t) for t in TEMPERATURES]
        uniform = max(starts, key=lambda basis: objective(basis).value)
        fits = [
            fit_basis(basis, objective, parameter_range=(0.02, 0.5), steps=60)
            for basis in (uniform, DirectionalBasis.circle(directions, 0.1))
        ]
        fit = max(fits, key=lambda f: f.after)
        before, after = objective(uniform).value, fit.after
        adapted[name] = fit.basis
        short = name.replace(" energy", "")
        bars[f"{short}\nuniform"], bars[f"{short}\nadapted"] = before, after
        print(f"{name:16s} uniform {before:.4f} (its best of {len(TEMPERATURES)} temperatures, "
              f"{uniform.temperature:g}), adapted {after:.4f} (ε = {fit.basis.temperature:.3f}): "
              f"{100.0 * (after / before - 1.0):+.1f} %")  # fmt: skip
        if name == "captured energy":
            print(f"{'':16s} energy not captured: {1 - before:.4f} → {1 - after:.4f}")
    figure = new_figure(11.0, 3.8)
    plan, chart = figure.subplots(1, 2, width_ratios=(1.4, 1.0))
    both = {
        "uniform": DirectionalBasis.circle(directions, 0.1),
        "adapted": adapted["captured energy"],
    }
    draw_basis_over_map(plan, corridor, np.array([8.0, 1.0]), both, 1.8)
    draw_bars(chart, bars, "objective")
    chart.tick_params(axis="x", labelsize=8)
    save(figure, out)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
