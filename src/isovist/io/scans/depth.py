"""Read depth images: NPZ, and 16-bit PNG with a JSON file of intrinsics beside it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL.PngImagePlugin import PngImageFile

from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.sensing import CloudScan, Scan
from isovist.storage import existing_file, read_json

NAMES = ("fx", "fy", "cx", "cy")


def read_depth(path: Path) -> CloudScan:
    """Read a depth image, a 16-bit PNG in mm, with its intrinsics in NAME.json."""
    path = existing_file(path, "a depth image")
    beside = path.with_suffix(".json")
    if not beside.exists():
        raise FileError(
            f"{path.name}: a depth image needs intrinsics. Put `fx`, `fy`, `cx` and `cy` in pixels "
            f"into {beside.name} beside it.",
            field="intrinsics",
        )
    intrinsics = read_json(beside, "intrinsics", LIMITS.intrinsics_bytes)
    try:
        # The class itself and not Image.open, whose limit on the size is a global setting.
        with path.open("rb") as stream, PngImageFile(stream) as image:
            if image.width * image.height > LIMITS.depth_pixels:
                raise FileError(
                    f"{path.name} announces {image.width} × {image.height} pixels; a depth image "
                    f"has at most {LIMITS.depth_pixels // 10**6} million.",
                    code="too_large",
                )
            kind, depths = image.mode, np.asarray(image)
    except FileError:
        raise
    except Exception as error:  # a decoder may fail in any way on a damaged file
        raise FileError(f"{path.name} is not a PNG image.", code="unknown_format") from error
    if not kind.startswith("I"):
        raise FileError(
            f"{path.name}: a depth image has 16 bits per pixel, in mm; this one is {kind}."
        )
    return Scan.from_depth(depths.astype(np.int64), _intrinsics(beside, intrinsics))


def depth_from_fields(path: Path, fields: dict[str, Any]) -> CloudScan:
    """Return the scan of the arrays `depth` and `intrinsics` of an NPZ file."""
    if "intrinsics" not in fields:
        raise FileError(
            f"{path.name}: `intrinsics` is missing. A depth image needs fx, fy, cx, cy in pixels.",
            field="intrinsics",
        )
    return Scan.from_depth(fields["depth"], fields["intrinsics"])


def _intrinsics(path: Path, content: Any) -> list[float]:
    try:
        return [float(content[name]) for name in NAMES]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path.name} must hold the numbers {', '.join(NAMES)}, got {json.dumps(content)[:80]}."
        ) from error
