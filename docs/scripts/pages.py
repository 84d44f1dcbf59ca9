"""Gather the pages of the site: those of `docs`, and those that lie beside it.

    python docs/scripts/pages.py FOLDER       # `make docs` makes a site of what is there

Links are those of the repository; here they are turned to where a page lies in the site.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
KEPT = (".md", ".png", ".txt", ".json")
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
"""What stands around and in a link: its start, its path, its place on the page, its end."""


def pages() -> dict[Path, Path]:
    """Where each file of the site lies in the repository, and where in the site."""
    inside = [path for path in (ROOT / "docs").rglob("*") if path.suffix in KEPT]
    placed = {path: path.relative_to(ROOT / "docs") for path in sorted(inside)}
    placed |= {ROOT / name: Path(name.lower()) for name in BESIDE}
    return {path: _home(where) for path, where in placed.items()}


def _home(where: Path) -> Path:
    return where.with_name("index.md") if where.name == "README.md" else where


def links(path: Path) -> Iterator[tuple[str, Path]]:
    """The links of a page that are not of the web, as they stand and as files."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for found in LINK.finditer(re.sub(r"`[^`\n]*`", "", text)):
        if "://" not in found[2]:
            yield found[2], (path.parent / found[2]).resolve()


def turned(path: Path, placed: dict[Path, Path]) -> str:
    """A page with its links as they are in the site."""
    here = placed[path].parent

    def turn(found: re.Match[str]) -> str:
        target = (path.parent / found[2]).resolve()
        target = target / "README.md" if target.is_dir() else target
        if "://" in found[2] or target not in placed:
            return found[0]
        return f"{found[1]}{os.path.relpath(placed[target], here)}{found[3] or ''}{found[4]}"

    return LINK.sub(turn, path.read_text(encoding="utf-8"))


def gather(folder: Path) -> None:
    """Put all pages and pictures there, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    placed = pages()
    for path, where in placed.items():
        target = folder / where
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(turned(path, placed), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
