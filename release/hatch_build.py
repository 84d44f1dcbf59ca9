"""Refuse to build an archive in which the studio's page would be incomplete."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Check the libraries of the page; an editable installation works without them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Stop the build with one line if a library of the page is missing or has changed."""
        if version == "editable":
            return
        script = runpy.run_path(str(Path(self.root, "release/page_parts.py")))
        why = script["fault"]()
        if why:
            self.app.abort(
                f"The studio's page is incomplete: {why}. Run `make page` first, which needs npm, "
                "or install the checkout with `pip install -e .`."
            )
