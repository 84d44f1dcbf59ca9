"""Pages that are followed to the letter: what they show is what is printed."""

import asyncio
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.support.command_line import run
from tests.support.page_world import without_sentences
from tests.support.paths import ROOT
from tests.support.serve_door import serving

pytestmark = pytest.mark.slow
HERE = "http://127.0.0.1:8080"


def blocks(page, kind):
    text = (ROOT / "docs/how-to" / page).read_text(encoding="utf-8")
    return [text for name, text in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
            if name == kind]  # fmt: skip


def follow(line, address=HERE):
    """What a line of a shell prints."""
    verb, *words = shlex.split(line.replace(HERE, address))
    if verb == "python":
        command = [sys.executable, str(ROOT / words[0]), *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if verb == "mkdir":
        Path(words[0]).mkdir()
        return ""
    return curl(words) if verb == "curl" else run(*words).out


def curl(words):
    """What curl would print, of the options that the page uses."""
    method, files, rest = "GET", [], iter(words)
    for word in rest:
        if word == "-F":
            name, _, path = next(rest).partition("=@")
            method, files = "POST", [(name, (Path(path).name, Path(path).read_bytes()))]
        elif word == "-X":
            method = next(rest)
        elif word != "-s":
            url = word
    text = httpx.request(method, url, files=files or None, timeout=120.0).text
    return f"{text}\n" if text else ""


@pytest.mark.nightly
def test_the_page_on_floors_shows_what_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(blocks("floors.md", "sh")).splitlines()
    printed = without_sentences("".join(map(follow, lines))).splitlines()
    shown = without_sentences("".join(blocks("floors.md", ""))).splitlines()
    assert shown
    assert [line for line in shown if line not in printed] == []
    assert Path("alike.png").stat().st_size > 10_000


def test_the_page_on_the_server_shows_what_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = blocks("serve.md", "sh")[:2]
    make, serve = first.splitlines()
    assert serve == "isovist serve --library site --port 8080"
    follow(make)
    with serving(tmp_path / "site") as (server, client):
        asyncio.run(server.warm_up())
        address = str(client.base_url).rstrip("/")
        printed = "".join(follow(line, address) for line in second.splitlines())
    assert printed == blocks("serve.md", "")[0]
