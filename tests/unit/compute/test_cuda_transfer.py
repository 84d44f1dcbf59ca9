"""What travels between a machine and its card, without a card."""

import ctypes
import re
import threading
from collections import Counter
from importlib.resources import files
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from isovist.arrays import readonly
from isovist.compute import (
    ALIGNMENT,
    INTERLEAVED_CALLS,
    LAYOUTS,
    NOT_READY,
    Device,
    PackedKernel,
    StagingBuffer,
    ThreadBuffers,
    interleave,
)

POINTER = ctypes.c_uint64
KINDS = {
    "int": ctypes.c_int,
    "long long": ctypes.c_longlong,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
SLOW = 3
"""So often a card is asked until it is done."""
WHOLE = (POINTER, ctypes.c_int, ctypes.c_longlong)


class Memory(bytearray):
    """Memory that knows where it is."""

    @property
    def ptr(self):
        return ctypes.addressof(ctypes.c_char.from_buffer(self))


class OnCard(np.ndarray):
    """A copy that says where it is as CuPy does."""

    def __new__(cls, array):
        return np.copy(array).view(cls)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def a_card():
    """What a `StagingBuffer` needs of CuPy, with both sides here; the calls are told."""
    told = []

    def copy(to, start, size, _way, _stream):
        ctypes.memmove(to, start, size)

    waited = Counter()

    def query(stream):
        waited[stream] += 1
        return 0 if waited[stream] % SLOW == 0 else NOT_READY

    streams = count(1)
    runtime = SimpleNamespace(
        memcpyAsync=copy, streamSynchronize=lambda _stream: None, streamQuery=query
    )
    driver = SimpleNamespace(launchKernel=lambda *given: told.append(given))
    cuda = SimpleNamespace(
        alloc_pinned_memory=Memory, alloc=Memory, runtime=runtime, driver=driver,
        Stream=lambda: SimpleNamespace(ptr=next(streams)),
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda), told


def read(address, array):
    return np.ctypeslib.as_array(
        ctypes.cast(address, ctypes.POINTER(ctypes.c_ubyte)), (array.nbytes,)
    ).view(array.dtype).reshape(array.shape)  # fmt: skip


def test_a_call_has_its_arrays_on_the_card_and_gets_back_what_it_makes():
    random = np.random.default_rng(0)
    buffer = StagingBuffer(a_card()[0])
    for size in (3, 700, 5):  # the second needs more room
        taken = (
            random.integers(0, 9, size),
            random.random((size, 2))[:, ::-1],
            random.random(size) < 0.5,
        )
        made = np.zeros((size, 2)), np.zeros(size, dtype=np.int32)
        *there, spare = buffer.send(taken, made, 4 * size)
        assert there == buffer.send(taken, made)
        assert spare + 4 * size <= buffer.base + buffer.size
        assert spare >= there[4] + made[1].nbytes
        assert len({address % ALIGNMENT for address in there}) == 1
        for address, array in zip(there, taken, strict=False):
            np.testing.assert_array_equal(read(address, array), array)
        read(there[3], made[0])[...] = 2.0 * taken[1]
        read(there[4], made[1])[...] = taken[0] + 1
        buffer.fetch()
        np.testing.assert_array_equal(made[0], 2.0 * taken[1])
        np.testing.assert_array_equal(made[1], taken[0] + 1)


@pytest.mark.parametrize("kernel", LAYOUTS, ids=lambda kernel: kernel.name)
def test_arguments_of_a_kernel_stand_as_c_lays_them_out(kernel):
    """Beside the declaration in the source, by the compiler of C that Python was made with."""
    folder = files("isovist.compute.cuda")
    text = folder.joinpath(kernel.source).read_text("utf-8")
    declared = re.search(rf"__global__ void {kernel.name}\(([^)]*)\)", text).group(1).split(",")
    kinds = [POINTER if "*" in each else KINDS[each.rsplit(maxsplit=1)[0].strip()]
             for each in declared]  # fmt: skip
    given = [k + 1 if kind in WHOLE else 0.5 * k for k, kind in enumerate(kinds)]
    card, told = a_card()
    StagingBuffer(card).launch(PackedKernel(77, LAYOUTS[kernel]), 3, 128, 40, *given)
    ((function, *sizes, stream, plain, extra),) = told
    assert (function, sizes, stream, plain) == (77, [3, 1, 1, 128, 1, 1, 40], 0, 0)
    buffer, where, size, length, end = (ctypes.c_uint64 * 5).from_address(extra)
    assert (buffer, size, end) == (1, 2, 0)
    fields = [(f"a{k}", kind) for k, kind in enumerate(kinds)]
    arguments = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    laid = arguments.from_address(where)
    assert [getattr(laid, field) for field, _ in fields] == given
    last = getattr(arguments, fields[-1][0])
    assert ctypes.c_uint64.from_address(length).value == last.offset + last.size


def test_each_thread_has_a_buffer_of_its_own():
    card, _ = a_card()
    buffers, found = ThreadBuffers(card), []

    def send():
        found.append(buffers.current.send((np.zeros(4),), (np.zeros(4),))[0])
        barrier.wait()

    barrier = threading.Barrier(2)
    others = [threading.Thread(target=send) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(set(found)) == 2


class Asked:
    """Adds 1 on a card, as often as is asked for; what happened is told."""

    def __init__(self, refused=()):
        card, _ = a_card()
        self.buffers, self.refused, self.told = ThreadBuffers(card), refused, []

    def __call__(self, number, times):
        value = np.array([10 * number])
        for step in range(times):
            self.told.append((number, step))
            there, back = self.buffers.current.send((value,), (value,))
            read(back, value)[...] = read(there, value) + 1
            self.buffers.current.fetch()
        if number in self.refused:
            raise self.refused[number]
        return int(value[0])


def test_what_takes_turns_is_told_in_order_and_made_when_it_is_needed():
    asked, times = Asked(), [3, 1, 0, 7, 0, 0, 2, 2, 5]
    own, made, seen = asked.buffers.current, [], []
    for answer in interleave(asked.buffers, asked, times):
        assert asked.buffers.current is own  # whoever is told may ask the card himself
        assert asked(50, 2) == 502
        seen.append(answer)
    assert seen == [10 * k + n for k, n in enumerate(times)]
    assert [*interleave(asked.buffers, asked, [])] == []
    for k, _ in enumerate(
        interleave(asked.buffers, asked, (made.append(k) or 1 for k in range(50)))
    ):
        assert len(made) <= k + 2 * INTERLEAVED_CALLS


def test_an_error_of_one_is_raised_after_all_before_it_and_leaves_nothing_open():
    wrong = ValueError("first"), ValueError("second")
    asked = Asked(dict(zip((2, 1), wrong, strict=True)))
    seen = []
    with pytest.raises(ValueError, match="second"):
        seen.extend(interleave(asked.buffers, asked, [5, 1, 1, 1, 1, 1]))
    assert seen == [5]
    begun = {number for number, _ in asked.told}
    for number in begun:  # what was sent came back, since its memory is used again
        assert (number, [5, 1, 1, 1, 1, 1][number] - 1) in asked.told
    assert [*interleave(asked.buffers, asked, [4, 0, 1][:1])] == [4]


def test_whoever_stops_halfway_leaves_nothing_open():
    asked = Asked()
    answers = interleave(asked.buffers, asked, [1, 9, 1, 1, 1])
    assert next(answers) == 1
    own = asked.buffers.current
    answers.close()
    assert asked.buffers.current is own
    assert (1, 8) in asked.told
    assert max(asked.told)[0] < 4
    assert [*interleave(asked.buffers, asked, [1, 1])] == [1, 11]


def test_what_is_on_the_card_is_kept_as_long_as_its_array():
    card, _ = a_card()
    card.asarray = OnCard
    device = Device(card)
    array = readonly(np.arange(5.0))
    there = device.upload(array)
    assert device.upload(array) is there
    part = array[1:3]
    assert device.upload(part).tolist() == [1.0, 2.0]
    assert device.upload(part) is not there
    assert device.address(array) == there.ctypes.data
    assert not device.buffer.uploads
    written = np.arange(3.0)  # somebody may write to it
    assert device.upload(written) is not device.upload(written)
    assert device.address(written) == device.buffer.uploads[0].ctypes.data
    assert device.buffer.uploads[0].tolist() == written.tolist()
    del part
    assert device.upload(array) is there
    assert len(device._recent) == 1
    del array
    assert not device._copies
    assert not device._recent
