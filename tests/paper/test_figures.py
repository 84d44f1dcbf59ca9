"""Figures of the theory are drawn into given axes, and the examples run."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.support.paths import ROOT

from isovist import Rose, SegmentMap
from isovist.paper import tradeoff, walk
from isovist.report import (
    draw_bars,
    draw_channels,
    draw_errors,
    draw_rose_over_map,
    draw_steps,
    draw_tradeoff,
    new_figure,
)

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"


def test_each_figure_puts_its_artists_into_the_axes() -> None:
    figure = new_figure(8.0, 6.0)
    axes = figure.subplots(2, 3).ravel()
    rose = Rose.circle(6)
    cloud = np.array([[3.0, 0.1], [0.2, 3.0], [-3.0, 0.3], [0.1, -3.0]])
    steps = walk(rose, cloud, [0.0, 0.0], [0.5, 0.2], steps=20)
    room = SegmentMap.room(4, 3)
    assert len(draw_channels(axes[0], steps, 0)) == 2
    assert len(draw_steps(axes[1], steps)) == 4
    assert len(draw_errors(axes[2], np.arange(3.0), np.arange(3.0), np.arange(3.0))) == 2
    assert len(draw_bars(axes[3], {"a": 1.0, "b": 2.0}, "value")) == 2
    assert len(draw_rose_over_map(axes[4], room, np.array([2.0, 1.5]), {"six": rose}, 1.0)) == 6
    assert len(draw_tradeoff(axes[5], tradeoff(rose, [1.0, 0.5]))) == 2
    assert axes[5].get_xlabel() == "temperature ε"


def test_the_example_of_reconstruction_prints_its_numbers_and_writes_its_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("example", EXAMPLES / "gram_reconstruction.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path / "figure.png")
    out = capsys.readouterr().out
    assert "the visible area, 13.5000 m²" in out
    assert "n =  64, ε = 0.5: rank 23 of 64" in out
    assert (tmp_path / "figure.png").stat().st_size > 10_000
