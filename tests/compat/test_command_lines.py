"""Command lines of an earlier version: the same answers, keys and options."""

import json
import re
import shlex
import shutil

import pytest
from tests.compat.shared import CHANGED, FILES, FIXTURES, options_of
from tests.support.program import command

LINES = json.loads((FIXTURES / "lines.json").read_text(encoding="utf-8"))
OPTIONS = json.loads((FIXTURES / "options.json").read_text(encoding="utf-8"))
WORDS = {"advice", "text", "note", "example"}
"""Keys of words for people."""
GONE = {"certificate"}
"""Keys that are null now."""
EFFORT = re.compile(r"(_ms|_s|ms|seconds|lookups|nbytes|map_checksum)$")
"""Keys of what differs from run to run or from version to version."""


def differences(was, now, key=""):
    """Yield where new output is not what the old one was; new keys are allowed."""
    if isinstance(was, bool) or was is None or key in WORDS:
        same = now is was if key not in WORDS else type(now) is type(was)
    elif isinstance(was, dict):
        same = isinstance(now, dict) and was.keys() <= now.keys()
        for name in was if same and key != "timing_ms" else ():
            if name in GONE:
                yield from differences(None, now[name], name)
            else:
                yield from differences(was[name], now[name], name)
    elif isinstance(was, list):
        *_, last = was or [None]
        more = int(last.split()[1]) if isinstance(last, str) and last.startswith("and ") else None
        items = was if more is None else was[:-1]
        same = isinstance(now, list) and len(now) == len(items) + (more or 0)
        for a, b in (
            zip(items, now if more is None else [now[0], now[-1]], strict=False) if same else ()
        ):
            yield from differences(a, b, key)
    elif isinstance(was, int | float):
        number = isinstance(now, int | float) and not isinstance(now, bool)
        same = number and (bool(EFFORT.search(key)) or now == pytest.approx(was, 1e-6, 1e-6))
    else:
        same = now == was or (isinstance(now, str) and bool(EFFORT.search(key)))
    if not same:
        yield f"{key}: {str(was)[:100]} was told, {str(now)[:100]} is"


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_a_command_line_says_what_it_said(line, typed, tmp_path, monkeypatch):
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for part in line.split(" && "):
        code, out, err = typed(*shlex.split(part)[1:])
    was = LINES[line]
    if line in CHANGED:
        assert code == 2
        assert CHANGED[line][1] in err
        return
    assert (code or 0) == was["exit"], err
    if was["said"] is None:
        return
    try:
        said = [json.loads(out)]
    except json.JSONDecodeError:
        said = [json.loads(row) for row in out.splitlines()]
    assert not [*differences(was["said"], said)]


@pytest.mark.parametrize("verb", OPTIONS)
def test_a_verb_takes_the_options_that_it_took(verb):
    today = options_of(command()).get(verb, {})
    for word, (kind, count, needed, default) in OPTIONS[verb].items():
        key = f"isovist {verb} {word}"
        if key not in CHANGED:
            assert word in today or not word.startswith("-"), key
            assert today.get(word, [kind, count, needed, default])[:2] == [kind, count], key
            assert today.get(word, [kind, count, needed, default])[3] == default, key
    for word, (_, _, needed, _) in today.items():
        was_needed = OPTIONS[verb].get(word, [None, None, False, None])[2]
        assert not needed or was_needed or not word.startswith("-"), word
