"""Take the pictures of the studio in a browser.

    python docs/scripts/studio.py [FOLDER] [NAME …]      # into `docs`, all unless some are named

Needs what its tests need: the dependency group `test`, and a Chromium.
"""

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT)]

from PIL import Image  # noqa: E402
from tests.support.studio_door import Visit, browser, running  # noqa: E402


def locate(page: Any) -> None:
    """Two places of a hall explain one scan."""
    page.wait_for_selector(".verdict")
    page.wait_for_function("() => !studio.tab.busy && studio.tab.result.why")


def follow(page: Any) -> None:
    """A drive, played to its end."""
    page.wait_for_selector(".report:not(:empty)")


def survey(page: Any) -> None:
    """Where one scan is enough."""
    page.wait_for_selector("button.main")
    page.evaluate("studio.tab.count = 100")
    page.click("button.main")
    page.wait_for_selector(".share", timeout=300_000)


def theory(page: Any) -> None:
    """The room of the paper."""
    page.wait_for_selector("canvas.polar ~ .answer .column")


def space(page: Any) -> None:
    """A building in space."""
    page.wait_for_function("() => studio.space.ready && studio.space.group.children.length >= 2")


DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Wait until what the page has is on the screen."""
COLOURS = 256
"""Of a picture: enough for a plan and its marks, and a third of the bytes."""
PICTURES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "studio.png": ("/#site=hall", locate),
    "studio-follow.png": ("/#tab=follow&site=office", follow),
    "studio-survey.png": ("/#tab=survey&site=hall", survey),
    "studio-theory.png": ("/#tab=theory", theory),
    "studio-space.png": ("/#site=building", space),
}


def draw(folder: Path, *names: str) -> None:
    """The pictures of those names, or all, into a folder."""
    with running("office") as address, browser() as program:
        for name in names or PICTURES:
            path, show = PICTURES[name]
            visit = Visit(program, address)
            page = visit.open(path)
            show(page)
            page.evaluate(DRAWN)
            with Image.open(BytesIO(page.screenshot())) as shot:
                shot.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
                    folder / name, optimize=True
                )
            visit.close()


if __name__ == "__main__":
    folder, *some = sys.argv[1:] or [ROOT / "docs"]
    draw(Path(folder), *some)
