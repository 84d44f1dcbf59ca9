"""Which tests `make quick` leaves out: those that took long when they were last measured.

`slow.txt` names each test that used more than LIMIT_S of processor time, its fixtures and the
processes that it starts included; `make times` writes it anew.  It is processor time, so other
work on the machine does not change it much.
"""

import resource
from pathlib import Path

import pytest

LIMIT_S = 0.1
"""In s.  What is below it takes 93 s of processor time with two workers, their start included,
where what is below 0.15 s took 177 s: both on two cores that others used as well."""
LIST = Path(__file__).parent / "slow.txt"
COLLECTED = pytest.StashKey[list[str]]()
"""Ids of all tests that were found, whatever is chosen of them."""


def measured() -> frozenset[str]:
    """Ids of tests, from the folder of the tests on, e.g. "test_cli.py::test_help[space]"."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def spent() -> float:
    """Processor time of this process and of those that it waited for, in s."""
    use = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in use)


class Times:
    """Measures each test, and writes the list when all have run.

    What this run leaves out, `-m 'not slow'` or files that it does not name, stays as it was.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        before = spent()
        try:
            return (yield)
        finally:
            self.seconds[name_of(item)] = spent() - before

    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus == 0:
            found = set(session.config.stash[COLLECTED])
            files = {file_of(name) for name in found}
            kept = {name for name in measured() if name in found or file_of(name) not in files}
            long = {name for name, s in self.seconds.items() if s > LIMIT_S}
            lines = sorted(kept - self.seconds.keys() | long)
            LIST.write_text("".join(f"{name}\n" for name in lines), encoding="utf-8")


def file_of(name: str) -> str:
    """The file that a test is in."""
    return name.split("::", maxsplit=1)[0]


def name_of(item) -> str:
    """Id of a test from the folder of the tests on."""
    return item.nodeid.removeprefix("tests/")
