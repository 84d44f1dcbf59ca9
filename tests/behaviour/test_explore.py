"""`isovist explore`: a lost robot drives until it knows where it is, in the plane and in space."""

import json

import numpy as np
import pytest
from tests.support.reference_explore import hall_atlas
from tests.support.reference_survey import raised

from isovist import write_map

pytestmark = pytest.mark.slow


def write_points(hall, path):
    """The same hall with floor and ceiling as the points of its walls, in m."""
    tall = raised(hall)
    points = tall.centres(np.flatnonzero(tall.cells.ravel() == 1))
    rows = np.c_[np.repeat(points, 3, axis=0), np.zeros(3 * len(points))]
    path.write_bytes(rows.astype("<f4").tobytes())


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """A hall with one crate that is not the same after half a turn, and without."""
    folder = tmp_path_factory.mktemp("halls")
    for name, odd in (("odd", True), ("twofold", False)):
        write_map(hall_atlas(odd).world, folder / f"{name}.yaml")
        write_points(hall_atlas(odd).world, folder / f"{name}.bin")
    return folder


def explored(typed, world, *words):
    code, out, err = typed("explore", world, "--range-max", "3", "--json", *words)
    assert code in (0, 1), err
    run = json.loads(out)
    assert code == (0 if run["unique"] else 1)
    return run


@pytest.mark.parametrize(
    ("kind", "words"), [("yaml", []), ("bin", ["--rings", "8", "--height", "1"])]
)
def test_a_lost_robot_drives_to_where_the_places_differ(maps, kind, words, typed):
    run = explored(typed, maps / f"odd.{kind}", "--seed", "3", "--limit", "10", *words)
    assert run["rule"] == "rivals"
    assert run["unique"]
    assert run["right"]
    assert 0.0 < run["distance"] < 10.0
    first, last = run["steps"][0], run["steps"][-1]
    assert (first["verdict"], last["verdict"]) == ("ambiguous", "unique")
    assert len(first["estimates"]) > 1
    assert all(("z" in estimate) == (kind == "bin") for estimate in first["estimates"])
    truth, best = last["truth"], last["estimates"][0]
    assert np.hypot(truth["x"] - best["x"], truth["y"] - best["y"]) < 0.5
    keys = {"direction", "distance", "gain", "path", "text"}
    assert all(set(proposal) == keys for proposal in run["proposals"])
    assert run["proposals"][0]["gain"] > 0.0


@pytest.mark.parametrize("rule", ["rivals", "gramian", "random"])
def test_a_twofold_hall_stays_ambiguous_whatever_the_rule(maps, rule, typed):
    run = explored(typed, maps / "twofold.yaml", "--rule", rule, "--limit", "1.5")
    assert not run["unique"]
    assert {step["verdict"] for step in run["steps"]} == {"ambiguous"}
    assert run["distance"] >= 1.5


def test_the_drive_is_drawn_as_a_film(maps, tmp_path, typed):
    from PIL import Image

    film = tmp_path / "out" / "drive.gif"
    words = ("--seed", "2", "--limit", "0.4", "--figure", film)
    run = explored(typed, maps / "odd.yaml", *words)
    assert [path.name for path in film.parent.iterdir()] == ["drive.gif"]
    with Image.open(film) as image:
        assert image.n_frames == len(run["steps"])
        held = []
        for k in range(image.n_frames):
            image.seek(k)
            held.append(image.info["duration"])
        # A few pixels of a rare colour, that of rivals, stay what they are.
        pixels = np.asarray(image.convert("RGB"), dtype=np.int64).reshape(-1, 3)
    assert held == [2500, *[200] * (len(held) - 2), 2500]
    assert np.abs(pixels - [0x8E, 0x6B, 0xB0]).sum(axis=1).min() < 30
