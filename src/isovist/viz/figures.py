"""Making and saving figures; Matplotlib is imported only when one is asked for."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isovist.errors import InputError, MissingExtraError

PAPER, INK, ACCENT, SOFT, SECOND = "#ffffff", "#22303c", "#d1495b", "#c9d3da", "#2e7da6"


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches, drawn without a screen."""
    with MissingExtraError.unless_found("A picture", "figures"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def show_between(axes: Any, low: Any, high: Any) -> None:
    """Show what lies between two corners of the plane, in m, true to scale."""
    lengths = {"aspect": "equal", "xlabel": "x (m)", "ylabel": "y (m)"}
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), **lengths)


def can_draw() -> bool:
    """Whether Matplotlib is installed; asked before the work that a figure is to show."""
    return find_spec("matplotlib") is not None


def check_suffix(path: Path | None, *more: str) -> None:
    """Refuse a format that cannot be written, before the work that the figure is to show.

    Where no figure is wanted, the path is `None`; `more` are formats beside those of `save`.
    """
    *most, last = (".png", ".pdf", ".svg", *more)
    if path is not None and path.suffix.lower() not in (*most, last):
        raise InputError(f"{path}: a picture must end in {', '.join(most)} or {last}.")


def save(figure: Any, path: Path) -> None:
    """Write a figure; the suffix chooses the format, missing folders are made."""
    check_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
