"""Making and saving figures; Matplotlib is imported only when one is asked for."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from isovist.errors import InputError, MissingExtraError
from isovist.storage.files import replace_file

PAPER, INK, ACCENT, SOFT, SECOND = "#ffffff", "#22303c", "#d1495b", "#c9d3da", "#2e7da6"
THIRD = "#e0a030"
DPI = 150
"""Pixels per inch of a picture."""


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches, drawn without a screen."""
    with MissingExtraError.unless_found("A picture", "figures"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor=PAPER)


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
        raise InputError(
            f"{path}: a picture must end in {', '.join(most)} or {last}.", code="unknown_format"
        )


def explain_below(figure: Any, handles: Any) -> None:
    """A legend below all axes, so that it hides nothing, in as many rows as it needs."""
    labels = [handle.get_label() for handle in handles]
    letters = sum(len(label) + 7 for label in labels)
    rows = max(1, round(letters / (12.0 * figure.get_figwidth()) + 0.5))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=-(-len(labels) // rows),
        frameon=False, fontsize=9,
    )  # fmt: skip


def to_bytes(figure: Any, kind: str, dpi: float = DPI) -> bytes:
    """A figure as the content of a file: png, pdf or svg."""
    # Axes that are true to scale find their place in a second pass, which saving makes.
    if figure.axes:
        figure.get_layout_engine().execute(figure)
    stream = BytesIO()
    figure.savefig(stream, format=kind, dpi=dpi)
    return stream.getvalue()


def save(figure: Any, path: Path) -> None:
    """Write a figure, all or nothing; the suffix chooses the format, missing folders are made."""
    check_suffix(path)
    replace_file(path, to_bytes(figure, path.suffix.lower()[1:]), parents=True)
