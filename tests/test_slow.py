"""The list of slow tests names tests that are there, and is written from what was measured."""

from pathlib import Path
from types import SimpleNamespace

import slow
from conftest import ALWAYS, SLOW, pytest_ignore_collect


def test_every_test_that_is_called_slow_is_there(request):
    found = request.config.stash[slow.COLLECTED]
    here = {slow.file_of(name) for name in found}
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    chosen = any("::" in argument for argument in request.config.args)
    listed = {name for name in slow.measured() if slow.file_of(name) in here}
    gone = listed - set(found)
    assert chosen or not gone, "Renamed or removed: `make times` measures anew."
    assert {slow.file_of(name) for name in slow.measured()} <= files


def test_the_quick_set_goes_the_whole_way_in_the_plane_and_in_space(request):
    found = request.config.stash[slow.COLLECTED]
    here = {slow.file_of(name) for name in found}
    chosen = any("::" in argument for argument in request.config.args)
    for name in ALWAYS:
        assert not name.startswith(SLOW)
        there = slow.file_of(name) in here and not chosen
        assert not there or any(one.startswith(name) for one in found), name
    for part in ("localization", "judge", "several", "cli", "tracker_sites"):
        kept = [name for name in found if name.startswith(ALWAYS)]
        kept = [name for name in kept if slow.file_of(name) == f"test_{part}.py"]
        for site in ("plane", "space") if f"test_{part}.py" in here and not chosen else ():
            assert any(site in name.partition("[")[2] for name in kept), (part, site)


def test_files_that_are_slow_as_a_whole_are_not_imported_by_the_quick_set():
    here = Path(__file__).parent

    def left_out(name, marks):
        config = SimpleNamespace(option=SimpleNamespace(markexpr=marks))
        return pytest_ignore_collect(here / name, config)

    assert left_out("test_cluster.py", "not slow")
    assert left_out("test_survey_hard.py", "not slow")
    assert left_out("test_cluster.py", "") is None
    assert left_out("test_atlas.py", "not slow") is None


def test_the_list_is_sorted_and_says_each_test_once():
    lines = slow.LIST.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))


def test_what_took_long_is_listed_when_all_tests_passed(tmp_path, monkeypatch):
    monkeypatch.setattr(slow, "LIST", tmp_path / "slow.txt")
    old = ["test_a.py::test_gone", "test_a.py::test_left_out", "test_a.py::test_short"]
    slow.LIST.write_text("\n".join([*old, "test_c.py::test_of_a_file_left_out"]))
    times = slow.Times()
    times.seconds = {
        "test_b.py::test_long[é]": slow.LIMIT_S + 0.01,
        "test_a.py::test_longest": 9.0,
        "test_a.py::test_short": slow.LIMIT_S,
    }
    found = [*times.seconds, "test_a.py::test_left_out"]
    session = SimpleNamespace(config=SimpleNamespace(stash={slow.COLLECTED: found}))
    times.pytest_sessionfinish(session, exitstatus=1)
    assert len(slow.measured()) == 4
    times.pytest_sessionfinish(session, exitstatus=0)
    assert slow.measured() == {
        "test_a.py::test_left_out", "test_a.py::test_longest", "test_b.py::test_long[é]",
        "test_c.py::test_of_a_file_left_out",
    }  # fmt: skip


def test_processor_time_is_counted():
    before = slow.spent()
    while slow.spent() == before:
        sum(range(10_000))
    assert slow.spent() > before
