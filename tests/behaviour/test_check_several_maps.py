"""Is this pose the explanation, where there are several maps?  In the plane and in space."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError, Pose
from isovist.apps import app
from isovist.report import check_json, check_text

AGREES = "The pose explains the scan, and no other place that was tried comes near."


@pytest.fixture(params=SITES.values(), ids=SITES)
def site(request):
    return request.param


def moved(atlas, step):
    """The same map, drawn from another origin."""
    world = replace(atlas.world, origin=step @ atlas.world.origin)
    return replace(atlas, world=world)


@pytest.mark.slow
@pytest.mark.parametrize("thorough", [False, True])
def test_the_pose_of_the_robot_agrees_on_its_own_map(site, thorough):
    truth = site.places[0]
    maps = {"hall": site.twin_atlas, "house": site.atlas}
    told = iv.check(maps, site.look(truth), truth, map="house", thorough=thorough)
    assert (told.verdict, told.map) == ("agrees", "house")
    assert told.advice == AGREES
    assert told.fit.map == "house"
    assert gap(told.fit.pose, truth)[0] < 0.1
    assert told.moved[0] < 0.1
    alone = iv.check(site.atlas, site.look(truth), truth)
    assert alone.map is None
    assert (told.inliers, told.score) == (alone.inliers, alone.score)
    assert gap(alone.fit.pose, told.fit.pose)[0] < 0.02


def test_the_same_numbers_on_another_map_disagree(site):
    truth = site.places[0]
    maps = {"house": site.atlas, "hall": site.twin_atlas}
    told = iv.check(maps, site.look(truth), truth, map="hall")
    assert (told.verdict, told.map) == ("disagrees", "hall")
    best = told.rivals[0] if told.fit is None else iv.locate(maps, site.look(truth)).best
    assert best.map == "house"
    assert gap(best.pose, truth)[0] < 0.1


@pytest.mark.slow
def test_a_rival_on_a_map_alike_counts_and_is_named(site):
    truth, mounted = site.places[0], site.mount
    maps = {"floor 1": site.atlas, "floor 2": site.atlas}
    for name, other in (("floor 1", "floor 2"), ("floor 2", "floor 1")):
        told = iv.check(maps, site.look(truth, mount=mounted), truth, map=name)
        assert told.verdict == "cannot tell"
        assert told.advice == (
            "1 other place would explain the scan about as well. Move and look again. "
            "The maps look alike from here: it may be floor 1 or floor 2."
        )
        assert told.fit.map == name
        assert [rival.map for rival in told.rivals] == [other]
        assert gap(told.rivals[0].pose, truth)[0] < 0.1
        assert check_json(told)["map"] == name
        assert check_json(told)["rivals"][0]["map"] == other
        assert check_text(told).startswith(f"cannot tell on {name}: 1 other place ")


def test_each_map_has_its_own_frame():
    truth, step = PLANE.places[1], Pose(40.0, -7.0, 0.5)
    maps = {"drawn": moved(PLANE.atlas, step), "other": PLANE.twin_atlas}
    told = iv.check(maps, PLANE.look(truth), step @ truth, map="drawn")
    assert (told.verdict, told.fit.map) == ("agrees", "drawn")
    assert gap(told.fit.pose, step @ truth)[0] < 0.1
    wide = iv.check(maps, PLANE.look(truth), truth, np.diag([1e7, 1e7, 9.0]), map="other")
    assert wide.verdict == "disagrees"  # however wide a claim is, it is of its own map


def test_bad_input_is_one_line(site):
    truth = site.places[0]
    scan, maps = site.look(truth), {"floor 1": site.atlas, "floor 2": site.twin_atlas}
    cases = [
        (
            maps,
            None,
            "`map` must say which map the pose is of, one of 'floor 1', 'floor 2', got None.",
        ),
        (
            maps,
            "floor 3",
            "`map` must say which map the pose is of, one of 'floor 1', 'floor 2', got 'floor 3'.",
        ),
        (site.atlas, "floor 1", "`map` is for several maps, and there is one; got 'floor 1'."),
        ({}, "floor 1", "There must be at least one map, got none."),
    ]
    for given, name, text in cases:
        with pytest.raises(InputError) as error:
            iv.check(given, scan, truth, map=name)
        assert str(error.value) == text


@pytest.mark.slow
def test_the_command_takes_several_maps(tmp_path):
    truth = PLANE.places[2]
    for name, world in (("first", PLANE.world), ("second", PLANE.twins)):
        iv.write_map(world, tmp_path / f"{name}.yaml")
    iv.write_scan(PLANE.look(truth), tmp_path / "scan.json")
    files = [str(tmp_path / name) for name in ("first.yaml", "second.yaml", "scan.json")]
    pose = [str(value) for value in truth.vector]
    result = CliRunner().invoke(app, ["check", *files, *pose, "--map", "first"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == f"agrees on first: {AGREES}"
    assert lines[2].startswith("  fit: first:  x ")
    result = CliRunner().invoke(app, ["check", *files, *pose, "--map", "second", "--json"])
    assert result.exit_code == 1
    told = json.loads(result.output)
    assert (told["verdict"], told["map"]) == ("disagrees", "second")
    result = CliRunner().invoke(app, ["check", *files, *pose])
    assert str(result.exception) == (
        "`map` must say which map the pose is of, one of 'first', 'second', got None."
    )
