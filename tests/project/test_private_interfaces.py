"""Private parts of libraries that are used here, and for which their versions are capped."""

import importlib
import inspect

import pytest


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("numba.core.compiler", "Compiler"),
        ("numba.core.registry", "CPUDispatcher.get_call_template"),
        ("numba.core.event", "register"),
        ("rosbags.rosbag1.reader", "decompressors"),
        ("rosbags.rosbag2.storage_mcap", "DECOMPRESSORS"),
        ("rosbags.rosbag2.reader", "zstd.ZstdDecompressor"),
        ("uvicorn.protocols.http.h11_impl", "H11Protocol.handle_events"),
        ("uvicorn.protocols.http.h11_impl", "H11Protocol.on_response_complete"),
    ],
)
def test_a_private_part_is_there(module, path):
    part = importlib.import_module(module)
    for name in path.split("."):
        part = getattr(part, name)


def test_caches_of_numba_have_a_stamp_of_their_sources():
    from numba.core.caching import FunctionCache

    assert "_cache_file" in inspect.getsource(FunctionCache.__mro__[1].__init__)


def test_requests_of_uvicorn_say_when_they_are_complete():
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

    assert "response_complete" in inspect.getsource(RequestResponseCycle.__init__)
