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
    "differentiate": ["paper.descriptor.differentiate", "paper.descriptor.torch_operator"],
    "dynamics": [
        "paper.observations", "paper.static.heading", "paper.dynamic.observability",
        "tracking.gramian", "paper.dynamic.dynamic_bound", "paper.dynamic.start_refinement",
        "paper.dynamic.start_fit",
        "paper.static.trajectory",
    ],
    "optimise": ["paper.basis_fit.gradients", "paper.basis_fit.separation",
                 "paper.descriptor.pull_back"],
    "paper": [
        "paper.localizer", "paper.static.descriptor_grid", "paper.static.scan_descriptor",
        "paper.gram.partial_distances", "paper.static.scan_gauss_newton",
        "paper.static.static_bound", "paper.static.certify", "paper.dynamic.trajectory_localizer",
        "paper.dynamic.steering", "paper.metric",
        "paper.static.assumptions", "paper.weight_profiles",
    ],
    "silhouettes": [
        "paper.descriptor.shadows", "paper.descriptor.silhouette", "paper.descriptor.rims",
        "paper.descriptor.grazing",
    ],
    "static": ["paper.static.gauss_newton", "paper.example"],
    "verify": ["paper.statements.worlds.scenes", "paper.statements.genericity"],
}  # fmt: skip
"""Modules of the pages that are not about one module of their name."""


def _rooms() -> dict[str, str]:
    """Return every module of the paper's chapters by its own name."""
    paths = [path.relative_to(SOURCE) for path in (SOURCE / "paper").rglob("[!_]*.py")]
    chapters = [p for p in paths if p.parts[1] not in ("statements", "report", "settings.py")]
    return {p.stem: ".".join(p.with_suffix("").parts) for p in chapters}


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
            assert re.sub(r"(statements)\..*", r"\1", name) in row
