"""Names and parameters of an earlier version are there, or an error names the new one."""

import ast
import re
import runpy

import pytest
from tests.compat.shared import CHANGED, FILES, FIXTURES, works_or_says
from tests.support.errors import refused
from tests.support.paths import ROOT

import isovist as iv
from isovist.renamed import ROWS


def listed(text):
    """Every public name: its parameters with their defaults, by place and by name; a value."""
    found, owner = {}, ""
    for line in re.sub(r"<[^\n]*?>+|  \(\w+\)$", "", text, flags=re.M).splitlines():
        name = re.match(r" *(?:class )?(\w+)", line)[1]
        owner = owner if line[0] == " " else name
        key = owner if name in (owner, "__init__") else f"{owner}.{name}"
        call = re.match(r" *\w+(\(.*\))$", line.replace("=,", "=...,").replace("=)", "=...)"))
        if call:
            a = ast.parse(f"def f{call[1]}: 0").body[0].args
            given = [None] * (len(a.args) - len(a.defaults)) + a.defaults
            all_of = zip(a.args + a.kwonlyargs, given + a.kw_defaults, strict=True)
            rows = [(p.arg, default and ast.unparse(default)) for p, default in all_of]
            found[key] = rows[: len(given)], dict(rows)
        else:
            found.setdefault(key, line.partition(" = ")[2])
    return found


PARTS = {row.old: row for row in ROWS
         if row.kind in ("setting", "attribute") and re.search("[,.]", row.new or "")}  # fmt: skip
"""Settings that became several, or a part of others."""
NEW = {row.old: row.new for row in ROWS if row.new and row.old not in PARTS}


def renamed(key, entry):
    """What is listed, under today's names."""
    owner, dot, member = key.rpartition(".")
    owner = NEW.get(owner, owner)
    key = f"{owner}{dot}{NEW.get(f'{owner}{dot}{member}', member)}"
    if isinstance(entry, str):
        return key, entry
    entry = [{word: value for word, value in dict(part).items() if f"{key}.{word}" not in PARTS}
             for part in entry]  # fmt: skip
    words = {word: NEW.get(f"{key}({word})", NEW.get(f"{key}.{word}", word)) for word in entry[1]}
    places, defaults = ([(words[word], value) for word, value in part] for part in
                        (entry[0].items(), entry[1].items()))  # fmt: skip
    return key, (places, dict(defaults))


WAS = dict(
    renamed(*item) for item in listed((FIXTURES / "api.txt").read_text(encoding="utf-8")).items()
    if item[0] not in PARTS
)  # fmt: skip
TODAY = listed(runpy.run_path(ROOT / "docs/scripts/reference.py")["listing"]())
TUNED = re.compile(r"\w+(Settings|Model)$")
"""Classes whose defaults may become better."""


@pytest.mark.parametrize("name", [name for name in WAS if name not in CHANGED])
def test_a_public_name_can_be_used_as_it_was(name):
    assert name in TODAY
    if isinstance(WAS[name], str):
        assert TODAY[name] == WAS[name] or not WAS[name]
        return
    (places, was), (new_places, now) = WAS[name], TODAY[name]
    gone = {word for word in was if f"{name}({word})" in CHANGED}
    assert was.keys() - gone <= now.keys()
    assert gone or new_places[: len(places)] == places or TUNED.match(name)
    assert not [word for word in now.keys() - was.keys() if now[word] is None and not gone]
    if not TUNED.match(name):
        assert {word: now[word] for word in was.keys() - gone} == {
            word: was[word] for word in was.keys() - gone
        }


@pytest.mark.parametrize("row", PARTS.values(), ids=PARTS)
def test_a_setting_that_became_several_works_with_a_warning(row):
    kind = getattr(iv, row.owner)
    with pytest.deprecated_call():
        value = getattr(kind(), row.name)
    if row.kind == "setting":
        with pytest.deprecated_call():
            assert kind(**{row.name: value}) == kind()
    if "," in (row.new or "") and row.kind == "setting":
        with pytest.deprecated_call(), refused(row.name, "renamed"):
            kind(**{row.name: value[:-1]})


@pytest.mark.parametrize("key", [key for key in CHANGED if re.split(r"\W", key)[0] in WAS])
def test_what_is_gone_is_refused_with_what_to_use(key):
    owner, *rest = re.split(r"[.()]+", key.rstrip(")"))
    with works_or_says(key):
        if "(" in key:
            getattr(iv, owner)(**{rest[0]: True})
        elif rest:
            getattr({"Atlas": iv.read_atlas(FILES / "office.atlas")}[owner], rest[0])
        else:
            getattr(iv, owner)
