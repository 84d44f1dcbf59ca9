"""Make and save figures; Matplotlib is imported only when a figure is made."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isovist.errors import InputError, MissingExtraError
from isovist.report.settings import FIGURE
from isovist.storage import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, INK, ACCENT, SOFT, SECOND = "#ffffff", "#22303c", "#d1495b", "#c9d3da", "#2e7da6"
THIRD = "#e0a030"


def new_figure(width: float, height: float) -> "Figure":
    """Create an empty figure of a size in inches, which needs no screen."""
    with MissingExtraError.unless_found("A picture", "figures"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), dpi=FIGURE.dpi, layout="constrained", facecolor=PAPER)


def show_between(axes: "Axes", low: Any, high: Any) -> None:
    """Set the axes to show the area between two 2D corners in m, true to scale."""
    lengths = {"aspect": "equal", "xlabel": "x (m)", "ylabel": "y (m)"}
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), **lengths)


def can_draw() -> bool:
    """Return whether Matplotlib is installed, so that figures can be drawn."""
    return find_spec("matplotlib") is not None


def check_suffix(path: Path | None, *formats: str) -> None:
    """Check the format of a picture before the work begins; raise an error if it cannot be written.

    The path is `None` if no figure is wanted.  `formats` are allowed suffixes besides those of
    `save`.
    """
    suffixes = (".png", ".pdf", ".svg", *formats)
    if path is not None and path.suffix.lower() not in suffixes:
        choice = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise InputError(f"{path}: a picture must end in {choice}.", code="unknown_format")


def explain_below(figure: "Figure", handles: Any) -> None:
    """Add a legend below all axes, so that it hides nothing, in as many rows as it needs."""
    labels = [handle.get_label() for handle in handles]
    letters = sum(len(label) + 7 for label in labels)
    rows = max(1, round(letters / (12.0 * figure.get_figwidth()) + 0.5))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=-(-len(labels) // rows),
        frameon=False, fontsize=9,
    )  # fmt: skip


def to_bytes(figure: "Figure", kind: str, dpi: float = FIGURE.dpi) -> bytes:
    """Render a figure as the content of a png, pdf or svg file."""
    # Axes that are true to scale find their place in a second pass, which saving makes.
    engine = figure.get_layout_engine()
    if figure.axes and engine is not None:
        engine.execute(figure)
    stream = BytesIO()
    figure.savefig(stream, format=kind, dpi=dpi)
    return stream.getvalue()


def save(figure: "Figure", path: Path) -> None:
    """Write a figure to a file, completely or not at all; the suffix determines the format."""
    check_suffix(path)
    replace_file(path, to_bytes(figure, path.suffix.lower()[1:]), parents=True)
