"""``unnaive explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.cli.options import ModelFile, Quiet, SomeTarget

MOST_BYTES = 1 << 28  # of rows that a page is made from; of more, a random part is taken


def explain(
    model: ModelFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="HTML file to write.", show_default=False)
    ],
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to measure and to show; without them, the page starts from an empty row.",
        ),
    ] = None,
    target: SomeTarget = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write one page that shows a model: its quality, its evidence, what-if, its tree.

    The page is one HTML file that needs no network. Rows without known classes will do; rows that
    the model has not learned from tell more.

    [bold]Example:[/] unnaive explain loans.unv new-loans.csv --target outcome -o report.html
    """
    from unnaive.cli.console import progress
    from unnaive.cli.models import check_place, load_model
    from unnaive.cli.rows import nothing_known, paths_of, rows_for, target_among
    from unnaive.common.wording import counted
    from unnaive.explain.report import report

    check_place(out)
    fitted = load_model(model)
    with progress(quiet) as bar, paths_of(data or []) as paths:
        X, y = nothing_known(fitted.schema_), None
        if data:
            bar("reading")
            label = target_among(fitted.schema_, paths, target, needed=False)
            X, y = rows_for(fitted.schema_, paths, label, MOST_BYTES)
        bar(f"explaining, {counted(len(X), 'row')}")
        report(fitted, X, y, title=title).save(out)
    if not quiet:
        judged = "nothing was measured" if y is None else f"measured on {counted(len(X), 'row')}"
        print(f"written to {out}; {judged}")
