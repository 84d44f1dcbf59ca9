"""Write a view as one file that needs nothing else: it opens from a disk, without the studio.

The page holds the map as an image, the marks that were drawn on it and the text beside it, and the
modules that draw them as `data:` URLs.
"""

import base64
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import isovist as iv

STATIC = Path(__file__).parent / "static"
"""Folder of the files of the page."""
MODULES = ("marks.js", "pens.js", "plan.js", "stage.js", "shared.js")
VIEW_FIELDS = ("title", "site", "image", "marks", "panel", "view", "picture")


def share_page(view: Mapping[str, Any]) -> str:
    """Return a self-contained HTML page of a view that the browser sent."""
    title = view.get("title")
    if not isinstance(title, str) or not isinstance(view.get("marks"), list):
        raise iv.InputError("A view to share needs a `title` and `marks`.", code="missing")
    title = title.encode("utf-8", "replace").decode()  # replace half characters
    fields = {name: view.get(name) for name in VIEW_FIELDS}
    # The end of a script cannot stand inside one.
    data = json.dumps(fields, separators=(",", ":")).replace("<", "\\u003c")
    imports = {f"studio/{name}": _data_url(name) for name in MODULES}
    style = (STATIC / "studio.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n"
        f'<script type="importmap">{json.dumps({"imports": imports})}</script>\n</head>\n'
        f'<body class="shared">\n<script type="application/json" id="shown">{data}</script>\n'
        '<script type="module">import { open } from "studio/shared.js"; open();</script>\n'
        "</body>\n</html>\n"
    )


def _data_url(module: str) -> str:
    data = base64.b64encode((STATIC / module).read_bytes()).decode("ascii")
    return f"data:text/javascript;base64,{data}"
