"""Many scans at once: the answers of a loop, bit for bit, in order."""

import threading

import pytest
from tests.support.answers import bits, scans_of
from tests.support.sites import PLANE, SITES, SPACE

import isovist as iv
from isovist import InputError
from isovist.bench import trials
from isovist.evaluation import outcome_of, summarise
from isovist.kernels import threads
from isovist.sensing.joined import joined

both = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@pytest.mark.slow
@both
def test_many_scans_give_the_bits_of_a_loop_in_order(monkeypatch, site):
    scans = [*scans_of(site)[:2], site.elsewhere()]
    loop = [bits(iv.locate(site.atlas, scan, certificate=True)) for scan in scans]
    monkeypatch.setattr(threads, "COUNT", 2 if site.name == "plane" else 3)
    told = []
    answers = iv.locate_many(site.atlas, scans, certificate=True, progress=told.append)
    assert [bits(a) for a in answers] == loop
    assert told == [(k + 1) / len(scans) for k in range(len(scans))]


@pytest.mark.slow
@both
def test_many_scans_on_several_maps_give_the_bits_of_a_loop(monkeypatch, site):
    monkeypatch.setattr(threads, "COUNT", 2)
    maps = {"a": site.twin_atlas, "b": site.atlas}
    scans = scans_of(site)[:2]
    prior = {"b": iv.Region.circle(site.places[0].position[:2], 2.0), "a": None}
    for how in ({}, {"prior": prior}):
        answers = iv.locate_many(maps, scans, **how)
        assert [bits(a) for a in answers] == [bits(iv.locate(maps, s, **how)) for s in scans]
    assert answers[0].map == "b"


@pytest.mark.slow
def test_scans_that_odometry_joins_are_one_of_many():
    pair = [PLANE.look(pose) for pose in PLANE.places[:2]]
    motion = PLANE.places[0].inverse @ PLANE.places[1]
    one = joined(pair, [motion], None)
    answers = iv.locate_many(PLANE.atlas, [one, pair[0]])
    assert bits(answers[0]) == bits(iv.locate(PLANE.atlas, pair, motions=[motion]))
    assert bits(answers[1]) == bits(iv.locate(PLANE.atlas, pair[0]))


@pytest.mark.slow
def test_proofs_of_many_scans_are_those_of_a_loop():
    scans = scans_of(PLANE)[:1]
    answers = iv.locate_many(PLANE.atlas, scans, prove=True, budget_s=60.0)
    for answer, scan in zip(answers, scans, strict=True):
        alone = iv.locate(PLANE.atlas, scan, prove=True, budget_s=60.0)
        assert bits(answer) == bits(alone)
        assert (answer.proof.unique, answer.proof.lookups) == (
            alone.proof.unique,
            alone.proof.lookups,
        )


def test_the_first_bad_scan_is_named(monkeypatch):
    monkeypatch.setattr(threads, "COUNT", 2)
    good, bad = PLANE.look(PLANE.places[0]), SPACE.look(SPACE.places[0])

    def refused(scans, **how):
        with pytest.raises(InputError) as error:
            iv.locate_many(PLANE.atlas, scans, **how)
        return str(error.value)

    assert refused([good, good, bad, "scan"]) == (
        "Scan 2: The scan is a cloud of points, and the atlas is of a map of the plane. "
        "Build the atlas of a map in space, or take a scan of the plane."
    )
    assert refused(["scan"]) == (
        "Scan 0: `locate` needs an atlas and a scan, got PlaneAtlas and str. "
        "`build` makes an atlas of a map, `read_scan` a scan of a file."
    )
    assert refused(good) == (
        "`locate_many` needs a list of scans, got Scan. `locate` takes a single one."
    )
    assert threads.hands() == 2
    assert iv.locate_many(PLANE.atlas, []) == []


def test_scans_are_made_a_few_ahead_of_the_answers():
    made = []

    def scans():
        for k in range(100):
            made.append(k)
            yield k

    answers = threads.in_order(lambda number, scan: (number, scan), scans(), 2)
    assert next(answers) == (0, 0)
    assert len(made) <= 2 * threads.AHEAD + 1
    answers.close()
    assert list(threads.in_order(lambda number, _scan: number, scans(), 3)) == list(range(100))


def test_loops_leave_a_core_to_each_caller(monkeypatch):
    monkeypatch.setattr(threads, "COUNT", 3)
    seen = []

    def loop(first, last):
        seen.append((first, last, threading.current_thread().name))

    assert threads.hands() == 3
    with threads.own_core():
        assert threads.hands() == 3
        with threads.own_core():
            assert threads.hands() == 2
            with threads.own_core(), threads.own_core():
                assert threads.hands() == 1
                threads.share(loop, 100, 1, None, ())
    assert seen == [(0, 100, threading.current_thread().name)]
    with threads.alone():
        threads.share(loop, 50, 1, None, ())
    assert seen[1:] == [(0, 50, threading.current_thread().name)]
    assert threads.hands() == 3


@pytest.mark.slow
def test_trials_are_those_of_a_loop_and_their_times_are_taken_alone(monkeypatch):
    monkeypatch.setattr(trials, "COUNT", 2)
    monkeypatch.setattr(trials, "TIMED", 2)
    asked = [trials.Trial(lambda pose=pose: PLANE.look(pose), pose) for pose in PLANE.places]
    outcomes = list(trials.run_trials(PLANE.atlas, asked))
    for outcome, trial in zip(outcomes, asked, strict=True):
        alone = outcome_of(
            PLANE.atlas, trial.scan(), iv.locate(PLANE.atlas, trial.scan()), trial.truth
        )
        assert outcome.off == alone.off
        assert (outcome.error_m, outcome.verdict) == (alone.error_m, alone.verdict)
    assert len(trials.times_alone(PLANE.atlas, asked)) == 2
    row = summarise(outcomes, [{"search": 1.0, "total": 3.0}])
    assert (row["search_ms"], row["median_ms"], row["p95_ms"]) == (1.0, 3.0, 3.0)
