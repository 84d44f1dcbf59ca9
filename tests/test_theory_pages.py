"""The pages of docs/theory share their equations with the docstrings."""

import importlib
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent / "docs" / "theory").glob("[a-z]*.md"))
MODULES = {
    "dynamics": [
        f"isovist.tracking.{name}"
        for name in ("course", "heading", "gramian", "bound", "readiness", "trajectory", "chain")
    ],
    "verify": ["isovist.theory.verify.scenes"],
}


def _equations(text: str) -> set[str]:
    lines = (line.strip() for line in text.splitlines())
    return {re.sub(r"\s+", " ", line) for line in lines if re.search(r"\S\s{2,}\(\d+\)$", line)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_numbered_equation_of_a_page_is_in_the_docstring(page: Path) -> None:
    names = MODULES.get(page.stem, [f"isovist.{page.stem}"])
    docstrings = [importlib.import_module(name).__doc__ or "" for name in names]
    equations = _equations(page.read_text(encoding="utf-8"))
    assert equations
    assert equations <= set().union(*map(_equations, docstrings))


def test_every_module_of_the_theory_has_its_page() -> None:
    assert {page.stem for page in PAGES} == {
        "completeness", "dynamics", "gram", "hard_bins", "map_space", "moments", "norms",
        "optimise", "stability", "verify", "weight_rules",
    }  # fmt: skip
