"""Progress on whatever takes more than a second; silent when nobody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext


@contextmanager
def bar(what: str, *, hidden: bool = False) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error; call what it gives with the share that is done.

    Args:
        what: Goes on.
        hidden: No bar, for verbs that print while they work.
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
    """A spinner on standard error, for work whose length nobody knows."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield
