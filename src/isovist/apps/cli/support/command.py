"""Commands and groups of commands: how they print help and name options in errors."""

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from isovist.errors import InputError

DEFAULT = re.compile(r"  \[(?:env var: \w+; )?default: \(?(.*?)\)?(?:; \S*x\S*)?\]$")
"""A default value in the help of typer, perhaps with a variable and a range."""
OPTIONS = {("ros", "map"): "--map-topic", ("locate", "apart"): "--min-distance"}
"""Options by command and field of an error, where the option is not named like the field."""


class Command(TyperCommand):
    """Command with short help, whose errors name options (`--scan-topic`), not fields."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the words of the usage, such as "[OPTIONS] MAP... SCAN"."""
        pieces = []
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                name = f"{parameter.metavar}{'...' if parameter.nargs == -1 else ''}"
                pieces.append(name if parameter.required else f"[{name}]")
        return ["[OPTIONS]", *pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, one line each where the texts allow it."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                names, text = record
                text = DEFAULT.sub(r" [default: \1]", text.removesuffix("  [required]"))
                sections[f"{parameter.param_type_name.capitalize()}s"].append((names, text))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; in errors, replace the name of a field by that of its option."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            options: dict[str, str] = {}
            for parameter in self.params:
                if parameter.param_type_name == "option":
                    option = parameter.opts[-1]
                    options |= {str(parameter.name): option, option[2:].replace("-", "_"): option}
            options |= {field: name for (verb, field), name in OPTIONS.items() if verb == self.name}
            error.args = (error.text_with(options),)
            raise


class Group(TyperGroup):
    """Group whose help lists the commands by section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each section, in the order in which they were added."""
        sections: dict[str, list[Any]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            sections.setdefault(command.rich_help_panel or "Commands", []).append((name, command))
        for title, commands in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, part.get_short_help_str(80)) for name, part in commands])
