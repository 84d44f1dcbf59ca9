"""Read the brightness of the pixels of a map image in any format.

A pixel with channels c_1, …, c_k, each from 0 to the white of its format, has the brightness

    b = Σ c_j / (k · white),                                                      (1)

stored as the whole numbers Σ c_j and k · white, so that no threshold is crossed by rounding. Grey
has one channel, colour three. If the caller wants it, alpha is averaged in as a fourth channel, as
in map_server; grey then counts three times.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.TiffImagePlugin import TiffImageFile

from isovist.arrays import BoolArray, check_memory
from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.storage import as_file_error, existing_file, quote

PEAK_BYTES = 12
"""Bytes per pixel at the peak of reading: eight for numbers as text, the rest for cells."""

_DEFLATE_RATIO = 1100
"""Upper bound on the compression of the image formats (deflate: 1032)."""

_OPENERS: dict[Callable[[IO[bytes]], Image.Image], tuple[bytes, ...]] = {
    # The classes themselves and not Image.open, whose limit on the size is a global setting.
    PngImageFile: (b"\x89PNG",),
    BmpImageFile: (b"BM",),
    TiffImageFile: (b"II*\0", b"MM\0*"),
    PpmImageFile: (b"P1", b"P3", b"P4", b"P6"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Brightness:
    """The brightness of the pixels of an image, equation (1).

    Attributes:
        levels: Sum of the colour channels of each pixel, shape (height, width), top row first,
            unsigned integers.
        peak: The level of white.
        opaque: Mask of the fully opaque pixels; `None` when all are.
    """

    levels: NDArray[Any]
    peak: int
    opaque: BoolArray | None = None


def read_brightness(path: Path, *, average_alpha: bool) -> Brightness:
    """Read the brightness of a PGM, PNG, BMP, TIFF, PBM or PPM image."""
    path = existing_file(path, "an image")
    with path.open("rb") as stream:
        start = stream.read(4)
    if start[:2] in (b"P5", b"P2"):
        return _read_pgm(path)
    for opener, magics in _OPENERS.items():
        if start.startswith(magics):
            return _read_pillow(path, opener, average_alpha)
    raise FileError(
        f"{path.name} starts with {quote(start)}, like no known image. "
        "Save the map as PGM, PNG, BMP or TIFF.",
        code="unknown_format",
    )


def _check_size(path: Path, width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise FileError(
            f"{path.name} announces {width} × {height} pixels; a map needs some.", code="empty"
        )
    if width * height > LIMITS.image_pixels:
        raise FileError(
            f"{path.name} announces {width} × {height} pixels; at most "
            f"{LIMITS.image_pixels // 10**6} million are read. Crop the map or make its cells "
            "larger.",
            code="too_large",
        )
    with as_file_error(path):
        check_memory(
            f"Reading an image of {width} × {height} pixels",
            PEAK_BYTES * width * height,
            "Crop the map or make its cells larger.",
        )


def _read_pillow(
    path: Path, opener: Callable[[IO[bytes]], Image.Image], average_alpha: bool
) -> Brightness:
    try:
        with path.open("rb") as stream, opener(stream) as image:
            _check_size(path, *image.size)
            if image.width * image.height > 8 * _DEFLATE_RATIO * path.stat().st_size:
                raise FileError(
                    f"{path.name} announces {image.width} × {image.height} pixels, "
                    f"more than its {path.stat().st_size} bytes can hold."
                )
            image.load()
            return _brightness(path, image, average_alpha)
    except FileError:
        raise
    except Exception as error:
        # A decoder may raise any error on a damaged file.
        raise FileError(f"{path.name} is a damaged image, or cut off.") from error


def _brightness(path: Path, image: Image.Image, average_alpha: bool) -> Brightness:
    if image.mode in ("1", "L", "P", "RGB") and "transparency" in image.info:
        image = image.convert("RGBA")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode in ("P", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"):
        image = image.convert("RGB")
    pixels = np.asarray(image)
    if image.mode == "L":
        return Brightness(pixels, 255)
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        return Brightness(pixels.astype(np.uint16, copy=False), 65535)
    if image.mode == "RGB":
        return Brightness(pixels.sum(axis=2, dtype=np.uint16), 3 * 255)
    if image.mode not in ("LA", "RGBA"):
        raise FileError(
            f"{path.name} has pixels of kind {image.mode}. Save the map as 8-bit grey or colour.",
            code="unknown_format",
        )
    colour, alpha = pixels[..., :-1], pixels[..., -1]
    levels = colour.sum(axis=2, dtype=np.uint16) * np.uint16(3 // colour.shape[2])
    if average_alpha:
        return Brightness(levels + alpha, 4 * 255)
    return Brightness(levels, 3 * 255, alpha == 255)


_PGM_HEADER = re.compile(rb"P([25])" + 3 * rb"(?:\s|#[^\n]*\n)+(\d{1,9})" + rb"(?:#[^\n]*\n|\s)")


def _read_pgm(path: Path) -> Brightness:
    """Read Netpbm grey, binary (P5, 8 or 16 bits) or text (P2), perhaps with comments."""
    with path.open("rb") as stream:
        header = _PGM_HEADER.match(stream.read(65536))
    if header is None:
        raise FileError(
            f"{path.name} has no sound PGM header. It should say P5 or P2, width, height and the "
            "value of white."
        )
    form, width, height, peak = (int(group) for group in header.groups())
    _check_size(path, width, height)
    if not 1 <= peak <= 65535:
        raise FileError(f"{path.name}: white is {peak} in its header; PGM allows 1 to 65535.")
    cells, rest = width * height, path.stat().st_size - header.end()
    if form == 5:
        dtype = np.dtype(np.uint8 if peak < 256 else ">u2")
        if rest < cells * dtype.itemsize:
            raise FileError(
                f"{path.name} is cut off: {width} × {height} pixels take "
                f"{cells * dtype.itemsize} bytes, but {rest} follow its header."
            )
        levels = np.fromfile(path, dtype, cells, offset=header.end())
    else:
        if rest < 2 * cells - 1:
            raise FileError(
                f"{path.name} is cut off: {width} × {height} pixels take at least "
                f"{2 * cells - 1} characters, but {rest} follow its header."
            )
        levels = _text_levels(path, header.end(), cells)
    if int(levels.max()) > peak or int(levels.min()) < 0:
        wrong = levels.max() if int(levels.max()) > peak else levels.min()
        raise FileError(f"{path.name} has a pixel of {wrong}, outside 0 to {peak}, its white.")
    narrow = levels.astype(np.uint8 if peak < 256 else np.uint16, copy=False)
    return Brightness(narrow.reshape(height, width), peak)


def _text_levels(path: Path, offset: int, cells: int) -> NDArray[np.int64]:
    with path.open("rb") as stream:
        stream.seek(offset)
        text = stream.read()
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # NumPy before 2.3 only warns
            levels = np.fromstring(text, dtype=np.int64, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise FileError(f"{path.name} has pixels that are not numbers.") from error
    if levels.size != cells:
        raise FileError(f"{path.name} has {levels.size} pixels where its header says {cells}.")
    return levels
