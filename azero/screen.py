"""What the commands have in common at the terminal: a progress bar for games, and a table."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


def progress_bar() -> Progress:
    """A bar on standard error that counts games and leaves nothing behind; silent where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def text_table(first: str, *others: str) -> Table:
    """An empty table with one column for names and others for numbers, which stand to the right."""
    table = Table(box=None, header_style="dim", padding=(0, 1))
    table.add_column(first)
    for header in others:
        table.add_column(header, justify="right", no_wrap=True)
    return table
