"""Is this pose the explanation?  The same tests on a site of the plane and on one in space."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError, Pose, Pose3
from isovist.apps import app
from isovist.localization.refine import refit
from isovist.report import check_json, check_text


@pytest.fixture(params=SITES.values(), ids=SITES)
def site(request):
    return request.param


def off(pose, x=0.0, y=0.0, yaw=0.0):
    """The pose moved in the axes of the world, in m and rad."""
    step = np.zeros(len(pose.vector))
    step[:3] = x, y, yaw
    return type(pose).from_vector(pose.vector + step)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("mounted", [False, True])
def test_the_pose_of_the_robot_agrees(site, k, mounted):
    truth = site.places[k]
    told = iv.check(site.atlas, site.look(truth, mount=site.mount if mounted else None), truth)
    assert told.verdict == "agrees"
    assert (
        told.advice == "The pose explains the scan, and no other place that was tried comes near."
    )
    assert told.moved[0] < 0.1
    assert told.moved[1] < np.radians(1.5)
    assert told.rivals == ()
    assert told.inliers > 0.8
    assert told.frame == ("robot" if mounted else "sensor")
    assert set(told.timing_ms) == {"total"}


def test_a_pose_that_is_a_little_off_agrees_and_is_told_by_how_much(site):
    truth = site.places[0]
    told = iv.check(site.atlas, site.look(truth), off(truth, 0.2, -0.1, 0.05))
    assert told.verdict == "agrees"
    assert gap(told.fit.pose, truth)[0] < 0.1
    assert told.moved[0] == pytest.approx(np.hypot(0.2, 0.1), abs=0.1)
    assert told.moved[1] == pytest.approx(0.05, abs=0.03)
    assert told.score < told.fit.score
    assert (np.linalg.eigvalsh(told.fit.covariance) > 0.0).all()


@pytest.mark.parametrize("step", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, np.radians(15.0))])
def test_a_pose_that_is_far_off_disagrees(site, step):
    truth = site.places[0]
    told = iv.check(site.atlas, site.look(truth), off(truth, *step))
    assert told.verdict == "disagrees"
    assert told.advice == f"The scan does not fit here; it does {told.moved[0]:.2f} m and " + (
        f"{np.degrees(told.moved[1]):.1f}° from the pose."
    )
    assert gap(told.fit.pose, truth)[0] < 0.1


def test_no_other_places_are_looked_for_where_the_scan_fits_beside_the_pose(site, monkeypatch):
    glances = []
    watched = sys.modules["isovist.localization.check"]  # the verb has the same name
    real = watched.glance
    monkeypatch.setattr(watched, "glance", lambda *given: glances.append(1) or real(*given))
    pose, scan = site.places[0], site.look(site.places[0])
    assert iv.check(site.atlas, scan, off(pose, yaw=0.27)).verdict == "disagrees"
    assert not glances
    assert iv.check(site.atlas, scan, pose).verdict == "agrees"
    assert glances


def test_a_pose_elsewhere_disagrees_and_the_right_place_is_a_rival(site):
    truth = site.places[0]
    told = iv.check(site.atlas, site.look(truth), site.places[1])
    assert told.verdict == "disagrees"
    assert min(gap(rival.pose, truth)[0] for rival in told.rivals) < 0.1
    outside = iv.check(site.atlas, site.look(truth), off(truth, 500.0))
    assert outside.verdict == "disagrees"
    assert outside.advice == "Nothing near the pose explains the scan."
    assert outside.moved is None


@pytest.mark.slow
def test_of_two_places_alike_neither_can_be_told(site):
    scan = site.look(site.lonely, world=site.twins, seed=6)
    for pose, other in ((site.lonely, site.twin), (site.twin, site.lonely)):
        told = iv.check(site.twin_atlas, scan, pose)
        assert told.verdict == "cannot tell"
        assert "would explain the scan about as well. Move and look again." in told.advice
        assert gap(told.fit.pose, pose)[0] < 0.1
        assert min(gap(rival.pose, other)[0] for rival in told.rivals) < 0.1


@pytest.mark.slow
def test_a_scan_of_another_building_disagrees_anywhere(site):
    for place in site.places:
        assert iv.check(site.atlas, site.elsewhere(), place).verdict != "agrees"


def test_a_wide_claim_allows_more(site):
    truth = site.places[0]
    scan, claim = site.look(truth), off(truth, 0.7)
    assert iv.check(site.atlas, scan, claim).verdict == "disagrees"
    wide = iv.check(site.atlas, scan, claim, np.diag([0.25, 0.25, 0.01]))
    assert wide.verdict == "agrees"
    assert wide.moved[0] == pytest.approx(0.7, abs=0.1)


@pytest.mark.slow
def test_a_search_of_the_whole_map_says_the_same(site):
    truth = site.places[1]
    scan = site.look(truth)
    assert iv.check(site.atlas, scan, truth, thorough=True).verdict == "agrees"
    assert iv.check(site.atlas, scan, off(truth, 1.0), thorough=True).verdict == "disagrees"


@pytest.mark.slow
def test_the_same_question_has_the_same_answer_and_locate_is_not_asked_more(site):
    truth = site.places[2]
    scan = site.look(truth)
    first, second = (check_json(iv.check(site.atlas, scan, truth)) for _ in range(2))
    first["timing_ms"] = second["timing_ms"] = None
    assert json.dumps(first) == json.dumps(second)
    best = iv.locate(site.atlas, scan).best
    assert gap(iv.check(site.atlas, scan, truth).fit.pose, best.pose)[0] < 0.02


def test_a_scan_that_cannot_be_of_the_map_disagrees(site):
    far = site.look(site.places[0]).scaled(1000.0)
    told = iv.check(site.atlas, far, site.places[0])
    assert told.verdict == "disagrees"
    assert told.advice == (
        "Every beam is longer than the map is wide, so none can end in it. Are the ranges in m, "
        "and is the map of this place?"
    )
    assert check_json(told)["score"] is None
    assert check_json(told)["fit"] is None
    assert check_text(told).splitlines()[1] == "  as it stands: 0% of the beams fit"


def test_a_narrow_view_cannot_be_told():
    truth = PLANE.places[0]
    whole = PLANE.look(truth)
    ahead = np.abs(whole.bearings) < np.radians(20.0)
    narrow = iv.Scan(whole.bearings[ahead], whole.ranges[ahead])
    assert iv.check(PLANE.atlas, narrow, truth).verdict == "cannot tell"


def test_bad_input_is_one_line(site):
    truth = site.places[0]
    scan = site.look(truth)
    other = Pose3.lifted(truth) if isinstance(truth, Pose) else truth.flat
    kind, where = ("Pose", "in the plane") if isinstance(truth, Pose) else ("Pose3", "in space")
    several = type(truth).from_vector(np.zeros((2, len(truth.vector))))
    told = {
        f"`pose` must be a {kind} {where}, got {type(other).__name__}.": (scan, other),
        f"`pose` must be a {kind} {where}, got list.": (scan, [1.0, 2.0]),
        "`pose` must be one pose, got an array of shape (2,).": (scan, several),
        "`check` needs an atlas and a scan, got "
        f"{type(site.atlas).__name__} and int. `build` makes an atlas of a map, `read_scan` a scan "
        "of a file.": (3, truth),
    }
    for text, (seen, pose) in told.items():
        with pytest.raises(InputError) as error:
            iv.check(site.atlas, seen, pose)
        assert str(error.value) == text
    with pytest.raises(InputError, match=r"^`covariance` must have shape \(3, 3\), got \(2,\)\.$"):
        iv.check(site.atlas, scan, truth, np.ones(2))
    for wrong in (-np.eye(3), np.triu(np.ones((3, 3)))):
        with pytest.raises(InputError) as error:
            iv.check(site.atlas, scan, truth, wrong)
        assert str(error.value) == (
            "`covariance` must be symmetric and not negative, of (x, y, yaw) in m and rad."
        )


def test_settings_reach_the_check(site):
    scan = site.look(site.places[0])
    strict = replace(iv.LocalizationSettings(), poor=(50.0, 50.0))
    told = iv.check(site.atlas, scan, site.places[0], settings=strict)
    assert told.verdict == "disagrees"
    assert told.advice.startswith("Nothing explains the scan: at best ")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    iv.write_map(PLANE.world, folder / "office.yaml")
    iv.write_scan(PLANE.look(PLANE.places[2]), folder / "scan.json")
    return [str(folder / "office.yaml"), str(folder / "scan.json")]


def asked(files, *arguments):
    return CliRunner().invoke(app, ["check", *files, *map(str, arguments)])


@pytest.mark.slow
def test_the_command_judges_a_pose(files):
    x, y, yaw = PLANE.places[2].vector
    assert yaw < 0.0
    right = asked(files, x, y, yaw)
    assert right.exit_code == 0
    lines = right.output.splitlines()
    assert lines[0] == (
        "agrees: The pose explains the scan, and no other place that was tried comes near."
    )
    assert lines[1].startswith("  as it stands: ")
    assert lines[2].startswith("  fit: x ")
    assert lines[3].startswith("  moved by 0.0")
    assert lines[-2:] == ["  frame: sensor", lines[-1]]
    wrong = asked(files, x - 1.0, y, yaw, "--json")
    assert wrong.exit_code == 1
    told = json.loads(wrong.output)
    assert list(told) == [
        "verdict", "advice", "frame", "pose", "inliers", "score", "fit", "moved", "rivals",
        "timing_ms",
    ]  # fmt: skip
    assert told["verdict"] == "disagrees"
    assert told["moved"]["distance"] == pytest.approx(1.0, abs=0.1)
    assert asked(files, x - 0.7, y, yaw, "--spread", 0.5, 0.1, "--thorough").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nan", 0, 0), "A pose must be finite, got nan, 0, 0."),
        ((1, 2, 3, "--z", 1), "`pose` must be a Pose in the plane, got Pose3."),
        (
            (1, 2, 3, "--spread", -1, 0),
            "`--spread` takes standard deviations above 0, in m and rad, got -1 0.",
        ),
    ],
)
def test_bad_arguments_of_the_command_are_one_line(files, arguments, text):
    result = asked(files, *arguments)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == text


@pytest.mark.slow
def test_places_without_hope_are_not_fitted_with_many_beams(site, monkeypatch):
    fitted = []

    def with_many(atlas, beams, poses, *rest, **how):
        fitted.append(len(poses))
        return refit(atlas, beams, poses, *rest, **how)

    monkeypatch.setattr("isovist.localization.check.refit", with_many)
    told = [iv.check(site.atlas, site.look(pose), pose).verdict for pose in site.places]
    few = fitted.copy()
    monkeypatch.setattr("isovist.localization.check.HOPELESS", np.inf)
    fitted.clear()
    assert told == [iv.check(site.atlas, site.look(p), p).verdict for p in site.places]
    assert sum(few) < sum(fitted)
    assert min(few[::2]) >= 2  # the pose itself, and the best around it
