"""Many scans at once: the answers of a loop, bit for bit, in order, by threads and by processes."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.support.answers import bits, scans_of
from tests.support.errors import refused
from tests.support.fits import together
from tests.support.paths import ROOT
from tests.support.sites import PLANE, SITES, SPACE

import isovist as iv

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@pytest.mark.slow
@BOTH
def test_many_scans_give_the_bits_of_a_loop_in_order(site):
    scans, told = [*scans_of(site)[:2], site.elsewhere()], []
    answers = iv.locate_many(site.atlas, scans, progress=told.append)
    assert [bits(a) for a in answers] == [bits(iv.locate(site.atlas, scan)) for scan in scans]
    assert told == [(k + 1) / len(scans) for k in range(len(scans))]
    assert iv.locate_many(site.atlas, []) == []


@pytest.mark.slow
@BOTH
def test_many_scans_on_several_maps_give_the_bits_of_a_loop(site):
    maps = {"a": site.twin_atlas, "b": site.atlas}
    scans = scans_of(site)[:2]
    prior = {"b": iv.Region.circle(site.places[0].position[:2], 2.0), "a": None}
    for how in ({}, {"region": prior}):
        answers = iv.locate_many(maps, scans, **how)
        assert [bits(a) for a in answers] == [bits(iv.locate(maps, s, **how)) for s in scans]
    assert answers[0].map == "b"


@pytest.mark.slow
def test_scans_that_odometry_joins_are_one_of_many():
    pair = [PLANE.look(pose) for pose in PLANE.places[:2]]
    motion = PLANE.places[0].inverse @ PLANE.places[1]
    answers = iv.locate_many(PLANE.atlas, [together(pair, [motion]), pair[0]])
    assert bits(answers[0]) == bits(iv.locate(PLANE.atlas, pair, motions=[motion]))
    assert bits(answers[1]) == bits(iv.locate(PLANE.atlas, pair[0]))


@pytest.mark.slow
def test_proofs_of_many_scans_are_those_of_a_loop():
    scan, how = scans_of(PLANE)[0], {"prove": True, "budget_s": 60.0}
    (answer,), alone = (
        iv.locate_many(PLANE.atlas, [scan], **how),
        iv.locate(PLANE.atlas, scan, **how),
    )
    assert bits(answer) == bits(alone)
    assert (answer.proof.unique, answer.proof.lookups) == (alone.proof.unique, alone.proof.lookups)


BITS = """
import isovist as iv
from tests.support.answers import bits, scans_of
from tests.support.sites import SITES
for site in SITES.values():
    scans = scans_of(site)[:2]
    for scan, answer in zip(scans, iv.locate_many(site.atlas, scans)):
        assert bits(iv.locate(site.atlas, scan)) == bits(answer)
        print(bits(answer), iv.certify(site.world, scan, answer.best.pose))
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_answers_do_not_hang_on_the_number_of_cores():
    """Workers have one each, and whoever asks in a script has all of them."""
    told = set()
    for cores in ("1", "3"):
        path = os.pathsep.join(path for path in sys.path if path)
        env = {"PYTHONPATH": path, "NUMBA_NUM_THREADS": cores, "OPENBLAS_NUM_THREADS": cores}
        words = [sys.executable, "-c", BITS]
        told.add(subprocess.check_output(words, env={**os.environ, **env}, cwd=ROOT))
    assert len(told) == 1
    assert told.pop().count(b"Certificate(mu=") == 4


@pytest.mark.parametrize("workers", [None, 1])
def test_the_first_bad_scan_is_named(workers):
    good, bad = PLANE.look(PLANE.places[0]), SPACE.look(SPACE.places[0])
    for scans, number, field, code in (
        ([good, good, bad, "scan"], 2, "scan", "wrong_dimension"),
        (["scan"], 0, "locate", "invalid_value"),
    ):
        with refused(field, code) as caught:
            iv.locate_many(PLANE.atlas, scans, workers=workers)
        assert str(caught.value).startswith(f"Scan {number}: ")


@pytest.mark.parametrize(
    ("field", "scans", "workers"),
    [
        ("locate_many", PLANE.look(PLANE.places[0]), None), ("workers", [], 0),
        ("workers", [], 2.5), ("workers", [], "x"), ("workers", [], np.nan), ("workers", [], True),
    ],
)  # fmt: skip
def test_many_scans_are_a_list_and_workers_a_number(field, scans, workers):
    with refused(field):
        iv.locate_many(PLANE.atlas, scans, workers=workers)


@pytest.mark.slow
@BOTH
def test_other_processes_give_the_bits_of_a_loop_in_order(site):
    scans, told = [*scans_of(site)[:2], site.elsewhere()], []
    maps = {"there": site.twin_atlas, "here": site.atlas}
    answers = iv.locate_many(maps, scans, workers=2, progress=told.append)
    assert [bits(a) for a in answers] == [bits(iv.locate(maps, scan)) for scan in scans]
    assert answers[0].map == "here"
    assert told == sorted(told)
    assert told[-1] == 1.0
