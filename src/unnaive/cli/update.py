"""``unnaive update``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.cli.options import Data, ModelFile, Quiet, SomeTarget, Weight


def update(
    model: ModelFile,
    data: Data,
    target: SomeTarget = None,
    weight: Weight = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file to write; without it, MODEL is replaced."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Learn from more rows: the model becomes that of old and new rows together.

    Naive Bayes and mixtures can be updated; others are fitted again.

    [bold]Example:[/] unnaive update loans.unv march.csv --target outcome
    """
    from unnaive.cli.console import bar_callback, progress
    from unnaive.cli.models import check_place, load_model, save_model
    from unnaive.cli.rows import learning_scan, paths_of, target_among

    place = model if out is None else out
    check_place(place)
    fitted = load_model(model)
    if not hasattr(fitted, "partial_fit"):
        raise ValueError(
            f"a {type(fitted).__name__} cannot be updated; fit it again on all rows. "
            "Naive Bayes and mixtures can."
        )
    with paths_of(data) as paths, progress(quiet) as bar:
        bar("learning")
        label = target_among(fitted.schema_, paths, target)
        assert label is not None
        rows = learning_scan(fitted.schema_, paths, label, weight)
        fitted.set_callbacks(bar_callback(bar)).partial_fit(rows, None)
    save_model(fitted, place)
    if not quiet:
        print(f"{place} has learned the new rows")
