"""A studio that runs, for tests: its server in a thread, and a browser where there is one."""

import asyncio
import os
import shutil
import threading
from base64 import b64encode
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import httpx
import numpy as np
import pytest
import uvicorn
from tests.support.sites import PLANE, SPACE

from isovist.apps import STATIC, Access, Named, SessionStore, Site, drive, listen, studio_app

FLAGS = (
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--disable-accelerated-2d-canvas", "--disable-gpu-compositing",
)  # fmt: skip
"""A GPU in software for what is drawn in space; putting whole pages together by it takes a second
of processor time each, so that is left to Chromium's own way."""
DROP = """async (files) => {
  const carrier = new DataTransfer();
  for (const [name, text] of files)
    carrier.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
  dispatchEvent(new DragEvent("drop", { dataTransfer: carrier, bubbles: true, cancelable: true }));
}"""
STAY = """{
  const plain = window.setTimeout;
  window.setTimeout = (call, ms, ...more) => (ms === 9000 ? 0 : plain(call, ms, ...more));
}"""
"""Messages stay, so that no test must be faster than they."""
PARTS = (STATIC / "vendor" / "three.module.js").exists()


@lru_cache
def short_drive():
    """The first quarter of the drive of the demonstration."""
    return drive().take(np.arange(100))


def ask_within(method, path, **options):
    """The answer of a studio in this process to a request that passes no socket."""

    async def send():
        way = httpx.ASGITransport(studio_app())
        async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


@contextmanager
def running(first="plane", host="127.0.0.1", token=None):
    """The address of a studio with the two sites of the tests and a short drive."""
    store = SessionStore()
    store.logs.add("drive", Named("demo drive", short_drive()), is_pinned=True)
    store.sites.add("plane", Site("plane", PLANE.atlas, PLANE.world), is_pinned=True)
    store.sites.add("space", Site("space", SPACE.atlas, SPACE.world), is_pinned=True)
    access = Access(host, () if token is None else (token,), in_page=True)
    listener = listen("127.0.0.1", 0)  # who asks before the server runs waits for it
    config = uvicorn.Config(studio_app(store, access, first), log_level="warning", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20.0)


def packed(path):
    """The bytes of a file as text that a page unpacks at once; a list of numbers takes seconds."""
    return b64encode(path.read_bytes()).decode()


def drop(page, *paths):
    """Drop files on a page."""
    page.evaluate(DROP, [[path.name, packed(path)] for path in paths])


@contextmanager
def browser():
    """Chromium of the system, or Playwright's own; skips with a line where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with api.sync_playwright() as play:
        own = Path(play.chromium.executable_path)
        if found is None and not own.exists():
            pytest.skip("no Chromium: install Debian's `chromium`, or run `playwright install`")
        program = play.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield program
        finally:
            program.close()


class Visit:
    """A page of the studio, with all that went wrong on it and whatever it asked of others."""

    def __init__(self, program, address, *, size=(1280, 720), dark=False, offline=False):
        self.address = address
        scheme = "dark" if dark else "light"
        self.context = program.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, offline=offline
        )
        self.context.add_init_script(STAY)
        self.page = self.context.new_page()
        self.page.set_default_timeout(45_000)
        self.errors, self.outside = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", self._asked)

    def _heard(self, message):
        # The browser itself notes answers with an error code; the page shows their text.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _asked(self, request):
        if not request.url.startswith((self.address, "data:", "blob:", "file:", "about:")):
            self.outside.append(request.url)

    def open(self, path="/", *, size=None):
        if size is not None:
            self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.goto(self.address + path)
        self.page.wait_for_selector("body[data-ready=yes]")
        return self.page

    def close(self):
        self.context.close()
        assert self.errors == []
        assert self.outside == []
