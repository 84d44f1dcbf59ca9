"""Other methods beside ours.

python -m benchmarks.baselines descriptors LOG_OR_MAP... [OPTIONS]
python -m benchmarks.baselines space MAP [SCANS...] [OPTIONS]
"""

import typer

from benchmarks.baselines.descriptors_command import descriptors
from benchmarks.baselines.space_command import space

app = typer.Typer(help=__doc__, no_args_is_help=True)
app.command()(descriptors)
app.command()(space)

if __name__ == "__main__":
    app()
