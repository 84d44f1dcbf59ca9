"""The parts of a survey in space: nodes above each other, views that are scans."""

import numpy as np
import pytest
from tests.support.fits import reported_sigma
from tests.support.reference_space import house, house_atlas
from tests.support.reference_survey import RINGS

from isovist import LocalizationSettings, Pose3, SpinningLidar, SurveyingSettings, build
from isovist.maps import standing_places
from isovist.surveying import find_aliases, lattice, look_in_space, standing_nodes

pytestmark = pytest.mark.slow

FEW = SurveyingSettings(views=(8, 0.1, 320))
LOCALIZATION = LocalizationSettings()


@pytest.fixture(scope="module")
def drone():
    """An atlas with nodes at three heights."""
    return build(house(), height=(0.8, 1.4))


def test_nodes_above_each_other_share_their_floor(drone):
    every = np.arange(len(drone.nodes))
    shares = lattice.shares_of_columns(drone, every)
    assert shares.sum() * drone.spacing**2 == pytest.approx(drone.area)
    assert shares.min() == pytest.approx(1 / 3)
    one = house_atlas()
    assert (lattice.shares_of_columns(one, np.arange(len(one.nodes))) == 1.0).all()


def test_neighbours_in_space_have_the_same_height(drone):
    place, height = drone.positions, lattice.lattice_of(drone)[:, 0]
    assert set(height) == {0, 1, 2}
    for node in (20, len(place) // 2, len(place) - 20):
        around = lattice.neighbours(drone, np.array([[node]]), 2)[0]
        assert node in around
        assert (height[around] == height[node]).all()
        apart = np.abs(place[around, :2] - place[node, :2]).max(axis=1)
        assert apart.max() <= drone.spacing + 1e-9
    kept, step = lattice.thinned(drone, np.arange(len(place)), len(place) // 3)
    assert step == 2
    assert 0.15 < len(kept) / len(place) < 0.35


@pytest.mark.parametrize("atlas", ["house", "drone"])
def test_nodes_with_room_are_where_a_sensor_can_stand(atlas, request):
    atlas = house_atlas() if atlas == "house" else request.getfixturevalue("drone")
    floor = standing_nodes(atlas)
    assert 0 < len(floor) < len(atlas.nodes)
    low, high = atlas.heights
    stands = [
        standing_places(atlas.world, height=h) for h in np.arange(low, high + 1e-9, atlas.spacing)
    ]
    gap = np.linalg.norm(atlas.positions[floor][:, None] - np.concatenate(stands), axis=2)
    assert (gap.min(axis=1) <= atlas.world.resolution).all()


def test_sigma_in_space_is_what_an_answer_reports():
    atlas = house_atlas()
    floor = standing_nodes(atlas)
    views = look_in_space(atlas, RINGS, floor, FEW, LOCALIZATION)
    rng = np.random.default_rng(0)
    ratios = []
    for node in views.asked[::4]:
        pose = Pose3(*atlas.positions[floor[node], :2], 0.0, atlas.positions[floor[node], 2])
        scan = RINGS.scan(atlas.world, pose, rng)
        ratios.append(views.sigma[node, 0] / reported_sigma(atlas, scan, pose))
    assert np.median(ratios) == pytest.approx(1.0, abs=0.2)
    assert (views.witnesses >= LOCALIZATION.witnesses).all()


def test_a_view_looks_like_its_own_node_at_every_heading():
    atlas = house_atlas()
    floor = standing_nodes(atlas)
    narrow = SpinningLidar(rings=8, azimuths=90, range_max=12.0, noise=0.0, field_of_view=np.pi)
    few = SurveyingSettings(views=(8, 0.1, 640))
    views = look_in_space(atlas, narrow, floor, few, LOCALIZATION)
    assert views.sigma.shape == (len(floor), 8)
    nodes = floor[views.asked]
    for heading in range(8):
        values, seen = views.channels(atlas, heading, 0.5)
        assert values.shape == seen.shape == (len(nodes), *atlas.descriptors.shape[1:])
        own = np.abs(values - atlas.descriptors[nodes])[seen]
        other = np.abs(values - atlas.descriptors[np.roll(nodes, 7)])[seen]
        assert np.median(own) < 0.5 * np.median(other)
    full = look_in_space(atlas, RINGS, floor, FEW, LOCALIZATION)
    assert full.headings.tolist() == [0.0]
    found = find_aliases(atlas, full, floor, FEW, LOCALIZATION)
    assert np.isfinite(found.place).all()
    gap = np.hypot(*(found.place[:, 0] - atlas.positions[floor, :2]).T)
    here = np.isin(np.arange(len(floor)), full.asked)
    turned = np.abs(found.turn[:, 0]) > FEW.rival[1] - 2.0 * np.pi / atlas.settings.channels
    assert ((gap >= FEW.rival[0] - 1e-9) | turned)[here].all()
