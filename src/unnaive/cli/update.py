"""``unnaive update``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from unnaive.cli import options as opt
from unnaive.cli.console import bar_callback, progress, say

if TYPE_CHECKING:
    from unnaive.cli.rows import CsvText

ChangedModel = Annotated[
    Path | None,
    opt.option("--out -o", "FILE", "Model file to write; by default MODEL is replaced."),
]


def update(
    model: opt.ModelFile,
    data: opt.Data,
    target: opt.OptionalTarget = None,
    weight: opt.Weight = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    out: ChangedModel = None,
    quiet: opt.Quiet = False,
) -> None:
    """Learn from more rows: the model becomes the one fitted on old and new rows together.

    Naive Bayes and mixtures can be updated; other models have to be fitted again.

    [bold]Example:[/] unnaive update loans.unv march.csv --target outcome
    """
    from unnaive.cli.rows import CsvText

    change_model(
        model, out, "partial_fit", data, target, weight, CsvText(decimal, na_values), quiet
    )


def change_model(
    model: Path,
    out: Path | None,
    method: str,
    data: list[str],
    target: str | None,
    weight: str | None,
    text: CsvText,
    quiet: bool,
) -> None:
    """Let a model learn or forget rows, and write it; what it decides by stays."""
    from unnaive.cli.models import check_writable, load_model, save_model
    from unnaive.cli.rows import find_target, paths_of, update_scan

    path = model if out is None else out
    check_writable(path)
    fitted = load_model(model)
    learn = method == "partial_fit"
    if not hasattr(fitted, method):
        raise ValueError(
            f"{type(fitted).__name__} cannot {'be updated' if learn else 'forget rows'}; fit it "
            f"again on all {'' if learn else 'other '}rows. Naive Bayes"
            f"{' and mixtures' if learn else ''} can."
        )
    with paths_of(data) as paths, progress(quiet) as bar:
        bar("fitting")
        label = find_target(fitted.schema_, paths, target)
        assert label is not None
        rows = update_scan(fitted.schema_, paths, label, weight, text)
        decision, classes = fitted.decision, fitted.classes_.tolist()
        getattr(fitted.set_callbacks(bar_callback(bar)), method)(rows, None)
        if decision is not None:
            if fitted.classes_.tolist() != classes:
                why = (
                    "the rows have classes that the model's decision says nothing about"
                    if learn
                    else "no row is left of a class that the model's decision is about"
                )
                raise ValueError(f"{why}; fit it again, with --threshold or --cost.")
            fitted = fitted.with_decision(decision)
    save_model(fitted, path)
    if not quiet:
        say(f"{path} updated")
