"""Making and saving figures; Matplotlib is imported only when one is asked for."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isovist.errors import InputError, MissingExtraError

PAPER, INK, ACCENT, SOFT, SECOND = "#ffffff", "#22303c", "#d1495b", "#c9d3da", "#2e7da6"


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches, drawn without a screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError.of("A picture", "figures") from error
    return Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def can_draw() -> bool:
    """Whether Matplotlib is installed; asked before the work that a figure is to show."""
    return find_spec("matplotlib") is not None


def check_suffix(path: Path) -> None:
    """Refuse a format that cannot be written, before the work that the figure is to show."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: a picture must end in .png, .pdf or .svg.")


def save(figure: Any, path: Path) -> None:
    """Write a figure; the suffix chooses the format, missing folders are made."""
    check_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
