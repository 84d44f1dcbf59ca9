"""The table of contents of a folder of arrays, sealed by its own checksum."""

import json
import zlib
from dataclasses import dataclass
from typing import Any

from isovist.io.folder.part import Part


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder holds.

    Attributes:
        kind: What it is, e.g. "atlas".
        version: Version of that kind.
        meta: Whatever its writer wants to keep, as JSON.
        arrays: The parts of every array, by name.
    """

    kind: str
    version: int
    meta: dict[str, Any]
    arrays: dict[str, tuple[Part, ...]]

    @property
    def nbytes(self) -> int:
        """Size of all arrays on disk."""
        return sum(part.nbytes for parts in self.arrays.values() for part in parts)

    def encode(self) -> bytes:
        """As JSON that ends with the checksum of all that comes before it."""
        content = {
            "format": "isovist folder 1",
            "kind": self.kind,
            "version": self.version,
            "meta": self.meta,
            "arrays": {
                name: [part.to_json() for part in parts] for name, parts in self.arrays.items()
            },
        }
        body = json.dumps(content, indent=1, allow_nan=False).encode()[:-2]
        return body + _seal(body)

    @classmethod
    def decode(cls, data: bytes) -> "Manifest":
        """From what `encode` gave; `ValueError` when a single byte differs."""
        body, seal = data[:-_SEAL_BYTES], data[-_SEAL_BYTES:]
        if seal != _seal(body):
            raise ValueError("the checksum differs")
        content = json.loads(data)
        arrays = {
            str(name): tuple(Part.from_json(part) for part in parts)
            for name, parts in content["arrays"].items()
        }
        return cls(str(content["kind"]), int(content["version"]), content["meta"], arrays)


def _seal(body: bytes) -> bytes:
    """The end of a manifest that begins like this."""
    return b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body)


_SEAL_BYTES = len(_seal(b""))
