"""``unnaive update``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.cli.console import say
from unnaive.cli.options import Data, Decimal, ModelFile, NaValues, OptionalTarget, Quiet, Weight


def update(
    model: ModelFile,
    data: Data,
    target: OptionalTarget = None,
    weight: Weight = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Model file to write; by default MODEL is replaced."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Learn from more rows: the model becomes the one fitted on old and new rows together.

    Naive Bayes and mixtures can be updated; other models have to be fitted again.

    [bold]Example:[/] unnaive update loans.unv march.csv --target outcome
    """
    from unnaive.cli.console import bar_callback, progress
    from unnaive.cli.models import check_writable, load_model, save_model
    from unnaive.cli.rows import CsvText, find_target, paths_of, update_scan

    path = model if out is None else out
    check_writable(path)
    fitted = load_model(model)
    if not hasattr(fitted, "partial_fit"):
        raise ValueError(
            f"{type(fitted).__name__} cannot be updated; fit it again on all rows. "
            "Naive Bayes and mixtures can."
        )
    with paths_of(data) as paths, progress(quiet) as bar:
        bar("fitting")
        label = find_target(fitted.schema_, paths, target)
        assert label is not None
        text = CsvText(decimal, na_values)
        rows = update_scan(fitted.schema_, paths, label, weight, text)
        decision, classes = fitted.decision, fitted.classes_.tolist()
        fitted.set_callbacks(bar_callback(bar)).partial_fit(rows, None)
        if decision is not None:
            if fitted.classes_.tolist() != classes:
                raise ValueError(
                    "the rows have classes that the model's decision says nothing about; fit it "
                    "again, with --threshold or --cost."
                )
            fitted = fitted.with_decision(decision)
    save_model(fitted, path)
    if not quiet:
        say(f"{path} updated")
