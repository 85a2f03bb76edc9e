"""What commands print: tables in colour on a terminal, plain text into a pipe."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from unnaive.common.wording import printable, printable_lines

if TYPE_CHECKING:
    from unnaive.common.progress import Progress
    from unnaive.estimator import RowProgress

STEPS = 1000  # of a bar


class Bar(Protocol):
    """Progress of a command."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None: ...


def say(text: str = "") -> None:
    """Print text without what steers a terminal: values of a table may be in it."""
    print(printable_lines(text))


def print_error(text: str) -> None:
    """Print one line on standard error."""
    print(printable(f"unnaive: {text}"), file=sys.stderr, flush=True)


class SafeTerminal:
    """Standard output for rows and statements: exact in a pipe, cleaned on a terminal."""

    def __init__(self) -> None:
        self._pending = codecs.getincrementaldecoder("utf-8")("replace")
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write bytes of text in UTF-8."""
        data = bytes(data)
        if sys.stdout.isatty():
            sys.stdout.write(printable_lines(self._pending.decode(data)))
        else:
            sys.stdout.buffer.write(data)
        return len(data)

    def flush(self) -> None:
        """Flush standard output."""
        sys.stdout.flush()


def show_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", left: int = 1
) -> None:
    """Print rows under heads; the first columns are aligned to the left, others to the right."""
    title = printable(title)
    heads = [printable(head) for head in heads]
    rows = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", title_style="bold")
        for j, head in enumerate(heads):
            table.add_column(Text(head), justify="left" if j < left else "right")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        Console(highlight=False).print(table)
        return
    from unnaive.common.facts import align

    say("\n".join([*([title] if title else []), *align([list(heads), *map(list, rows)], left)]))


def count_rows(name: str, n_rows: int | None, bar: Bar | None) -> Progress:
    """Return a pass over rows whose progress a bar shows."""
    from unnaive.common.progress import Progress

    hook = None if bar is None else lambda rows: _show_facts(bar, rows.facts())
    return Progress(name, n_rows, hook=hook)


def bar_callback(bar: Bar) -> RowProgress:
    """Return a callback that shows the passes of a fit."""
    from unnaive.estimator import RowProgress

    return RowProgress(lambda facts: _show_facts(bar, facts))


def _show_facts(bar: Bar, facts: dict[str, Any]) -> bool:
    share, words = facts["share"], " ".join(filter(None, (facts.get("number"), facts["text"])))
    bar(words, *(() if share is None else (round(STEPS * share), STEPS)))
    return False  # do not stop


@contextmanager
def progress(quiet: bool = False) -> Iterator[Bar]:
    """Show a bar on standard error, if that is a terminal, until all is done."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_args, **_describe: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)

        def update(what: str, done: int = 0, total: int | None = None) -> None:
            shown.update(task, description=printable(what), completed=done, total=total)

        yield update
