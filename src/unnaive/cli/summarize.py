"""``unnaive summarize``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.cli.console import say
from unnaive.cli.options import Data, Decimal, NaValues, NewModelFile, Quiet


def summarize(
    data: Data,
    schema: Annotated[
        Path,
        typer.Option(
            "--schema",
            metavar="PLAN",
            help="Plan of columns and parameters, as unnaive plan writes it.",
            show_default=False,
        ),
    ],
    out: NewModelFile,
    decimal: Decimal = None,
    na_values: NaValues = None,
    quiet: Quiet = False,
) -> None:
    """Count the rows of one site by a common plan; unnaive merge adds the parts of all sites.

    The merged model is that of all rows, cuts included, though no row has left its site. A part
    holds counts, not rows; it is a model file like any other, and is not anonymous.

    [bold]Example:[/] unnaive summarize north.parquet --schema plan.json -o north.unv
    """
    from unnaive.cli.console import progress
    from unnaive.cli.models import check_writable, save_model
    from unnaive.cli.rows import CsvText, paths_of, update_scan
    from unnaive.common.wording import counted, size_words
    from unnaive.living.plan import Plan

    check_writable(out)
    plan = Plan.read(schema)
    with paths_of(data) as paths, progress(quiet) as bar:
        bar("counting")
        text = CsvText(decimal, na_values)
        model = plan.summarize(update_scan(plan.schema, paths, plan.target, plan.weight, text))
    size = save_model(model, out)
    if not quiet:
        assert model.summary_ is not None
        say(f"{counted(model.summary_.n_rows, 'row')} counted in {out}: {size_words(size)}")
