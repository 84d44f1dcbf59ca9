"""Where a sensor can be localized and where not, in the plane and in space."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support import reference_survey as maps
from tests.support.errors import refused
from tests.support.reference_locate import UNIT
from tests.support.reference_space import atlas_of, house_atlas, symmetric_room
from tests.support.reference_survey import FEW, FULL, QUICK, RINGS, house_survey
from tests.support.sites import PLANE
from tests.support.workers import in_one_thread

import isovist as iv

pytestmark = pytest.mark.slow

HOW = {"max_scans": 20, "settings": FEW, "localization": QUICK}
SPACE = pytest.param("space", marks=pytest.mark.nightly)
both = pytest.mark.parametrize("kind", ["plane", "space"])
both_nightly = pytest.mark.parametrize("kind", ["plane", SPACE])
"""A survey in 3D takes seconds; one of the tests asks for it each time."""


@pytest.fixture(scope="module")
def surveys():
    """Of buildings without twins."""
    return {"plane": iv.survey(PLANE.atlas, FULL, **HOW), "space": house_survey()}


def free(rows, columns, *rooms):
    """A map of walls but for some rooms, in cells."""
    cells = np.ones((rows, columns), dtype=np.uint8)
    for low, high, left, right in rooms:
        cells[low:high, left:right] = 0
    return iv.OccupancyMap(cells, UNIT)


def surveyed(kind, world, **sensor):
    """The survey of a map of the plane, or of the same raised to a building."""
    if kind == "plane":
        return iv.survey(iv.build(world), replace(FULL, **sensor), **HOW)
    return iv.survey(iv.build(maps.raised(world)), replace(RINGS, **sensor), **HOW)


def reasons(found):
    return {area.reason.name for area in found.areas}


@both
def test_a_building_without_symmetry_is_uniquely_localizable(surveys, kind):
    found, atlas = surveys[kind], PLANE.atlas if kind == "plane" else house_atlas()
    assert found.share >= 0.9
    assert len(found.samples) == 20
    assert found.samples.unique.mean() >= 0.9
    assert (found.samples.rivals[found.samples.unique] == 0).all()
    assert 0.0 < found.standard_error < 0.12
    assert found.areas == ()
    assert np.nanmax(found.sigma_m) < 0.2
    assert 0.5 * atlas.area < found.area < 1.001 * atlas.area
    floor = {tuple(place) for place in found.places[:, :2].tolist()}
    assert found.area == pytest.approx(len(floor) * found.spacing**2)
    above = found.places + [0.0, 0.0, 1.0][: found.places.shape[1]]
    assert replace(found, places=np.vstack([found.places, above])).area == found.area


@both
def test_arrays_are_one_row_per_node_and_come_back_from_the_file(surveys, kind, tmp_path):
    found = surveys[kind]
    arrays, asked = found.arrays(), found.samples.arrays()
    assert set(arrays) >= {"x", "y", "mu", "weakest", "unique_share"}
    assert ("z" in arrays) == (kind == "space")
    for name, array in arrays.items():
        assert len(array) == len(found.nodes), name
        # A node of a map in space may have no neighbour to tell a slope by.
        assert np.isfinite(array).all() or (name == "mu" and "z" in arrays), name
        assert not array.flags.writeable, name
    np.testing.assert_allclose(np.hypot(*found.weakest.T), 1.0)
    for name in {"unique_share", "alias_similarity", "blind_share"} & set(arrays):
        assert ((arrays[name] >= 0.0) & (arrays[name] <= 1.0)).all(), name
    np.testing.assert_allclose(np.stack([arrays["x"], arrays["y"]], axis=1), found.places[:, :2])
    assert {len(array) for array in asked.values()} == {len(found.samples)}
    iv.write_survey(found, tmp_path / "site.npz")
    with np.load(tmp_path / "site.npz") as back:
        assert set(back) == set(arrays) | set(asked)
        for name, array in (arrays | asked).items():
            np.testing.assert_array_equal(back[name], array)
    with refused(None, "unknown_format"):
        iv.write_survey(found, tmp_path / "site.csv")


def test_a_survey_is_the_same_twice_whatever_the_number_of_threads():
    atlas, lidar = (
        iv.build(maps.small_room()),
        iv.Lidar(np.radians(200.0), beams=200, range_max=5.0),
    )
    work = lambda: iv.survey(atlas, lidar, seed=3, **HOW)  # noqa: E731
    one, other = work(), in_one_thread(work)
    for name, array in (one.arrays() | one.samples.arrays()).items():
        again = (other.arrays() | other.samples.arrays())[name]
        np.testing.assert_array_equal(array, again, err_msg=name)


def test_asking_ends_when_the_share_is_known_well_enough():
    sampling = replace(iv.SurveyingSettings().sampling, min_scans=20, batch=10, max_scans=60,
                       max_error=0.05)  # fmt: skip
    few = iv.SurveyingSettings(sampling=sampling)
    found = iv.survey(iv.build(maps.small_room()), FULL, settings=few, localization=QUICK)
    assert 20 <= len(found.samples) < 60
    assert found.standard_error <= 0.05


def test_fewer_poses_are_asked_on_large_maps_and_in_space():
    settings = iv.SurveyingSettings()
    assert [settings.affordable(n, 2) for n in (100, 9000, 25_000)] == [1000, 1000, 600]
    assert settings.affordable(100, 3) == 250


@both
def test_places_alike_are_never_unique_and_name_the_other_place(kind):
    """Two rooms alike, 5.2 m apart, and a room in space that is its own twin, turned about."""
    if kind == "plane":
        atlas = PLANE.twin_atlas
        found = iv.survey(atlas, FULL, **HOW)
    else:
        atlas = atlas_of(symmetric_room(False))
        found = iv.survey(atlas, RINGS, **HOW)
    assert found.share < 0.1
    assert reasons(found) == {"ALIASED"}
    assert found.areas[0].size == pytest.approx(found.area, rel=0.6)
    assert np.median(found.summary.alias_similarity) > 0.8  # nodes of twins do not lie alike
    places, aliases = found.places[:, :2], found.summary.alias_xy
    if kind == "plane":
        assert np.median(np.abs(aliases[:, 0] - places[:, 0])) == pytest.approx(5.2, abs=0.4)
        assert all(abs(area.alias[0] - area.x) > 3.0 for area in found.areas)
        return
    assert not found.samples.unique.any()
    middle = atlas.positions[:, :2].min(axis=0) + atlas.positions[:, :2].max(axis=0)
    assert np.mean(np.hypot(*(aliases - (middle - places)).T) < 0.7) > 0.7
    here, alias = found.samples.poses[:, :2], found.samples.alias_xy
    gap = np.minimum(np.hypot(*(alias - (middle - here)).T), np.hypot(*(alias - here).T))
    assert np.mean(gap < 0.5) > 0.7


@both_nightly
def test_a_small_square_room_looks_like_itself_turned(kind):
    found = surveyed(kind, free(44, 44, (4, 40, 4, 40)))
    assert found.share < (0.1 if kind == "plane" else 0.2)
    turned = [area.turn_deg for area in found.areas if area.turn_deg is not None]
    assert turned
    assert turned[0] % 90.0 == pytest.approx(0.0, abs=6.0)


@both_nightly
def test_a_bare_corridor_slides_along_its_axis(kind):
    found = surveyed(kind, maps.corridor(280), range_max=4.0)
    assert found.share < 0.5
    worst = found.areas[0]
    assert worst.reason.name == "SLIDES"
    assert min(worst.axis_deg, 180.0 - worst.axis_deg) < 5.0
    x = found.places[:, 0]
    middle = (x > 5.5) & (x < 8.9)
    assert (found.unique_share[middle] < 0.2).all()
    assert np.median(np.abs(found.weakest[middle, 0])) > 0.99
    assert found.sigma_m[middle].min() > 1.0
    assert found.mu[middle].max() < np.nanmax(found.mu[~middle])


@both_nightly
def test_the_middle_of_a_hall_sees_too_little_with_a_short_sensor(kind):
    found = surveyed(kind, maps.hall(), field_of_view=np.pi, range_max=2.0)
    looks = found.summary
    middle = np.hypot(*(found.places[:, :2] - [6.0, 4.7]).T) < 1.2
    assert looks.unique_by_heading.shape == (len(found.nodes), 8)
    assert (looks.blind_share[middle] == 1.0).all()
    assert (found.unique_share[middle] == 0.0).all()
    assert np.isnan(looks.alias_xy[middle]).all()
    assert (looks.rivals[middle] == 0.0).all()
    assert np.isfinite(looks.alias_xy[looks.blind_share == 0.0]).all()
    assert "BLIND" in reasons(found)


def of_room(*rooms, spacing=None, lidar=FULL):
    how = {} if spacing is None else {"spacing": spacing}
    iv.survey(iv.build(free(60, 60, *rooms), **how), lidar)


@pytest.mark.parametrize(
    ("call", "field", "code"),
    [
        (lambda: iv.survey(PLANE.atlas, iv.Lidar(range_max=0.01)), "range_max", "invalid_value"),
        (lambda: iv.survey(house_atlas(), iv.SpinningLidar(range_max=0.01)), "range_max",
         "invalid_value"),
        (lambda: iv.survey(PLANE.atlas, iv.Lidar(noise=np.nan)), "noise", "invalid_value"),
        (lambda: iv.survey(house_atlas(), iv.SpinningLidar(noise=np.inf)), "noise",
         "invalid_value"),
        (lambda: iv.survey(PLANE.atlas, FULL, seed=-1), "seed", "invalid_value"),
        (lambda: iv.survey(PLANE.atlas, FULL, max_scans=19), None, "invalid_value"),
        (lambda: iv.survey(PLANE.atlas, FULL, settings=iv.LocalizationSettings()), "settings",
         "invalid_value"),
        (lambda: iv.survey(PLANE.atlas, RINGS), "lidar", "wrong_dimension"),
        (lambda: iv.survey(house_atlas(), FULL), "lidar", "wrong_dimension"),
        (lambda: of_room((4, 56, 4, 56), lidar=iv.Lidar(range_max=0.2)), None, "empty"),
        (lambda: of_room((18, 24, 4, 56)), None, "empty"),  # 0.25 m from no wall
        (lambda: of_room((40, 51, 40, 51), (10, 12, 10, 12), spacing=1.1), None, "empty"),
    ],
)  # fmt: skip
def test_a_survey_that_cannot_be_made_is_refused(call, field, code):
    with refused(field, code):
        call()
