"""What is released: the studio's page with all its libraries."""

import json
import runpy

import pytest
from tests.support.paths import ROOT

SCRIPT = runpy.run_path(str(ROOT / "release/page_parts.py"))


def test_a_part_of_the_page_that_is_missing_or_differs_is_named(tmp_path):
    assert SCRIPT["fault"](tmp_path) == "three.module.js is missing"
    (tmp_path / "three.module.js").write_text("// another version\n")
    assert SCRIPT["fault"](tmp_path).startswith("three.module.js has the SHA-256 ")


def test_the_parts_come_from_the_libraries_that_npm_installs():
    named = {source.split("/")[0] for source in SCRIPT["PARTS"]}
    assert named == set(json.loads((ROOT / "package.json").read_text())["dependencies"])


def test_the_build_of_an_archive_without_the_page_is_refused(tmp_path):
    pytest.importorskip("hatchling")
    hook = runpy.run_path(str(ROOT / "release/hatch_build.py"))["PageHook"]
    (tmp_path / "release").mkdir()
    (tmp_path / "release/page_parts.py").write_text("def fault(): return 'a is missing'\n")
    page = hook(str(tmp_path), {}, None, None, str(tmp_path), "wheel")
    page.initialize("editable", {})
    with pytest.raises(SystemExit):
        page.initialize("standard", {})
