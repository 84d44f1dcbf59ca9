"""What travels between a machine and its card, without a card."""

import ctypes
import threading
from types import SimpleNamespace

import numpy as np

from isovist.backends.cuda import CudaBackend
from isovist.backends.cuda_mail import ALIGNED, Mail
from isovist.types import readonly


class Memory(bytearray):
    """Memory that knows where it is."""

    @property
    def ptr(self):
        return ctypes.addressof(ctypes.c_char.from_buffer(self))


def a_card():
    """What `Mail` needs of CuPy, with both sides here; the calls are told."""
    told = []

    def copy(to, start, size, way, _stream):
        told.append(way)
        ctypes.memmove(to, start, size)

    runtime = SimpleNamespace(
        memcpyAsync=copy, streamSynchronize=lambda _stream: told.append("wait")
    )
    cuda = SimpleNamespace(alloc_pinned_memory=Memory, alloc=Memory, runtime=runtime)
    return SimpleNamespace(cuda=cuda), told


def read(address, array):
    return np.ctypeslib.as_array(
        ctypes.cast(address, ctypes.POINTER(ctypes.c_ubyte)), (array.nbytes,)
    ).view(array.dtype).reshape(array.shape)  # fmt: skip


def test_a_call_has_its_arrays_on_the_card_and_gets_back_what_it_makes():
    random = np.random.default_rng(0)
    card, told = a_card()
    mail = Mail(card)
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
    assert told == [1, 1, 2, "wait"] * 3


def test_each_thread_has_mail_of_its_own():
    card, _ = a_card()
    mail, found = Mail(card), []

    def send():
        found.append(mail.send((np.zeros(4),), (np.zeros(4),))[0])
        barrier.wait()

    barrier = threading.Barrier(2)
    others = [threading.Thread(target=send) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(set(found)) == 2


def test_what_is_on_the_card_is_kept_as_long_as_its_array():
    backend = object.__new__(CudaBackend)
    backend.cp, backend._kept, backend._last = SimpleNamespace(asarray=np.copy), {}, {}
    array = readonly(np.arange(5.0))
    there = backend.on_card(array)
    assert backend.on_card(array) is there
    part = array[1:3]
    assert backend.on_card(part).tolist() == [1.0, 2.0]
    assert backend.on_card(part) is not there
    written = np.arange(3.0)  # somebody may write to it
    assert backend.on_card(written) is not backend.on_card(written)
    del part
    assert backend.on_card(array) is there
    assert len(backend._last) == 1
    del array
    assert not backend._kept
    assert not backend._last
