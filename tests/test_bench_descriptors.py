"""Descriptors side by side, on the same rays."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isovist.bench.basins import STARTS, basin_rows
from isovist.bench.descriptors import (
    CONDITIONS,
    METHODS,
    RAYS,
    Contest,
    Method,
    Rings,
    changed,
    contest_rows,
    features,
    weights_of,
)
from isovist.bench.trials import Trial
from isovist.cli.app import app
from isovist.errors import InputError
from isovist.io.maps.read import write_map
from sites import PLANE, SPACE

TRIALS = [Trial(lambda p=p: PLANE.look(p), p) for p in PLANE.places]


@pytest.fixture(scope="module")
def contest():
    return Contest(PLANE.atlas)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.label)
def test_every_method_ranks_the_truth_among_the_first_on_a_clean_scan(contest, method):
    (row,) = contest_rows("building", contest, TRIALS, [method], ["clean"])
    assert row["queries"] == 3
    assert row["recall@1"] <= row["recall@20"] <= row["recall@400"]
    assert row["recall@400"] >= (0.3 if method.name in ("fft", "vlad", "fisher") else 1.0)
    assert row["bytes"] % 4 == 0
    if method == Method("soft", 64):
        assert row["recall@1"] == row["final"] == 1.0


@pytest.mark.parametrize("name", ["soft", "hard", "shared"])
def test_channels_share_the_rays_out(name):
    W = weights_of(Method(name, 32))
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    assert weights_of(Method("rays", 32)).sum() == 32


def test_turning_a_scan_by_a_channel_shifts_its_features(contest):
    ring = Rings.of_scan(PLANE.look(PLANE.places[0]))
    turns = ring.turned(np.array([0, RAYS // 32]))
    for name in ("soft", "hard", "shared", "rays", "context"):
        F, _ = features(Method(name, 32), turns, contest.words)
        np.testing.assert_allclose(F[1], np.roll(F[0], 1), atol=1e-12)
    for name in ("fft",):
        F, _ = features(Method(name, 32), turns, contest.words)
        np.testing.assert_allclose(F[1], F[0], atol=1e-12)


def test_conditions_change_what_they_say():
    rng = np.random.default_rng(0)
    scan = PLANE.look(PLANE.places[0])
    people = changed(scan, "people", rng)
    shorter = people.valid & scan.valid & (people.ranges < scan.ranges - 1e-9)
    assert 0.05 < shorter.mean() <= 0.31
    narrow = changed(scan, "view 90°", rng)
    assert narrow.valid.sum() <= 92
    noisy = changed(scan, "noise 10 cm", rng)
    both = noisy.valid & scan.valid
    assert np.std(noisy.ranges[both] - scan.ranges[both]) == pytest.approx(0.1, rel=0.2)
    with pytest.raises(InputError) as caught:
        changed(scan, "fog", rng)
    assert str(caught.value) == f"`condition` must be one of {', '.join(CONDITIONS)}, got fog."


def test_descriptors_are_compared_in_the_plane():
    with pytest.raises(InputError) as caught:
        Contest(SPACE.atlas)
    assert str(caught.value) == "Descriptors are compared on maps of the plane."


def test_refinements_come_home_from_near(contest):
    rows = basin_rows("building", contest.atlas, TRIALS)
    assert rows[0]["refinement"] == "walls"
    near = f"{STARTS[0][0]:g} m {STARTS[0][1]:g}°"
    assert all(row[near] == 1.0 for row in rows[:4])


def test_the_command_prints_a_row_for_each_refinement(tmp_path):
    write_map(PLANE.world, tmp_path / "map.yaml")
    result = CliRunner().invoke(
        app,
        ["bench", "descriptors", str(tmp_path / "map.yaml"), "--count", "2", "--basin", "--json"],
    )
    rows = json.loads(result.output)
    assert len(rows) == 7
    assert {row["site"] for row in rows} == {"map"}
