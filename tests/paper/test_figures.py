"""Figures of the theory are drawn into given axes, and an example runs."""

import runpy

import numpy as np
import pytest
from tests.support.paths import ROOT

from isovist import Rose, SegmentMap, report
from isovist.paper import tradeoff, walk

pytestmark = pytest.mark.slow


def test_each_figure_puts_its_artists_into_the_axes():
    axes = report.new_figure(8.0, 6.0).subplots(2, 3).ravel()
    rose, room, line = Rose.circle(6), SegmentMap.room(4, 3), np.arange(3.0)
    cloud = np.array([[3.0, 0.1], [0.2, 3.0], [-3.0, 0.3], [0.1, -3.0]])
    steps = walk(rose, cloud, [0.0, 0.0], [0.5, 0.2], steps=20)
    assert len(report.draw_channels(axes[0], steps, 0)) == 2
    assert len(report.draw_steps(axes[1], steps)) == 4
    assert len(report.draw_errors(axes[2], line, line, line)) == 2
    assert len(report.draw_bars(axes[3], {"a": 1.0, "b": 2.0}, "value")) == 2
    place = np.array([2.0, 1.5])
    assert len(report.draw_rose_over_map(axes[4], room, place, {"six": rose}, 1.0)) == 6
    assert len(report.draw_tradeoff(axes[5], tradeoff(rose, [1.0, 0.5]))) == 2


def test_the_example_of_reconstruction_prints_its_numbers_and_writes_its_picture(tmp_path, capsys):
    example = runpy.run_path(str(ROOT / "examples" / "gram_reconstruction.py"))
    example["main"](tmp_path / "figure.png")
    out = capsys.readouterr().out
    assert "13.5000 m²" in out  # the visible area
    assert "rank 23 of 64" in out
    assert (tmp_path / "figure.png").stat().st_size > 10_000
