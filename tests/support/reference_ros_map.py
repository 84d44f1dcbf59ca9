"""Slow exact twin of the rule for cells of ROS maps, and small maps to read."""

from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isovist import Cell

FREE, OCCUPIED, UNKNOWN = (int(c) for c in (Cell.FREE, Cell.OCCUPIED, Cell.UNKNOWN))
GREYS = np.array([[0, 89, 90, 127], [204, 205, 206, 255]], dtype=np.uint8)


def slow_cell(channels: list[int], white: int, fields: dict[str, object]) -> int:
    """The cell of one pixel by exact fractions, as the module says it."""
    brightness = Fraction(sum(channels), white * len(channels))
    occupied, free = Fraction(str(fields["occupied_thresh"])), Fraction(str(fields["free_thresh"]))
    if fields.get("mode") == "raw":
        percent = int(brightness * 255 + Fraction(1, 2))
        if percent > 100:
            return UNKNOWN
        occupancy = Fraction(percent, 100)
    else:
        occupancy = brightness if fields["negate"] else 1 - brightness
    if occupancy > occupied:
        return OCCUPIED
    return FREE if occupancy < free else UNKNOWN


def write_yaml(folder: Path, image: str = "map.pgm", **changes: object) -> Path:
    fields = {
        "image": image,
        "resolution": 0.05,
        "origin": "[-1.0, 2.0, 0.5]",
        "negate": 0,
        "occupied_thresh": 0.65,
        "free_thresh": 0.196,
        **changes,
    }
    path = folder / "map.yaml"
    path.write_text("".join(f"{k}: {v}\n" for k, v in fields.items() if v is not None))
    return path


def write_pgm(folder: Path, pixels: NDArray[np.uint8] = GREYS) -> Path:
    height, width = pixels.shape
    path = folder / "map.pgm"
    path.write_bytes(f"P5 {width} {height} 255\n".encode() + pixels.tobytes())
    return path


def expected(pixels: NDArray[np.uint8], white: int = 255, **fields: object) -> list[list[int]]:
    rule = {"occupied_thresh": 0.65, "free_thresh": 0.196, "negate": 0, **fields}
    grid = [[slow_cell([int(v)], white, rule) for v in row] for row in pixels]
    return grid[::-1]
