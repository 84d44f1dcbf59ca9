"""Every link of a page leads somewhere, every page is on the site, every picture has a script."""

import re
import runpy

import numpy as np
import pytest
import yaml
from PIL import Image
from tests.support.paths import ROOT

import isovist as iv

SITE = runpy.run_path(str(ROOT / "docs/scripts/pages.py"))
PAGES = [*(p for p in SITE["pages"]() if p.suffix == ".md"), ROOT / "README.md"]
NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
DRAWN = ("demo.png", "works-answer.png", "works-describe.png", "works-search.png")
STUDIO = ("studio-follow.png", "studio-space.png", "studio-survey.png", "studio-theory.png",
          "studio.png")  # fmt: skip


def headings(page):
    """The places of a page that a link may name."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    for link, path in SITE["links"](page):
        assert path.exists(), link
    text = page.read_text(encoding="utf-8")
    for _, path, place, _ in SITE["LINK"].findall(text):
        if place and "://" not in path:
            assert place[1:] in headings(page.parent / path)


def test_every_page_is_on_the_site_once():
    def leaves(tree):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from [part] if isinstance(part, str) else leaves(part)

    named = list(leaves(NAV))
    placed = {str(where) for where in SITE["pages"]().values() if where.suffix == ".md"}
    assert sorted(named) == sorted(placed)


def test_pages_are_gathered_with_links_as_they_are_on_the_site(tmp_path):
    SITE["gather"](tmp_path / "pages")
    security = (tmp_path / "pages/security.md").read_text(encoding="utf-8")
    assert "](threat-model.md)" in security
    for page in (tmp_path / "pages").rglob("*.md"):
        for link, path in SITE["links"](page):
            assert path.exists(), (page.name, link)


def test_every_public_name_is_on_the_page_of_python_once():
    text = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: isovist\.(\w+)$", text, re.M)) == sorted(iv.__all__)


def test_every_picture_is_shown_and_has_its_script():
    pictures = {path.name for path in (ROOT / "docs").rglob("*.png")}
    shown = {
        path.name for page in PAGES for _, path in SITE["links"](page) if path.suffix == ".png"
    }
    assert pictures == shown == {*DRAWN, *STUDIO}


def assert_alike(folder, name):
    """Check that a picture that was drawn shows about what the one of the pages shows."""
    with Image.open(folder / name) as new, Image.open(ROOT / "docs" / name) as old:
        assert new.size == old.size
        small = [np.asarray(image.convert("L").resize((48, 48))).ravel() for image in (new, old)]
    assert np.corrcoef(*small)[0, 1] > 0.7


@pytest.mark.nightly
@pytest.mark.slow
def test_the_script_of_the_studio_draws_its_pictures(tmp_path):
    """One of them; what the others wait for is tried by the tests of the studio."""
    script = runpy.run_path(str(ROOT / "docs/scripts/studio.py"))
    assert set(script["PICTURES"]) == set(STUDIO)
    script["draw"](tmp_path, "studio-theory.png")
    assert_alike(tmp_path, "studio-theory.png")


@pytest.mark.nightly
@pytest.mark.slow
def test_the_script_draws_the_pictures_of_the_pages(tmp_path):
    runpy.run_path(str(ROOT / "docs/scripts/pictures.py"))["draw"](tmp_path)
    for name in DRAWN:
        assert_alike(tmp_path, name)
