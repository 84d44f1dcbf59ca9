"""The command line on maps in space: build, info, locate, demo and the benchmark."""

import numpy as np
import pytest
from tests.support.command_line import run
from tests.support.reference_space import house
from tests.support.sites import SPACE, gap
from tests.support.space_writer import write_ply
from tests.support.worlds import office_floor

import isovist as iv

pytestmark = pytest.mark.slow


def test_a_cloud_is_built_described_and_searched(tmp_path):
    write_ply(tmp_path / "house.ply", house().centres(np.flatnonzero(house().cells.ravel() == 1)))
    iv.write_scan(SPACE.look(SPACE.places[0]), tmp_path / "scan.npz")
    atlas, figure = tmp_path / "atlas", tmp_path / "answer.png"
    built = run("build", tmp_path / "house.ply", "-o", atlas, "--height", 1, "--spacing", 0.4)
    assert built.code == 0, built
    shown = run("info", atlas, "--check").out
    assert "cells of 0.2 m" in shown
    assert "768 directions" in shown
    found = run("locate", atlas, tmp_path / "scan.npz", "--json", "--figure", figure)
    assert found.code == (found.json["verdict"] != "unique")
    assert gap(found.pose, SPACE.places[0])[0] < 0.15
    assert figure.stat().st_size > 10_000


def test_bench_in_space_prints_the_rows_of_the_plane(tmp_path):
    box = iv.MeshMap.join(
        [iv.MeshMap.box((0, 0, 0), (5, 4, 2.5)), iv.MeshMap.box((1, 1, 0), (2, 1.5, 2))]
    )
    write_ply(tmp_path / "room.ply", box.vertices, box.faces.tolist())
    words = ("--count", 2, "--azimuths", 180, "--json")
    (row,) = run("bench", "simulate3d", tmp_path / "room.ply", *words).json
    assert (row["queries"], row["success"], row["false_confident"]) == (2, 1.0, 0.0)
    assert row["area_m2"] == pytest.approx(19.0, rel=0.15)


@pytest.mark.nightly
def test_the_demonstration_in_space_is_right(tmp_path, monkeypatch):
    small = lambda seed, **_: office_floor(seed, length=15.0, rows=2)  # noqa: E731
    monkeypatch.setattr("isovist.simulation.demo.office_floor", small)
    figure = tmp_path / "demo.png"
    told = run("demo", "--3d", "--json", "--figure", figure).json
    assert told["right"]
    assert told["truth"]["z"] == 1.0
    assert figure.stat().st_size > 10_000
