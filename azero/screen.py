"""What the commands have in common at the terminal: a progress bar for games, and tables."""

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

_MIN_WIDTH = 108  # of tables: the widest of `azero.evaluate`


def progress_bar() -> Progress:
    """A bar on standard error that counts games and leaves nothing behind; silent where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def report_console() -> Console:
    """Where tables go: standard output, and on a narrow terminal rather a line too long than a number cut off."""
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, _MIN_WIDTH)
    return console


def text_table(first: str, *others: str) -> Table:
    """An empty table with one column for names and others for numbers, which stand to the right."""
    table = Table(box=None, header_style="dim", padding=(0, 1))
    table.add_column(first, overflow="fold")  # a name cut short may be another's
    for header in others:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], num_names: int = 1) -> str:
    """A table in Markdown; after the first `num_names` columns, what is in them stands to the right."""
    marks = ["---"] * num_names + ["---:"] * (len(header) - num_names)
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, marks, *rows))
