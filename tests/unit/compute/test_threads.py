"""Several threads and processes at once: the same bits as one call, in the plane and in space."""

import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numpy as np
import pytest
from tests.support.sites import SITES

import isovist as iv
from isovist.compute import run_parallel
from isovist.compute.infra import threads


def answer_of(name):
    """An answer as bytes, of an atlas that this process has or builds."""
    site = SITES[name]
    answer = iv.locate(site.atlas, site.look(site.places[0]))
    return b"".join(e.pose.vector.tobytes() + e.covariance.tobytes() for e in answer.estimates)


def child(name, answers):
    answers.put(answer_of(name))


@pytest.fixture
def cores(monkeypatch):
    """Whatever the machine has, loops are shared out by so many threads."""
    return lambda count: monkeypatch.setattr(threads, "THREADS", count)


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_threads_and_processes_that_locate_at_once_give_the_bits_of_one(name, cores):
    cores(2)
    plain = answer_of(name)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(answer_of, [name] * 8)) == {plain}
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        answers = context.Queue()
        process = context.Process(target=child, args=(name, answers))
        process.start()
        assert answers.get(timeout=300) == plain
        process.join()
        assert process.exitcode == 0


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_number_of_threads_changes_no_bit_of_an_atlas(site, cores):
    told = []
    for count in (1, 3):
        cores(count)
        told.append(iv.build(site.world).descriptors)
    np.testing.assert_array_equal(*told)


@pytest.mark.parametrize(
    ("count", "block", "most"), [(1, 1, None), (7, 1, None), (1000, 64, None), (999, 1, 100)]
)
def test_parts_cover_a_loop_once_and_begin_at_blocks(cores, count, block, most):
    cores(3)
    times, starts = np.zeros(count, dtype=np.int64), []

    def loop(first, last, out):
        starts.append(first)
        out[first:last] += 1

    run_parallel(loop, count, block, most, (times,))
    assert (times == 1).all()
    assert all(first % block == 0 for first in starts)


def ran(code, **own):
    """What a program prints, which must end well."""
    command, env = [sys.executable, "-c", code], {**os.environ, **own}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_nothing_is_shared_out_when_no_thread_can_start():
    code = (
        "import threading\n"
        "from isovist.compute import run_parallel\n"
        "threading.stack_size(1 << 46)\n"  # more than there is
        "parts = []\n"
        "run_parallel(lambda first, last: parts.append((first, last)), 100, 1, None, ())\n"
        "print(len(parts) > 1, parts[0][0], parts[-1][1])\n"
    )
    assert ran(code, NUMBA_NUM_THREADS="4") == "True 0 100\n"


def test_an_error_of_a_part_reaches_the_caller_and_nobody_works_on(cores):
    cores(2)
    caller, begun, over = threading.get_ident(), threading.Event(), []

    def fail(first, _last):
        assert not over
        if threading.get_ident() != caller:
            begun.set()
            raise ValueError(f"part {first}")
        begun.wait(10.0)

    for _ in range(20):
        begun.clear()
        with pytest.raises(ValueError, match="part"):
            run_parallel(fail, 100, 1, None, ())
    over.append(True)


def test_helpers_that_are_busy_are_not_waited_for(cores):
    """Nor do those that come late hold what they were asked with."""
    cores(2)
    busy, free = threading.Event(), threading.Event()

    def long(_first, _last):
        busy.set()
        free.wait(10.0)

    asking = threading.Thread(target=run_parallel, args=(long, 2, 1, None, ()))
    asking.start()
    assert busy.wait(10.0)
    held = []
    for _ in range(50):
        table = np.zeros(40)
        held.append(weakref.ref(table))
        run_parallel(lambda first, last, out: out[first:last].__iadd__(1), 40, 1, None, (table,))
        assert (table == 1.0).all()
        del table
    assert sum(ref() is not None for ref in held) == 0
    free.set()
    asking.join(10.0)
    assert not asking.is_alive()


@pytest.mark.slow
def test_a_kernel_that_threads_call_at_once_is_compiled_by_the_first():
    """The others wait for it; they were refused with "compilation disabled" before."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from threading import Barrier\n"
        "from isovist.compute import align_2d\n"
        "start = Barrier(4)\n"
        "def go(_):\n"
        "    start.wait()\n"
        "    align_2d.compile()\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    list(pool.map(go, range(4)))\n"
    )
    ran(code)


def test_what_is_shared_out_knows_who_asked_and_keeps_its_order():
    asked = ContextVar("asked", default="nobody")
    mark = asked.set("somebody")
    told = list(threads.map_in_order(lambda number, one: (number, one, asked.get()), "abcdefgh", 2))
    assert told == [(k, letter, "somebody") for k, letter in enumerate("abcdefgh")]
    for count in (3, 50):
        given = list(range(count))
        wanted = [(one, "somebody") for one in given]
        for cores in (1, 2, 3):
            assert threads.map_in_groups(lambda one: (one, asked.get()), given, cores) == wanted
    asked.reset(mark)


@pytest.mark.parametrize(("busy", "hands"), [(3, 1), (5, 1), (8, 8)])
def test_threads_with_a_thing_each_ask_nobody_where_cores_are_left(cores, busy, hands):
    """On all cores whoever has none helps: here seven of eight."""
    cores(8)
    told = list(threads.map_in_order(lambda _number, _one: threads.free_threads(), [0], busy))
    assert told == [hands]
    assert threads.free_threads() == 8
