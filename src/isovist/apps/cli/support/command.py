"""Commands whose errors name options as the command line does."""

from typing import Any

from typer.core import TyperCommand

from isovist.errors import InputError

PARAMETERS = {("ros", "map"): "map_topic", ("check", "map"): "name"}
"""Parameters of commands by the field of an error, where the two have different names."""


class Verb(TyperCommand):
    """Command whose errors name options such as `--scan-topic`, not fields such as `scan_topic`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; in errors, replace the name of a field by that of its option."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            options = {
                str(p.name): p.opts[-1] for p in self.params if p.param_type_name == "option"
            }
            for (verb, field), parameter in PARAMETERS.items():
                if verb == self.name:
                    options[field] = options[parameter]
            error.args = (error.text_with(options),)
            raise
