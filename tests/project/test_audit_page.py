"""The page that counts the items of the paper names nothing that is not there."""

import importlib
import re

import pytest
from tests.support.command_line import VERBS
from tests.support.paths import ROOT, TESTS

import isovist as iv

TEXT = (ROOT / "docs" / "theory" / "audit.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if re.match(r"\| \d+ \|", line)
]
STATES = ("as printed", "mended", "partly")


def test_every_item_has_its_state_and_every_partial_one_is_explained():
    assert [int(row[0]) for row in ROWS] == list(range(1, len(ROWS) + 1))
    assert {row[6] for row in ROWS} == set(STATES)
    numbers = [len(ROWS), *(sum(row[6] == state for row in ROWS) for state in STATES)]
    (summary,) = re.findall(r"^Of \d+ items .*?\.", TEXT, re.M | re.S)
    assert [int(number) for number in re.findall(r"\d+", summary)] == numbers
    for row in ROWS:
        assert row[6] != "partly" or f"- **{row[0]}, " in TEXT


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row):
    (module,) = re.findall(r"`([^`]+)`", row[3])
    found = importlib.import_module(
        module if module.startswith("benchmarks.") else f"isovist.{module}"
    )
    file, test = re.fullmatch(r"`([\w/]+)::(\w+)`", row[5]).groups()
    folder = ROOT if file.startswith("benchmarks/") else TESTS
    text = (folder / f"{file}.py").read_text(encoding="utf-8")
    assert re.search(rf"^def {test}\(", text, re.M), row[5]
    for way in re.findall(r"`([^`]+)`", row[4]):
        _there(way, found)


def _there(way, module):
    """A command with its options, a public name, or a name of the module or of `isovist`."""
    if way.startswith("isovist "):
        words = way.removeprefix("isovist ").split()
        verb = next(name for name in (" ".join(words[:2]), words[0]) if name in VERBS)
        known = {name for parameter in VERBS[verb].params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, way
        return
    here, *parts = way.removeprefix("isovist.").split("(")[0].split(".")
    thing = getattr(iv, here, None) or getattr(module, here)
    for part in parts:
        thing = getattr(thing, part)
