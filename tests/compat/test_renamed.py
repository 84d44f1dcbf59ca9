"""Each row of the table of renamed things works with a warning, or is refused with its reason."""

import importlib
import inspect
import re
import sys
import tomllib
from contextlib import suppress

import pytest
from tests.support.command_line import VERBS
from tests.support.paths import ROOT

import isovist
from isovist.renamed import ROWS, RemovedNameError, todays_words

SOURCE = ROOT / "src/isovist"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def owner_of(row):
    """The function or class of a keyword, an attribute or a setting, wherever it is defined."""
    first, *rest = row.owner.split(".")
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "@accept_old_names" in text and re.search(rf"^(class|def) {first}\b", text, re.M):
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            owner = getattr(importlib.import_module(name), first)
            return getattr(owner, rest[0]) if rest else owner
    raise AssertionError(f"{first} has no `@accept_old_names`.")


def call(row):
    function, names = owner_of(row), row.today
    parameters = inspect.signature(function).parameters
    with_parts = {name.split(".")[0] for name in names}
    if row.new is not None and not with_parts <= parameters.keys():
        pytest.fail(f"{row.owner} takes none of {names}.")
    if inspect.isabstract(function):
        function = function.__init__
    function(**{row.name: None if len(names) == 1 else (0.5,) * len(names)})


def read(row):
    getattr(owner_of(row), row.name)


def take(row):
    rooms = [f"isovist.{path.parent.name}" for path in SOURCE.glob("*/__init__.pyi")]
    rooms = [isovist, *map(importlib.import_module, rooms)]
    getattr(next(room for room in rooms if row.new in dir(room)), row.old)


def import_anew(row):
    sys.modules.pop(row.old, None)
    importlib.import_module(row.old)


USES = {"name": [take], "keyword": [call], "attribute": [read], "setting": [call, read],
        "module": [import_anew]}  # fmt: skip


@pytest.mark.parametrize(
    ("row", "use"), [(row, use) for row in ROWS for use in USES.get(row.kind, ())]
)
def test_a_name_of_python_works_with_a_warning_or_is_refused(row, use):
    if row.new is None:
        with pytest.raises(RemovedNameError, match=re.escape(row.reason)):
            use(row)
    else:
        with pytest.warns(DeprecationWarning, match=re.escape(f"`{row.new}`")), suppress(Exception):
            use(row)


def test_a_folder_that_an_earlier_version_left_behind_hides_no_module(tmp_path, monkeypatch):
    (tmp_path / "roses/__pycache__").mkdir(parents=True)
    monkeypatch.setattr(isovist, "__path__", [*isovist.__path__, str(tmp_path)])
    sys.modules.pop("isovist.roses", None)
    with pytest.warns(DeprecationWarning, match="`isovist.basis`"):
        importlib.import_module("isovist.roses")


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind in ("command", "option")])
def test_a_word_of_the_command_line_is_that_of_today_or_refused(row):
    words = row.old.split()
    if row.new is None:
        with pytest.raises(RemovedNameError, match=re.escape(row.reason)):
            todays_words(words)
    elif row.kind == "option":
        assert todays_words(["build", f"{row.old}=x", row.old]) == [
            "build",
            f"{row.new}=x",
            row.new,
        ]
    else:
        rest = [] if row.old == "paper" else ["x"]
        assert todays_words([*words, *rest]) == [*row.new.split(), *rest]
        assert row.new in VERBS


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "extra"])
def test_an_extra_installs_that_of_today(row):
    assert EXTRAS.get(row.old) == ([f"isovist[{row.new}]"] if row.new else None)
