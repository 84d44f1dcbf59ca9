"""Limit the size of the unpacked parts of a bag.

`rosbags` unpacks a chunk or a message of a bag in one step, whatever its size: a file of a megabyte
may unpack to terabytes of zeros.  This module replaces its decompressors by bounded ones.
"""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from isovist.io.settings import LIMITS


def bounded(make: Callable[[], Any]) -> Callable[..., bytes]:
    """Return a function that decompresses data up to a limit, `FileLimits.bag_part_bytes`.

    Args:
        make: Function that makes a decompressor.  Several decompressors are used one after another.
    """

    def unpack(data: bytes, *_size: int) -> bytes:
        parts, left = [], LIMITS.bag_part_bytes
        while data:
            unpacker = make()
            parts.append(unpacker.decompress(data, max_length=left + 1))
            left -= len(parts[-1])
            if left < 0:
                raise ValueError(f"a part of it unpacks to more than {LIMITS.bag_part_bytes} bytes")
            if not unpacker.eof:
                raise ValueError("a part of it is cut off")
            data = unpacker.unused_data
        return b"".join(parts)

    return unpack


@cache
def limit_rosbags() -> None:
    """Make `rosbags` decompress nothing beyond the limit, in this process."""
    from bz2 import BZ2Decompressor

    from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]
    from rosbags.rosbag1 import reader as first
    from rosbags.rosbag2 import reader as read_second
    from rosbags.rosbag2 import storage_mcap as mcap

    second: Any = read_second
    zstd = second.zstd
    first.decompressors.update(bz2=bounded(BZ2Decompressor), lz4=bounded(LZ4FrameDecompressor))
    unzstd = bounded(zstd.ZstdDecompressor)
    mcap.DECOMPRESSORS.update(lz4=bounded(LZ4FrameDecompressor), zstd=unzstd)
    second.zstd = SimpleNamespace(**{**vars(zstd), "decompress": unzstd})
