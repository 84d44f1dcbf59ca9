"""Show progress on what takes more than a second, where standard error is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext


@contextmanager
def bar(task: str, *, is_silent: bool = False) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on standard error; yield a function to call with the share done.

    Args:
        task: Name of the work, shown beside the bar.
        is_silent: Show no bar, for commands that print while they work.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(task), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    is_silent = is_silent or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_silent) as progress:
        number = progress.add_task(task, total=1.0)
        yield lambda share: progress.update(number, completed=share)


@contextmanager
def busy(task: str) -> Iterator[None]:
    """Show a spinner on standard error, for work of unknown length."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(task) if console.is_terminal else nullcontext():
        yield
