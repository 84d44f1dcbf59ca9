"""Recorded answers: one packed file per set, and a manifest of commit, machine and inputs."""

import gzip
import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reference.outcomes import Outcome

FOLDER = Path(__file__).parent / "recorded"
ROWS = 8000
"""Answers of a file, so that none reaches 1 MB."""


@dataclass(slots=True)
class Record:
    """What one tree answered to a set.

    Attributes:
        outcomes: Of each question by its name.
        cpu: CPU time of each question in s, a list of one per round.
        build_cpu: CPU time of all maps that were built, in s.
        maps: How many these were.
        atlas_bytes: Of the atlases that were measured.
        peak_mb: Peak memory of the process, in MB.
        calls: Python calls of the questions and updates that were counted.
        counted: How many of these were unique.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    build_cpu: float = 0.0
    maps: int = 0
    atlas_bytes: int = 0
    peak_mb: float = 0.0
    calls: int = 0
    counted: int = 0

    def costs(self) -> dict[str, Any]:
        """Return what it cost, as plain values."""
        spent = 1e3 * np.array([np.mean(values) for values in self.cpu.values()] or [np.nan])
        return {
            "cpu_median_ms": round(float(np.median(spent)), 2),
            "cpu_mean_ms": round(float(np.mean(spent)), 2),
            "build_cpu_s": round(self.build_cpu, 2),
            "maps": self.maps,
            "atlas_bytes": self.atlas_bytes,
            "peak_mb": round(self.peak_mb, 1),
            "calls_per_unique": round(self.calls / self.counted) if self.counted else None,
        }


def clear(folder: Path = FOLDER) -> None:
    """Delete an older record."""
    for path in folder.glob("*.json.gz"):
        path.unlink()


def write_record(name: str, record: Record, folder: Path = FOLDER) -> None:
    """Write the answers to a set, packed by columns."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(record.outcomes)
    for part, first in enumerate(range(0, len(names), ROWS)):
        kept = names[first : first + ROWS]
        outcomes = [record.outcomes[key] for key in kept]
        told = {
            "costs": record.costs() if record.cpu else None,
            "queries": kept,
            **{key: [getattr(one, key) for one in outcomes] for key in ("verdict", "reasons")},
            "flags": [2 * one.right + one.listed for one in outcomes],
            "hypotheses": [one.hypotheses for one in outcomes],
        }
        text = json.dumps(told, separators=(",", ":")).encode()
        (folder / f"{name}.{part}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


def read_outcomes(name: str, folder: Path = FOLDER) -> dict[str, Outcome]:
    """Read the recorded outcomes of a set; none where it is not recorded."""
    found: dict[str, Outcome] = {}
    for path in sorted(folder.glob(f"{name}.*.json.gz")):
        told = json.loads(gzip.decompress(path.read_bytes()))
        columns = (told[key] for key in ("queries", "verdict", "reasons", "flags", "hypotheses"))
        for query, verdict, reasons, flags, poses in zip(*columns, strict=True):
            kept = tuple(tuple(pose) for pose in poses)
            found[query] = Outcome(verdict, tuple(reasons), kept, flags >= 2, flags % 2 == 1)
    return found


@dataclass(slots=True)
class Manifest:
    """What was recorded.

    Attributes:
        commit: Of the tree that answered.
        size: Of the sets.
        sets: Their names.
        hashes: Of every file of inputs.
        machine: Python, NumPy, Numba and processor.
    """

    commit: str
    size: str
    sets: list[str]
    hashes: dict[str, str]
    machine: dict[str, str]

    def write(self, folder: Path = FOLDER) -> None:
        """Write it."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"
        (folder / "manifest.json").write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path = FOLDER) -> "Manifest | None":
        """Read it; `None` where nothing is recorded."""
        path = folder / "manifest.json"
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def machine() -> dict[str, str]:
    """Say what a record depends on besides the code."""
    import numba

    return {"python": platform.python_version(), "numpy": np.__version__,
            "numba": numba.__version__, "processor": platform.machine()}  # fmt: skip
