"""What is made once for each object."""

import threading
from contextlib import suppress

from tests.support.errors import known_fault

from isovist.arrays import once_for_each


class Owner:
    """Something that a cache may hold on to."""


def test_each_object_gets_its_own():
    make = once_for_each(lambda owner: [owner])
    first, second = Owner(), Owner()
    assert make(first) is make(first)
    assert make(first) is not make(second)


@known_fault("no lock: two threads that come first make it twice")
def test_two_threads_that_come_first_get_one_thing():
    both_inside = threading.Barrier(2)
    made = []

    def make(owner):
        made.append(owner)
        with suppress(threading.BrokenBarrierError):  # the other thread waits outside
            both_inside.wait(timeout=2.0)

    owner, cached = Owner(), once_for_each(make)
    threads = [threading.Thread(target=cached, args=(owner,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
