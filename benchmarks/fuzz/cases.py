"""One case: a kind, a wound, and what came of it.

Case k of a kind is always the same for the same seed: all that is random comes from a generator of
the three.
"""

import re
import shutil
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import isovist as iv
from benchmarks.fuzz import readers, requests, scans, serving, verbs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    Attributes:
        row: The kind: what was read or asked, e.g. "cloud.laz".
        number: k.
        refused: Whether it was refused with words.
        finding: What should not have happened, in one line; empty when all is well.
        detail: The traceback of a finding, or the words of a refusal.
    """

    row: str
    number: int
    refused: bool = False
    finding: str = ""
    detail: str = ""


def rows(folder: Path) -> list[str]:
    """All kinds of what is tried."""
    return sorted(path.name for path in folder.iterdir()) + list(_asked())


def _asked() -> dict[str, Callable[[np.random.Generator], None]]:
    return {**scans.ASKED, **requests.ASKED, **serving.ASKED, **verbs.ASKED}


def run_case(folder: Path, seed: int, row: str, number: int) -> Outcome:
    """Try one case; nothing that it raises gets out but an interruption."""
    random = np.random.default_rng([seed, number, *row.encode()])
    with tempfile.TemporaryDirectory(prefix="isovist-fuzz-") as scratch:
        try:
            if row in _asked():
                _asked()[row](random)
            else:
                _read(folder / row, Path(scratch), random)
        except iv.IsovistError as error:
            return _refused(row, number, error)
        except readers.WrongError as error:
            return Outcome(row, number, finding=str(error), detail=traceback.format_exc())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of a compiled part is no Exception
            return Outcome(row, number, finding=_site(error), detail=traceback.format_exc())
    return Outcome(row, number)


def _read(home: Path, scratch: Path, random: np.random.Generator) -> None:
    """Damage a copy of a seed, then use it."""
    kind = home.name.split(".")[0]
    copy = scratch / home.name
    shutil.copytree(home, copy)
    readers.WOUNDS.get(kind, readers.damage_file)(copy, _target(copy), random)
    _use(copy)


def _target(home: Path) -> Path:
    """What is read of a seed: not the image beside its YAML file."""
    return min(home.iterdir(), key=lambda path: path.suffix not in (".yaml", ""))


def _use(home: Path) -> None:
    readers.USES[home.name.split(".")[0]](_target(home))


def _refused(row: str, number: int, error: iv.IsovistError) -> Outcome:
    """A refusal, which must be one clear line, and that of a file must name it first."""
    text, finding = str(error), ""
    if not text.isprintable() or not text.endswith((".", "?")) or len(text) > 600:
        finding = f"no clear line: {text[:300]!r}"
    elif isinstance(error, iv.FileError) and not re.match(
        r"(/.*/)?seed", text.split(maxsplit=1)[0]
    ):
        finding = f"the file is not named first: {text[:200]!r}"
    return Outcome(row, number, not finding, finding, text)


def warm(folder: Path) -> None:
    """Use every seed as it is, so that what they need is loaded; all must be accepted.

    What is written meanwhile lies beside the seeds and goes with them.
    """
    tempfile.tempdir = str(folder.parent)
    for home in sorted(folder.iterdir()):
        with suppress(iv.InputError):  # a cube of eight cells is a map, but cannot be described
            _use(home)
    for ask in _asked().values():
        with suppress(iv.IsovistError):  # what was damaged may be refused
            ask(np.random.default_rng(0))


def _site(error: BaseException) -> str:
    """Kind and place of an error, the same for the same fault."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "isovist" in Path(frame.filename).parts] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    text = (str(error).splitlines() or [""])[0][:120]
    return f"{type(error).__name__} at {place}: {text}"
