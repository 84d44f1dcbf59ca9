"""Private parts of libraries that are used here, and for which their versions are capped."""

import asyncio
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
    ],
)
def test_a_private_part_is_there(module, path):
    part = importlib.import_module(module)
    for name in path.split("."):
        part = getattr(part, name)


def test_caches_of_numba_have_a_stamp_of_their_sources():
    from numba.core.caching import FunctionCache

    assert "_cache_file" in inspect.getsource(FunctionCache.__mro__[1].__init__)


def test_a_loaded_configuration_of_uvicorn_has_its_protocol_class():
    import uvicorn

    config = uvicorn.Config("a:b", http="h11")
    config.load_app = lambda: None
    config.load()
    assert config.loaded
    assert issubclass(config.http_protocol_class, asyncio.Protocol)
