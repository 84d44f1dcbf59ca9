"""Many scans on the cores of a process."""

import threading

from isovist.compute import share
from isovist.kernels import threads


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
                share(loop, 100, 1, None, ())
    assert seen == [(0, 100, threading.current_thread().name)]
    with threads.alone():
        share(loop, 50, 1, None, ())
    assert seen[1:] == [(0, 50, threading.current_thread().name)]
    assert threads.hands() == 3
