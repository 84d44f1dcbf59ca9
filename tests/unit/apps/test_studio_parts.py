"""Parts of the studio: what it keeps, names of files, robots that are carried, first sights."""

import socket
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.sites import PLANE, SITES, gap
from tests.support.studio_door import short_drive

import isovist as iv
from isovist.apps import LruStore, Named, RefusedError, kidnap, listen, safe_path
from isovist.localization.locate import preview


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_at_first_sight_the_best_place_is_that_of_the_answer(site):
    for place in site.places:
        scan = site.look(place)
        first, whole = preview(site.atlas, scan), iv.locate(site.atlas, scan)
        assert gap(first.best.pose, whole.best.pose)[0] < 0.05
        assert first.frame == whole.frame
        assert set(first.timing_ms) == set(whole.timing_ms)
    scan = site.look(site.lonely, world=site.twins, seed=6)
    assert preview(site.twin_atlas, scan).verdict is iv.Verdict.AMBIGUOUS
    far = site.look(site.places[0]).scaled(1000.0)
    assert preview(site.atlas, far).verdict is iv.Verdict.LOST


def test_what_would_be_looked_at_closer_is_not_called_unique_at_first_sight():
    scan = PLANE.look(PLANE.places[0])
    assert preview(PLANE.atlas, scan).verdict is iv.Verdict.UNIQUE
    told = preview(
        PLANE.atlas,
        scan,
        settings=iv.LocalizationSettings().with_values({"decision.min_cost_ratio": 1e9}),
    )
    assert told.verdict is iv.Verdict.AMBIGUOUS
    assert told.reasons == (iv.Reason.FIRST_SEARCH_ONLY,)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/cron.d/x", "cron.d/x"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("a\x00b/c:d", "a_b/c_d"),
        ("a/../../b", "a/b"),
        ("一楼.atlas/manifest.json", "一楼.atlas/manifest.json"),
        ("e\u0301tage 1.yaml", "\u00e9tage 1.yaml"),
        ("x" * 300 + ".yaml", "x" * 195 + ".yaml"),
        ("楼" * 100 + ".pgm", "楼" * 65 + ".pgm"),
    ],
)
def test_names_of_files_keep_their_letters_and_lead_nowhere(name, path):
    assert str(safe_path(name)) == path


@pytest.mark.parametrize("name", ["..", "", "/", "... ", "a/..."])
def test_what_is_no_name_of_a_file_is_refused(name):
    with refused(None, "invalid_file", iv.FileError):
        safe_path(name)


def test_what_was_dropped_first_goes_first_and_what_was_told_stays():
    store = LruStore("map", 2)
    store.add("first", Named("first", 1), is_pinned=True)
    store.add_demo("demo", "demo", lambda: Named("demo", 0))
    for key in "abc":
        store.add(key, Named(key, key))
    assert [name for _, name in store.names()] == ["c", "b", "first", "demo"]
    assert store.get("demo").value == 0
    assert store.get("b").value == "b"  # and so is the latest again
    store.add("d", Named("d", "d"))
    assert "b" in store
    for gone in "ac":
        with pytest.raises(RefusedError):
            store.get(gone)


@pytest.mark.slow
def test_a_robot_that_is_carried_away_goes_on_from_there():
    log = short_drive()
    there = log.truth[70, :2]
    jumped = kidnap(log, 20, tuple(there))
    assert np.array_equal(jumped.truth[:20], log.truth[:20])
    assert np.hypot(*(jumped.truth[20, :2] - there)) < 0.05
    assert np.allclose(jumped.odometry[19], jumped.odometry[20])  # it knows nothing of the jump
    at = len(log) - len(jumped) + 20
    step, was = (
        iv.Pose.from_vector(one.odometry[k]).inverse @ iv.Pose.from_vector(one.odometry[k + 10])
        for one, k in ((jumped, 20), (log, at))
    )
    assert np.allclose(step.vector, was.vector)
    assert (np.diff(jumped.times) > 0.0).all()
    for wrong in (0, len(log)):
        with refused():
            kidnap(log, wrong, (0.0, 0.0))
    with refused(code="missing"):
        kidnap(replace(log, truth=None), 20, tuple(there))


def test_a_port_that_is_taken_is_refused_and_small_pieces_are_sent_at_once():
    """`asyncio` turns Nagle's algorithm off only on sockets that name their protocol."""
    with closing(listen("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        with refused(code="unavailable"):
            listen("127.0.0.1", listener.getsockname()[1])
