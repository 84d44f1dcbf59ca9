"""Legs along which the Gramian of descriptors grows, from the command line too."""

import json

import numpy as np
import pytest
from tests.support.sites import PLANE, SPACE
from typer.testing import CliRunner

import isovist as iv
from isovist import write_map
from isovist.apps import app
from isovist.paper import drive_legs, field_of, try_legs

pytestmark = pytest.mark.slow

PLAN = iv.SegmentMap.room(6.0, 1.6, pillars=[(4.8, 0.2, 5.2, 0.6)])


def site(space):
    world = iv.MeshMap.extrude(PLAN, 0.0, 1.6) if space else PLAN
    return field_of(world, 12), np.array([2.03, 0.77, 0.83][: world.dimension])


@pytest.mark.parametrize("space", [False, True])
def test_every_leg_is_the_best_one_of_its_place(space):
    field, start = site(space)
    drive = drive_legs(field, start, legs=2, length=0.6, count=6)
    assert drive.places.shape == (3, len(start))
    assert (np.diff(drive.least) > 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(np.diff(drive.places, axis=0), axis=1), 0.6)
    J = field.at(start[None])[1][0]
    first = try_legs(field, start, J.T @ J, length=0.6, count=6)
    assert drive.least[0] == pytest.approx(first.now)
    assert drive.least[1] == pytest.approx(first.least.max())


def test_the_command_line_drives_and_says_where(tmp_path):
    path = tmp_path / "plan.geojson"
    write_map(PLAN, path)
    arguments = ["steer", str(path), "2.0", "0.8", "--legs", "2", "--length", "0.6"]
    said = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)["places"]
    drive = drive_legs(field_of(PLAN), [2.0, 0.8], legs=2, length=0.6)
    assert [row["place"] for row in said] == drive.places.tolist()
    assert [row["lambda_min"] for row in said] == drive.least.tolist()
    lines = CliRunner().invoke(app, arguments).output.splitlines()
    assert lines[0] == f" start  (2.00, 0.80) m   λ_min {drive.least[0]:.4g}"
    assert lines[2].startswith(" leg 2  (")


@pytest.mark.parametrize("site", [PLANE, SPACE], ids=["plane", "space"])
def test_on_cells_no_leg_comes_too_near_to_a_wall_for_differences(site):
    field = field_of(site.world, 8)
    step = field.descriptor.difference(site.world)
    assert step >= site.world.resolution
    start, along = np.asarray(site.places[0].position), np.eye(site.world.dimension)[:1]
    reach = float(site.world.cast(start, along).ranges[0])
    near = start + (reach - 0.6 * step) * along[0]
    assert site.world.contains(near)
    assert not field.free(near)
    assert field.free(start)
    drive = drive_legs(field, start, legs=1, length=0.6, count=6)
    assert field.free(drive.places).all()
