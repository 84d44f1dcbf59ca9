"""Verbs whose errors name options as the command line does."""

import re
from typing import Any

from typer.core import TyperCommand

from isovist.errors import FileError, InputError


class Verb(TyperCommand):
    """A command that says `--scan-topic` where the library says `scan_topic`."""

    def invoke(self, ctx: Any) -> Any:
        """Run it; an argument that the library refuses is named as the option it came from."""
        try:
            return super().invoke(ctx)
        except FileError:  # what it names is in the file
            raise
        except InputError as error:
            options = {p.name: p.opts[-1] for p in self.params if p.param_type_name == "option"}
            error.args = (_in_options(str(error), options),)
            raise


def _in_options(text: str, options: dict[Any, str]) -> str:
    """The text with `name` as `--option`, where there is such an option."""
    return re.sub(r"(?<!array )`(\w+)`", lambda found: f"`{options.get(found[1], found[1])}`", text)
