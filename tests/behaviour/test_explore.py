"""Where to drive, and drives until the robot knows where it is."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.reference_explore import LIDAR, START, hall_atlas, walled
from typer.testing import CliRunner

from isovist import (
    Atlas,
    InputError,
    Lidar,
    OccupancyMap,
    Pose,
    Scan,
    Tracker,
    Verdict,
    build,
    write_map,
)
from isovist.apps import app
from isovist.exploration import Ground, Rivals, Rule
from isovist.exploration.propose import propose
from isovist.simulation import RobotSettings, Run, explore, lost_start, twofold_hall

pytestmark = pytest.mark.slow

BODY, STRIDE = RobotSettings().body[0], RobotSettings().stride[0]


@pytest.fixture(scope="module")
def twofold() -> Atlas:
    return hall_atlas(odd=False)


@pytest.fixture(scope="module")
def odd() -> Atlas:
    return hall_atlas(odd=True)


@pytest.fixture(scope="module")
def drive(odd: Atlas) -> Run:
    return explore(odd, START, LIDAR, seed=3)


def looked(atlas: Atlas, pose: Pose, lidar: Lidar = LIDAR) -> tuple[Tracker, Scan]:
    tracker = Tracker(atlas)
    scan = lidar.scan(atlas.world, pose, np.random.default_rng(0))
    tracker.update(Pose(), scan)
    return tracker, scan


def test_a_hall_is_the_same_after_half_a_turn_but_for_its_crate(twofold: Atlas, odd: Atlas) -> None:
    cells = twofold.world.cells
    assert (cells == cells[::-1, ::-1]).all()
    differ = cells != odd.world.cells
    assert np.count_nonzero(differ) == 16 * 16
    assert not (differ & differ[::-1, ::-1]).any()


def test_the_gramian_rule_drives_to_the_end_of_a_corridor() -> None:
    atlas = build(OccupancyMap(walled(40, 400), 0.05))
    tracker, scan = looked(atlas, Pose(17.2, 1.0, 0.0), Lidar(beams=180, range_max=4.0))
    proposal = propose(tracker, Ground.from_atlas(atlas), scan, Rule.GRAMIAN)
    assert proposal.rule is Rule.GRAMIAN
    assert proposal.gain > 0.0
    best = tracker.bank.poses[0]
    heading = best[2] + proposal.direction
    towards = np.sign(best[0] - 10.0)
    assert towards * np.cos(heading) > 0.8
    assert proposal.text.endswith("the information about the pose would grow fastest.")


def test_a_twofold_room_stays_ambiguous_however_one_drives(twofold: Atlas) -> None:
    for rule in Rule:
        run = explore(twofold, START, LIDAR, rule, seed=1, limit=3.0)
        assert not run.unique
        assert not run.right
        assert run.distance >= 3.0
        assert set(run.verdicts) == {Verdict.AMBIGUOUS}
        last = run.steps[-1].belief
        assert last.best is not None
        assert last.best.probability < 0.999


def test_every_scan_of_a_twofold_room_is_ambiguous(twofold: Atlas) -> None:
    rng = np.random.default_rng(7)
    ground = Ground.from_atlas(twofold)
    tried = 0
    while tried < 8:
        pose = Pose(*rng.uniform((0.5, 0.5), (9.0, 6.0)), float(rng.uniform(-3.0, 3.0)))
        if ground.clearance(pose.position) < 0.3:
            continue
        tried += 1
        scan = Lidar(beams=360, range_max=12.0).scan(twofold.world, pose, rng)
        assert Tracker(twofold).update(Pose(), scan).verdict is Verdict.AMBIGUOUS


def test_no_drive_is_proposed_where_none_helps(twofold: Atlas) -> None:
    tracker, scan = looked(twofold, START, Lidar(beams=360, range_max=12.0))
    proposal = propose(tracker, Ground.from_atlas(twofold), scan)
    assert (proposal.gain, proposal.distance) == (0.0, 0.0)
    assert proposal.text == "No drive of 30 m would tell 2 places apart."


def test_one_crate_is_found_by_a_short_drive(drive: Run) -> None:
    assert drive.verdicts[0] is Verdict.AMBIGUOUS
    assert drive.right
    assert drive.distance < 6.0
    assert drive.proposals[0].rule is Rule.RIVALS
    assert "tell 1 of 1 other place apart" in drive.proposals[0].text


def test_a_drive_keeps_clear_of_walls_and_is_what_it_says(drive: Run, odd: Atlas) -> None:
    poses = drive.poses
    assert (Ground.from_atlas(odd).clearance(poses[:, :2]) >= BODY).all()
    steps = np.hypot(*np.diff(poses[:, :2], axis=0).T)
    assert steps.max() <= STRIDE + 1e-9
    assert steps.sum() == pytest.approx(drive.distance)


def test_the_same_seed_drives_the_same_way(drive: Run, odd: Atlas) -> None:
    again = explore(odd, START, LIDAR, seed=3)
    np.testing.assert_array_equal(again.poses, drive.poses)
    assert [p.text for p in again.proposals] == [p.text for p in drive.proposals]


def test_a_random_walk_gets_about(odd: Atlas) -> None:
    run = explore(odd, START, LIDAR, Rule.RANDOM, seed=2, limit=6.0)
    assert run.proposals == ()
    assert run.right or run.distance >= 6.0
    assert Ground.from_atlas(odd).clearance(run.poses[:, :2]).min() >= BODY


def test_a_narrow_view_may_be_told_to_turn(odd: Atlas) -> None:
    lidar = Lidar(field_of_view=np.pi / 2.0, beams=90, range_max=4.0)
    tracker, scan = looked(odd, START, lidar)
    proposal = propose(tracker, Ground.from_atlas(odd), scan)
    turn = proposal.distance == 0.0
    assert proposal.text.startswith("Turn by " if turn else "Drive ")
    assert proposal.gain > 0.0
    assert explore(odd, START, lidar, seed=1, limit=15.0).right


def test_rivals_hold_what_the_bank_holds(odd: Atlas) -> None:
    tracker, scan = looked(odd, START)
    rivals = Rivals.from_tracker(tracker, scan)
    t, d = tracker.bank.margins()
    assert rivals.poses.shape == (2,)
    A, Q, D, W = rivals.sums
    t_here = A[0] / np.sqrt(Q[0] + 0.05)
    d_here = D[0] / np.sqrt(W[0])
    assert t_here[1] in t
    assert d_here[1] in d
    np.testing.assert_allclose(A, -A.T)
    assert rivals.chances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda _: Rule.from_text("c"), "A rule is rivals (b), gramian (a) or random, got 'c'."),
        (
            lambda a: explore(a, START, LIDAR, limit=0.0),
            "`limit` must be a positive length in m, got 0.0.",
        ),
        (lambda a: explore(a, START, LIDAR, seed=-1), "`seed` must not be negative, got -1."),
        (
            lambda a: explore(a, Pose(0.4, 0.4, 0.0), LIDAR),
            "The robot at (0.4, 0.4) is less than 0.15 m from a wall.",
        ),
        (
            lambda a: explore(a, START, Lidar(range_max=0.2), limit=0.5),
            "On a way of 0.6 m from (4.3, 1.6) the sensor never reached a wall.",
        ),
        (
            lambda a: propose(*looked(a, START)[:1], Ground.from_atlas(a), None, Rule.RANDOM),
            "A random walk needs no proposal; pass rule `rivals` or `gramian`.",
        ),
        (
            lambda a: Rivals.from_tracker(Tracker(a), looked(a, START)[1]),
            "The tracker holds no place yet. Update it with a scan first.",
        ),
        (
            lambda a: Ground.from_atlas(a, RobotSettings()),
            "`settings` must be ExplorationSettings, got RobotSettings.",
        ),
        (lambda _: twofold_hall(3.0, 5.0), "A hall needs at least 4 m × 4 m, got 3 m × 5 m."),
    ],
)
def test_errors_say_the_rule_and_the_value(call, text: str, odd: Atlas) -> None:
    with pytest.raises(InputError) as caught:
        call(odd)
    assert str(caught.value) == text


def test_a_robot_that_cannot_get_away_gives_up() -> None:
    cells = walled(60, 80)
    cells[20:31, 20] = cells[20:31, 30] = cells[20, 20:31] = cells[30, 20:31] = 1
    run = explore(
        build(OccupancyMap(cells, 0.05)), Pose(1.27, 1.27, 0.0), LIDAR, "random", limit=0.5
    )
    assert run.unique or run.distance < 0.5


def test_letters_name_the_rules() -> None:
    assert [Rule.from_text(t) for t in ("a", "b", "random")] == [
        Rule.GRAMIAN,
        Rule.RIVALS,
        Rule.RANDOM,
    ]


def test_a_map_without_doubles_has_nothing_to_explore() -> None:
    cells = walled(60, 80)
    cells[20:24, 30:38] = cells[40:50, 10:13] = 1
    with pytest.raises(InputError) as caught:
        lost_start(build(OccupancyMap(cells, 0.05)), Lidar(), 0)
    assert str(caught.value) == (
        "One scan was enough wherever it was tried, so there is nothing to explore. "
        "Take a shorter `range_max` or a narrower `field_of_view`."
    )


def test_the_command_drives_and_draws(tmp_path: Path, odd: Atlas) -> None:
    from PIL import Image

    write_map(odd.world, tmp_path / "hall.yaml")
    film = tmp_path / "out" / "drive.gif"
    words = ["--range-max", "3", "--seed", "2", "--limit", "0.4", "--json", "--figure", str(film)]
    said = CliRunner().invoke(app, ["explore", str(tmp_path / "hall.yaml"), *words])
    report = json.loads(said.stdout)
    assert said.exit_code == (0 if report["unique"] else 1)
    assert report["rule"] == "rivals"
    assert report["steps"][0]["verdict"] == "ambiguous"
    assert len(report["steps"][0]["estimates"]) > 1
    assert {"direction", "distance", "gain", "path", "text"} == set(report["proposals"][0])
    with Image.open(film) as image:
        frames = getattr(image, "n_frames", 1)
        assert frames == len(report["steps"])
        held = []
        for k in range(frames):
            image.seek(k)
            held.append(image.info["duration"])
        assert held == [2500, *[200] * (frames - 2), 2500]
        # A few pixels of a rare colour, that of rivals, stay what they are.
        pixels = np.asarray(image.convert("RGB"), dtype=np.int64).reshape(-1, 3)
        assert np.abs(pixels - [0x8E, 0x6B, 0xB0]).sum(axis=1).min() < 30
    assert [path.name for path in film.parent.iterdir()] == ["drive.gif"]


def test_a_picture_and_words_tell_the_drive(tmp_path: Path, drive: Run, odd: Atlas) -> None:
    from isovist.report import run_text, save_run

    picture = tmp_path / "drive.png"
    save_run(odd.world, drive, picture)
    assert picture.stat().st_size > 10_000
    text = run_text(drive)
    assert text.startswith("at the start: ambiguous: ")
    assert text.endswith("The answer is right.")
    with pytest.raises(InputError) as caught:
        save_run(odd.world, drive, tmp_path / "drive.txt")
    assert str(caught.value).endswith("a picture must end in .png, .pdf, .svg or .gif.")
