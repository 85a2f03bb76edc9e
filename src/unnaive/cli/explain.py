"""``unnaive explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.cli import options as opt
from unnaive.cli.console import progress, say
from unnaive.common.wording import counted

MAX_BYTES = 1 << 28  # of rows that a page is made from; of more, a random sample is taken


def explain(
    model: opt.ModelFile,
    out: Annotated[Path, opt.option("--out -o", "FILE", "HTML file to write.")],
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to evaluate and show; without them, the page starts from an empty row.",
        ),
    ] = None,
    target: opt.OptionalTarget = None,
    title: Annotated[str | None, opt.option("--title", "TEXT", "Heading of the page.")] = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    threshold: opt.Threshold = None,
    positive: opt.Positive = None,
    cost: opt.Cost = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write an HTML report: quality, evidence, what-if, tree.

    The report is one file that needs no network. Labelled rows that the model was not fitted on
    show its quality best; rows without labels are explained, but not evaluated.

    [bold]Example:[/] unnaive explain loans.unv new-loans.csv --target outcome -o report.html
    """
    from unnaive.cli.models import check_writable, decide, load_model
    from unnaive.cli.rows import CsvText, empty_row, find_target, paths_of, read_sample
    from unnaive.explain.report import report

    check_writable(out)
    fitted = decide(load_model(model), threshold, positive, cost)
    with progress(quiet) as bar, paths_of(data or []) as paths:
        X, y = empty_row(fitted.schema_), None
        if data:
            bar("reading")
            label = find_target(fitted.schema_, paths, target, required=False)
            text = CsvText(decimal, na_values)
            X, y = read_sample(fitted.schema_, paths, label, MAX_BYTES, text)
        bar(f"explaining, {counted(len(X), 'row')}")
        report(fitted, X, y, title=title).save(out)
    if not quiet:
        evaluated = "not evaluated" if y is None else f"evaluated on {counted(len(X), 'row')}"
        say(f"written to {out}; {evaluated}")
