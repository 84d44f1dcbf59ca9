"""Scans that wait for an answer: who is answered with whom, who is refused, and who has gone."""

import asyncio
import threading

import pytest

from isovist.apps import Batcher, Limits, RefusedError


@pytest.fixture
def loop():
    """Runs a coroutine with batches of some limits; no task may end by an error."""
    made, wrong = [], []

    async def watched(ask, batches):
        asyncio.get_running_loop().set_exception_handler(lambda _, told: wrong.append(told))
        return await asyncio.wait_for(ask(batches), 120.0)

    def run(ask, **limits):
        made.append(Batcher(Limits(**limits)))
        return asyncio.run(watched(ask, made[-1]))

    yield run
    for batches in made:
        batches.close()
    assert wrong == []


async def begun(*asked):
    """Tasks that have come as far as they can by themselves."""
    tasks = [asyncio.create_task(one) for one in asked]
    for _ in range(9):
        await asyncio.sleep(0.0)
    return tasks


def test_what_could_not_be_answered_in_time_is_refused_at_once(loop):
    async def ask(batches):
        assert await batches.ask("kind", 1, list) == 1
        batches.pace, batches.waiting = 3.0, 4
        with pytest.raises(RefusedError) as error:
            await batches.ask("kind", 1, list)
        assert (error.value.status, error.value.retry_s) == (429, 6)
        batches.waiting = 3  # 9 s of the 20 s, no more than half of them
        assert await batches.ask("kind", 2, list) == 2
        batches.pace, batches.waiting = 0.0, 5
        with pytest.raises(RefusedError) as error:
            await batches.beside(list)
        assert error.value.retry_s == 1

    loop(ask, seconds=20.0, queue=5)


def test_pace_is_that_of_the_latest(loop):
    async def ask(batches):
        batches.note(4, 2.0)
        assert (batches.pace, batches.sizes) == (0.5, (1, 4))
        batches.note(1, 1.5)
        assert batches.pace == pytest.approx(0.8)
        assert batches.sizes == (2, 5)

    loop(ask)


def test_whoever_comes_while_a_batch_is_located_gets_into_it(loop):
    """And who has an answer need not wait for the others; one that fails takes no answer back."""
    more = threading.Event()

    def run(jobs):
        for job in jobs:
            yield -job
            assert more.wait(120.0)
            if job == 3:
                raise ValueError("three")

    async def ask(batches):
        first = await batches.ask("kind", 1, run)
        others = await begun(*(batches.ask("kind", job, run) for job in (2, 3, 4)))
        assert (batches.sizes, batches.waiting) == ((1, 1), 3)
        more.set()
        return [first, *await asyncio.gather(*others)], batches.sizes

    assert loop(ask, batch=3) == ([-1, -2, -3, -4], (2, 4))


def test_an_error_of_a_batch_is_told_to_all_who_wait_for_it(loop):
    def run(jobs):
        yield next(jobs)
        assert list(jobs) == [2, 3]
        raise ValueError("by mistake")

    async def ask(batches):
        asked = [batches.ask("kind", job, run) for job in (1, 2, 3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, *others = loop(ask)
    assert first == 1
    assert [str(error) for error in others] == ["by mistake"] * 2


def test_a_batch_that_nobody_waits_for_any_more_does_not_end_the_line(loop):
    """Its scans were given up while another kind was located."""
    free = threading.Event()

    def holding(jobs):
        assert free.wait(120.0)
        return list(jobs)

    async def ask(batches):
        held, other = await begun(batches.ask("one", 1, holding), batches.ask("other", 2, list))
        other.cancel()
        await begun()
        free.set()
        assert await held == 1
        assert await batches.ask("other", 3, list) == 3
        late, again = await begun(batches.ask("other", 4, list), batches.ask("other", 5, list))
        late.cancel()
        return await again

    assert loop(ask, gather_s=0.0) == 5
