"""Storeys of a building in space: cut apart and described by the command, and told apart."""

import numpy as np
import pytest
from tests.support.reference_space import house
from tests.support.sites import PLANE, gap
from tests.support.worlds import HEIGHT, built, seen_on

import isovist as iv

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_the_command_builds_an_atlas_for_each_storey_that_answers_name(tmp_path, typed):
    np.savetxt(tmp_path / "tower.xyz", built().plan.centres(built().plan.grid.walls()))
    folder, words = tmp_path / "new" / "tower", ("--resolution", 0.14, "--height", HEIGHT)
    code, printed, error = typed(
        "build", tmp_path / "tower.xyz", "--floors", *words, "--spacing", 0.7, "-o", folder
    )
    assert not code, error
    names = ["floor 1", "floor 2", "floor 3"]
    lines = printed.strip().splitlines()
    assert [line.split(":")[0] for line in lines] == [str(folder / f"{n}.atlas") for n in names]
    library = iv.read_library(folder)
    assert list(library) == names
    rng, unique, right = np.random.default_rng(1), 0, 0
    for k in (0, 1, 2, 1, 0, 2, 1):
        truth, scan = seen_on(k, rng)
        answer = iv.locate(library, scan)
        found = answer.map == names[k] and gap(answer.best.pose, truth)[0] < 0.3
        right += found
        unique += answer.verdict == "unique"
        assert found or answer.verdict != "unique"
    assert right >= 4
    assert unique >= 1
    tracker, truth = iv.Tracker(library), None
    for k in range(3):
        truth, scan = seen_on(2, rng, truth)
        belief = tracker.update(iv.Pose3(), scan, time=0.1 * k)
    assert belief.map in names
    assert belief.map == "floor 3" or belief.verdict != "unique"


def test_what_the_command_cannot_cut_or_write_is_one_line(tmp_path, typed):
    iv.write_map(PLANE.world, tmp_path / "plan.yaml")
    np.savetxt(tmp_path / "house.xyz", house().centres(house().grid.walls()))
    (tmp_path / "file").write_text("")
    for name, out in (("plan.yaml", "x"), ("house.xyz", "file")):
        code, printed, error = typed("build", tmp_path / name, "--floors", "-o", tmp_path / out)
        assert (code, printed, error.count("\n")) == (2, "", 1)
        assert not (tmp_path / "x").exists()
