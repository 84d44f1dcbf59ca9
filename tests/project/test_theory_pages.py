"""The pages of docs/theory share their equations with the docstrings."""

import importlib
import re
from pathlib import Path

import pytest
from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "theory"
PAGES = sorted(page for page in FOLDER.glob("[a-z]*.md") if page.stem != "audit")
SOURCE = ROOT / "src" / "isovist"
MODULES = {
    "dynamics": [
        "theory.course", "theory.heading", "theory.observability", "tracking.gramian",
        "theory.dynamic", "theory.trajectory", "tracking.start",
    ],
    "differentiate": ["theory.differentiate", "theory.autograd"],
    "optimise": ["theory.optimise", "theory.separation"],
    "paper": [
        "theory.paper", "theory.grid", "theory.beams", "theory.distances", "theory.beam_fit",
        "theory.bounds", "theory.way", "theory.steering", "theory.metric",
    ],
    "silhouettes": [
        "descriptor.shadows", "descriptor.silhouette", "descriptor.rims", "descriptor.grazing",
    ],
    "static": ["theory.static", "theory.example"],
    "verify": ["theory.verify.scenes", "theory.verify.genericity"],
}  # fmt: skip
"""Modules of the pages that are not about one module of their name."""


def _rooms() -> dict[str, str]:
    """Room and name of every module of descriptor and theory, by name; packages are left out."""
    rooms = ("descriptor", "theory")
    return {p.stem: f"{room}.{p.stem}" for room in rooms for p in (SOURCE / room).glob("[!_]*.py")}


def _modules(page: Path) -> list[str]:
    return MODULES[page.stem] if page.stem in MODULES else [_rooms()[page.stem]]


def _equations(text: str) -> set[str]:
    lines = (line.strip() for line in text.splitlines())
    return {re.sub(r"\s+", " ", line) for line in lines if re.search(r"\S\s{2,}\(\d+\)$", line)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_numbered_equation_of_a_page_is_in_the_docstring(page: Path) -> None:
    modules = [importlib.import_module(f"isovist.{name}") for name in _modules(page)]
    equations = _equations(page.read_text(encoding="utf-8"))
    assert equations
    assert equations <= set().union(*(_equations(module.__doc__ or "") for module in modules))


def test_every_module_of_the_descriptor_and_the_theory_has_its_page() -> None:
    told = {name for page in PAGES for name in _modules(page)}
    assert set(_rooms().values()) <= told


def test_the_list_of_pages_names_every_page_and_its_modules() -> None:
    listed = (PAGES[0].parent / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        row = next(line for line in listed.splitlines() if f"({page.name})" in line)
        for name in _modules(page):
            assert re.sub(r"(verify)\.\w+", r"\1", name) in row
