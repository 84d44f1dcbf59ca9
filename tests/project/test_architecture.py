"""Check the page of the rooms: its index names every module, and nothing that is not there."""

import re

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "isovist"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATH = re.compile(r"`((?:[\w.*-]+/)*(?:[\w.*-]+/|[\w.*-]+\.(?:py|pyi|js|css|txt|json|yml|yaml)))`")


def rows():
    """Yield the folder of a section and the paths in a row, for each row of the index."""
    index = TEXT.partition("## Index")[2].partition("## How to add")[0]
    for section in index.split("\n### ")[1:]:
        head, *lines = section.splitlines()
        folders = PATH.findall(head)
        base = ROOT if not folders or (ROOT / folders[0]).exists() else SOURCE
        for line in lines:
            yield (base / folders[0] if len(folders) == 1 else base), PATH.findall(line)


def named_paths():
    """Return the files and folders that the index names, and names that fit none."""
    paths, strangers = set(), []
    for base, names in rows():
        folders = [base, *(base / name for name in names if name.endswith("/"))]
        for name in names:
            files = {path for folder in folders for path in folder.glob(name.rstrip("/"))}
            if not files and "/" in name.rstrip("/"):
                files = {path for path in (SOURCE / name, ROOT / name) if path.exists()}
            paths |= files
            strangers += [] if files else [name]
    return paths, strangers


PATHS, STRANGERS = named_paths()


def test_every_file_that_is_named_is_there():
    to_add = PATH.findall(TEXT.partition("## How to add")[2])
    assert len(PATHS) > 200
    assert STRANGERS == []
    assert [n for n in to_add if not (SOURCE / n).exists() and not (ROOT / n).exists()] == []


def test_every_module_is_named_itself_or_by_its_folder():
    modules = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    modules += [*(ROOT / "release").glob("*.py"), *(ROOT / "docs/scripts").glob("*.py")]
    assert {path for path in modules if not {path, path.parent} & PATHS} == set()


def test_every_folder_of_tests_and_benchmarks_is_named():
    files = [*ROOT.glob("tests/*/*.py"), *ROOT.glob("benchmarks/*/*.py")]
    assert {path.parent for path in files} - PATHS == set()
