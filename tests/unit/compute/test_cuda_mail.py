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
from isovist.compute import ALIGNED, LAYOUTS, NOT_READY, TURNS, CudaBackend, Mail, Post, in_turns

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
    """What `Mail` needs of CuPy, with both sides here; the calls are told."""
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
    mail = Mail(a_card()[0])
    for size in (3, 700, 5):  # the second needs more room
        taken = (
            random.integers(0, 9, size),
            random.random((size, 2))[:, ::-1],
            random.random(size) < 0.5,
        )
        made = np.zeros((size, 2)), np.zeros(size, dtype=np.int32)
        *there, spare = mail.send(taken, made, 4 * size)
        assert there == mail.send(taken, made)
        assert spare + 4 * size <= mail.base + mail.size
        assert spare >= there[4] + made[1].nbytes
        assert len({address % ALIGNED for address in there}) == 1
        for address, array in zip(there, taken, strict=False):
            np.testing.assert_array_equal(read(address, array), array)
        read(there[3], made[0])[...] = 2.0 * taken[1]
        read(there[4], made[1])[...] = taken[0] + 1
        mail.fetch()
        np.testing.assert_array_equal(made[0], 2.0 * taken[1])
        np.testing.assert_array_equal(made[1], taken[0] + 1)


@pytest.mark.parametrize("name", LAYOUTS)
def test_arguments_of_a_kernel_stand_as_c_lays_them_out(name):
    """Beside the declaration in the source, by the compiler of C that Python was made with."""
    folder = files("isovist.compute.cuda")
    text = "".join(folder.joinpath(f).read_text("utf-8") for f in ("search.cu", "fit.cu"))
    declared = re.search(rf"__global__ void {name}\(([^)]*)\)", text).group(1).split(",")
    kinds = [POINTER if "*" in each else KINDS[each.rsplit(maxsplit=1)[0].strip()]
             for each in declared]  # fmt: skip
    given = [k + 1 if kind in WHOLE else 0.5 * k for k, kind in enumerate(kinds)]
    card, told = a_card()
    Mail(card).launch(77, LAYOUTS[name], 3, 128, 40, *given)
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


def test_each_thread_has_mail_of_its_own():
    card, _ = a_card()
    post, found = Post(card), []

    def send():
        found.append(post.mail.send((np.zeros(4),), (np.zeros(4),))[0])
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
        self.post, self.refused, self.told = Post(card), refused, []

    def __call__(self, number, times):
        value = np.array([10 * number])
        for step in range(times):
            self.told.append((number, step))
            there, back = self.post.mail.send((value,), (value,))
            read(back, value)[...] = read(there, value) + 1
            self.post.mail.fetch()
        if number in self.refused:
            raise self.refused[number]
        return int(value[0])


def test_what_takes_turns_is_told_in_order_and_made_when_it_is_needed():
    asked, times = Asked(), [3, 1, 0, 7, 0, 0, 2, 2, 5]
    own, made, seen = asked.post.mail, [], []
    for answer in in_turns(asked.post, asked, times):
        assert asked.post.mail is own  # whoever is told may ask the card himself
        assert asked(50, 2) == 502
        seen.append(answer)
    assert seen == [10 * k + n for k, n in enumerate(times)]
    assert [*in_turns(asked.post, asked, [])] == []
    for k, _ in enumerate(in_turns(asked.post, asked, (made.append(k) or 1 for k in range(50)))):
        assert len(made) <= k + 2 * TURNS


def test_an_error_of_one_is_raised_after_all_before_it_and_leaves_nothing_open():
    wrong = ValueError("first"), ValueError("second")
    asked = Asked(dict(zip((2, 1), wrong, strict=True)))
    seen = []
    with pytest.raises(ValueError, match="second"):
        seen.extend(in_turns(asked.post, asked, [5, 1, 1, 1, 1, 1]))
    assert seen == [5]
    begun = {number for number, _ in asked.told}
    for number in begun:  # what was sent came back, since its memory is used again
        assert (number, [5, 1, 1, 1, 1, 1][number] - 1) in asked.told
    assert [*in_turns(asked.post, asked, [4, 0, 1][:1])] == [4]


def test_whoever_stops_halfway_leaves_nothing_open():
    asked = Asked()
    answers = in_turns(asked.post, asked, [1, 9, 1, 1, 1])
    assert next(answers) == 1
    own = asked.post.mail
    answers.close()
    assert asked.post.mail is own
    assert (1, 8) in asked.told
    assert max(asked.told)[0] < 4
    assert [*in_turns(asked.post, asked, [1, 1])] == [1, 11]


def test_what_is_on_the_card_is_kept_as_long_as_its_array():
    backend = object.__new__(CudaBackend)
    backend.cp, backend._kept, backend._last = SimpleNamespace(asarray=OnCard), {}, {}
    backend.post = SimpleNamespace(mail=SimpleNamespace(held=[]))
    array = readonly(np.arange(5.0))
    there = backend.on_card(array)
    assert backend.on_card(array) is there
    part = array[1:3]
    assert backend.on_card(part).tolist() == [1.0, 2.0]
    assert backend.on_card(part) is not there
    assert backend.address(array) == there.ctypes.data
    assert not backend.mail.held
    written = np.arange(3.0)  # somebody may write to it
    assert backend.on_card(written) is not backend.on_card(written)
    assert backend.address(written) == backend.mail.held[0].ctypes.data
    assert backend.mail.held[0].tolist() == written.tolist()
    del part
    assert backend.on_card(array) is there
    assert len(backend._last) == 1
    del array
    assert not backend._kept
    assert not backend._last
