"""An atlas can be built with a rose of one's own."""

import numpy as np
import pytest

import isovist as iv
from isovist.errors import InputError
from isovist.roses import Bump, CosinePower
from sites import PLANE, SPACE, gap

ROSES = {
    "softmax": iv.Rose.circle(48, 0.01),
    "bump": iv.Rose.circle(48, profile=Bump(0.2)),
    "cosine": iv.Rose.circle(32, profile=CosinePower(60.0)),
}


@pytest.mark.parametrize("name", ROSES)
def test_a_rose_of_ones_own_describes_locates_and_comes_back(name, tmp_path):
    rose = ROSES[name]
    atlas = iv.build(PLANE.world, rose=rose)
    assert atlas.descriptors.shape[2] == len(rose) == atlas.settings.channels
    iv.write_atlas(atlas, tmp_path / "a")
    again = iv.read_atlas(tmp_path / "a")
    np.testing.assert_array_equal(again.rose.directions, rose.directions)
    assert again.rose.profile == rose.profile
    for truth in PLANE.places:
        scan = PLANE.look(truth)
        answer = iv.locate(atlas, scan)
        assert answer.verdict is iv.Verdict.UNIQUE
        assert gap(answer.best.pose, truth)[0] < 0.05
        assert iv.locate(again, scan).best.pose == answer.best.pose


def test_the_usual_rose_is_what_it_was():
    usual = iv.build(PLANE.world)
    assert usual.rose is None
    told = iv.build(PLANE.world, rose=iv.Rose.circle(64, 0.5 * (np.pi / 64) ** 2))
    np.testing.assert_array_equal(told.descriptors, usual.descriptors)


@pytest.mark.parametrize(
    ("world", "rose", "text"),
    [
        (
            PLANE.world,
            iv.Rose.fibonacci(12),
            "A rose of dimension 3 cannot describe a map of dimension 2.",
        ),
        (
            PLANE.world,
            iv.Rose.from_directions([[1, 0], [0, 1], [-1, -1]], 0.5),
            "A search turns scans by whole channels: `rose` must have equal steps on the circle. "
            "theory.paper.PaperLocalizer takes any rose.",
        ),
        (PLANE.world, 64, "`rose` must be a Rose, got int."),
        (
            SPACE.world,
            iv.Rose.fibonacci(12),
            "`rose` is for maps of the plane; in space the settings say the rings.",
        ),
    ],
)
def test_other_roses_are_refused(world, rose, text):
    with pytest.raises(InputError) as caught:
        iv.build(world, rose=rose)
    assert str(caught.value) == text
