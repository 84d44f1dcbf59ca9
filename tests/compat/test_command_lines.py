"""Command lines of an earlier version: the same answers, keys and options."""

import re
import runpy
import shlex
import shutil

import pytest
from tests.compat.shared import CHANGED, FILES, FIXTURES, parsed, stored
from tests.support.paths import ROOT

from isovist.renamed import ROWS, rows_of, todays_words

LINES = stored("lines")
WORDS = {"advice", "text", "note", "example"}
"""Keys of words for people."""
GONE = {"certificate"}
"""Keys that are null now."""
CHANCES = {"probability", "none"}
"""Keys that depend on the other places that were found."""
EFFORT = re.compile(r"(ms|_s|seconds|lookups|nbytes|map_checksum)$")
"""Keys of what differs from run to run or from version to version."""


def differences(was, now, key=""):
    """Yield where new output is not what the old one was; new keys are allowed."""
    same = type(now) is type(was) if key in WORDS else now == was
    if isinstance(was, dict):
        same = isinstance(now, dict) and was.keys() <= now.keys()
        for name in was if same and key != "timing_ms" else ():
            yield from differences(None if name in GONE else was[name], now[name], name)
    elif isinstance(was, list):
        more = re.fullmatch(r"and (\d+) more", str(was[-1])) if was else None
        if key == "estimates":  # those that the scan excludes may be others
            was, now, more = was[:1], now[:1], None
        same = isinstance(now, list) and len(now) == (int(more[1]) + 2 if more else len(was))
        pairs = [*zip(was, now[:: len(now) - 1] if more else now, strict=False)] if same else ()
        for a, b in pairs:
            yield from differences(a, b, key)
    elif isinstance(was, int | float) and not isinstance(was, bool):
        same = isinstance(now, int | float) and not isinstance(now, bool)
        error = 0.05 if key in CHANCES else 1e-5
        same &= EFFORT.search(key) is not None or now == pytest.approx(was, rel=1e-6, abs=error)
    elif EFFORT.search(key):
        same = type(now) is type(was)
    if not same:
        yield f"{key}: {str(was)[:100]} was told, {str(now)[:100]} is"


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_a_command_line_says_what_it_said(line, typed, tmp_path, monkeypatch):
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for part in line.split(" && "):
        code, out, err = typed(*shlex.split(part)[1:])
    if line in CHANGED:
        assert code == 2
        assert CHANGED[line][1] in err
    else:
        assert (code or 0) == LINES[line]["exit"], err
        assert not [*differences(LINES[line]["said"], parsed(out))]


def options_of(page):
    """Every option with the number of its values, and its default."""
    found = {}
    for verb, text in re.findall(r"^## (isovist .*?)\n(.*?)(?=^## |\Z)", page, re.M | re.S):
        for words, means in re.findall(r"^\| `(-[^`]*)` \| (.*) \|$", text, re.M):
            names = re.findall(r"(?<!\S)--?\w[\w-]*", words)
            default = re.search(r"Default: (.*)\.$", means)
            values = len(words.split(names[-1])[-1].split())
            found |= {f"{verb} {name}": (values, default and default[1]) for name in names}
    return found


def test_every_option_is_taken_as_it_was():
    today = options_of(runpy.run_path(ROOT / "docs/scripts/reference.py")["command_line"]())
    was = options_of((FIXTURES / "command-line.md").read_text(encoding="utf-8"))
    assert len(was) > 200
    removed = tuple(f"isovist {row.old}" for row in ROWS if row.new is None)
    by_paper = ("channels", "temperature", "profile", "norm", "transform", "spacing", "basis")
    for key, said in was.items():
        verb, _, option = key.removeprefix("isovist ").rpartition(" ")
        row = rows_of("option").get(option)
        name = row.new if row else option
        if key.startswith(removed) or name == "--method":
            continue
        words = todays_words(verb.replace("map", "map LOG").split())
        if verb in ("locate", "track") and name[2:] in by_paper:
            words = ["paper", verb]
        values, default = today[f"isovist {' '.join(words[:2])} {name}".replace(" LOG", "")]
        assert (values, default if said[1] else None) == said
