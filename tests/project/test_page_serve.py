"""The page on the server, followed to the letter: what it shows is what is printed."""

import asyncio
import re
import runpy
import shlex
import sys
from pathlib import Path

import httpx
import pytest
from tests.support.paths import ROOT
from tests.support.serve_door import serving

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/how-to/serve.md").read_text()


def blocks(kind):
    found = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.M | re.S)
    return [text for name, text in found if name == kind]


def curl(words, address):
    """What curl would print, of the options that the page uses."""
    method, files, rest = "GET", [], iter(words)
    for word in rest:
        if word == "-F":
            name, _, path = next(rest).partition("=@")
            method, files = "POST", [(name, (Path(path).name, Path(path).read_bytes()))]
        elif word == "-X":
            method = next(rest)
        elif word != "-s":
            url = word.replace("http://127.0.0.1:8080", address)
    text = httpx.request(method, url, files=files or None, timeout=120.0).text
    return f"{text}\n" if text else ""


def test_the_page_on_the_server_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, second = blocks("sh")[:2]
    make, serve = first.splitlines()
    assert serve == "isovist serve --library site --port 8080"
    monkeypatch.setattr(sys, "argv", make.split()[1:])
    runpy.run_path(str(ROOT / make.split()[1]), run_name="__main__")
    capsys.readouterr()
    printed = ""
    with serving(tmp_path / "site") as (server, client):
        asyncio.run(server.warm_up())
        address = str(client.base_url).rstrip("/")
        for line in second.splitlines():
            verb, *words = shlex.split(line)
            if verb == "curl":
                printed += curl(words, address)
            else:
                here = [word.replace("http://127.0.0.1:8080", address) for word in words]
                monkeypatch.setattr(sys, "argv", here)
                runpy.run_path(str(ROOT / words[0]), run_name="__main__")
                printed += capsys.readouterr().out
    assert printed == blocks("")[0]
