"""Progress on whatever takes more than a second; silent when nobody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext


@contextmanager
def bar(what: str, *, hidden: bool = False) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on standard error; yield a function to call with the share done.

    Args:
        what: Name of the work, shown beside the bar.
        hidden: Show no bar, for commands that print while they work.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    silent = hidden or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=silent) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share: progress.update(task, completed=share)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner on standard error, for work of unknown length."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield
