"""The page that counts the items of the paper names nothing that is not there."""

import importlib
import re

import pytest
from tests.support.paths import ROOT, TESTS
from typer.main import get_command

import isovist as iv
from isovist.apps import app

PAGE = ROOT / "docs" / "theory" / "audit.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if re.match(r"\| \d+ \|", line)
]
STATES = ("as printed", "mended", "partly")


def test_every_item_has_its_number_and_its_state():
    assert [int(row[0]) for row in ROWS] == list(range(1, 72))
    assert {row[6] for row in ROWS} == set(STATES)
    counts = [sum(row[6] == state for row in ROWS) for state in STATES]
    assert (
        f"Of 71 items {counts[0]} stand as printed, {counts[1]} are mended and {counts[2]} is "
        "there in part; none is missing." in TEXT
    )


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row):
    (module,) = re.findall(r"`([^`]+)`", row[3])
    found = importlib.import_module(f"isovist.{module}")
    file, test = re.fullmatch(r"`([\w/]+)::(\w+)`", row[5]).groups()
    text = (TESTS / f"{file}.py").read_text(encoding="utf-8")
    assert re.search(rf"^def {test}\(", text, re.M), row[5]
    for way in re.findall(r"`([^`]+)`", row[4]):
        _there(way, found)


def _there(way, module):
    """A command with its options, a public name, or a name of the module or of `isovist`."""
    if way.startswith("isovist "):
        verb, *options = way.split()[1:]
        command = get_command(app).commands[verb]
        if verb == "bench":
            command = command.commands[options.pop(0)]
        known = {name for parameter in command.params for name in parameter.opts}
        assert {option for option in options if option.startswith("--")} <= known, way
        return
    here, *parts = way.removeprefix("isovist.").split("(")[0].split(".")
    thing = getattr(iv, here, None) or getattr(module, here)
    for part in parts:
        thing = getattr(thing, part)


def test_every_partial_item_is_explained():
    for row in ROWS:
        if row[6] == "partly":
            assert f"- **{row[0]}, " in TEXT
