"""Names and parameters of an earlier version are there, or an error names the new one."""

import json

import pytest
from tests.compat.shared import CHANGED, FILES, FIXTURES, names_of, works_or_says

import isovist as iv

NAMES = json.loads((FIXTURES / "names.json").read_text(encoding="utf-8"))


def no_longer(name, was, now):
    """Yield what can no longer be called as it could: parameters that are gone, moved or needed."""
    today, gone = {word.strip("*?"): word for word in now}, [w.strip("*?") for w in was]
    gone = [word for word in gone if f"{name}({word})" in CHANGED]
    for word in was:
        new = today.pop(word.strip("*?"), None)
        worse = new and ((new[0] == "*" != word[0]) or (word[-1] == "?" != new[-1]))
        if worse or (new is None and word.strip("*?") not in gone):
            yield f"{name}({word})"
    yield from (f"{name}({word}) is new" for word in today.values() if word[-1] != "?" and not gone)
    places = [[w.strip("*?") for w in words if w[0] != "*"] for words in (was, now)]
    if not gone and places[0] != places[1][: len(places[0])]:
        yield f"{name}: another order"


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_can_be_used_as_it_was(name):
    if f"iv.{name}" in CHANGED:
        with works_or_says(f"iv.{name}"):
            getattr(iv, name)
        return
    was, now = NAMES[name], names_of(iv, [name])[name]
    broken = [] if was["call"] is None else [*no_longer(name, was["call"], now["call"])]
    for key, parameters in was["own"].items():
        if key not in now["own"]:
            broken += [] if f"{name}.{key}" in CHANGED else [f"{name}.{key}"]
        elif parameters is not None:
            broken += no_longer(f"{name}.{key}", parameters, now["own"][key] or [])
    assert not broken


@pytest.mark.parametrize("key", [key for key in CHANGED if key.endswith(")")])
def test_a_parameter_that_is_gone_is_refused_with_what_to_use(key):
    name, parameter = key.removesuffix(")").split("(")
    with works_or_says(key):
        getattr(iv, name)(**{parameter: True})


def test_an_attribute_that_is_gone_is_refused_with_what_to_use():
    atlas = iv.read_atlas(FILES / "office.atlas")
    with works_or_says("Atlas.note"):
        atlas.note(iv.read_scan(FILES / "scan.json"))
    assert not hasattr(atlas, "note")
