"""``unnaive drift``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.cli.console import progress, say
from unnaive.cli.options import Data, Decimal, ModelFile, NaValues, Quiet, Weight, column, option

if TYPE_CHECKING:
    from unnaive.living import Drift

DRIFTED = 3  # exit code

KnownTarget = Annotated[
    str | None,
    column(
        "--target -t",
        "Column with the classes; by default the one that the model was trained on, if the "
        "data have it.",
    ),
]


def drift(
    model: ModelFile,
    data: Data,
    target: KnownTarget = None,
    weight: Weight = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    out: Annotated[
        Path | None, option("--out -o", "FILE", "Page (.html) or figures (.json) to write.")
    ] = None,
    fail_above: Annotated[
        float | None,
        option(
            "--fail-above",
            "INDEX",
            f"Exit with {DRIFTED} if a stability index is above this, and not by chance; or "
            "if evidence has turned.",
            min=0.0,
        ),
    ] = None,
    level: Annotated[
        float, option("--level", "P", "Share of false alarms.", min=0.0, max=1.0)
    ] = 0.01,
    quiet: Quiet = False,
) -> None:
    """Compare new rows with those that a naive Bayes model learned from.

    Without classes, values are compared, and what the model predicts; with them also base rates,
    evidence and log loss.

    [bold]Example:[/] unnaive drift loans.unv march.parquet -o drift.html --fail-above 0.2
    """
    from unnaive.cli.models import check_writable, load_model
    from unnaive.cli.rows import CsvText, known_target, paths_of, update_scan
    from unnaive.living import drift as find_drift
    from unnaive.living.drift import MIN_INDEX

    if out is not None:
        check_writable(out)
        if out.suffix.lower() not in (".html", ".htm", ".json"):
            raise ValueError(f"--out {out}: the name must end in .html or .json.")
    fitted = load_model(model)
    with paths_of(data) as paths, progress(quiet) as bar:
        bar("reading")
        if target is None:
            target = known_target(fitted._about.target, paths)
        rows = update_scan(fitted.schema_, paths, target, weight, CsvText(decimal, na_values))
        index = MIN_INDEX if fail_above is None else fail_above
        result = find_drift(fitted, rows, level=level, min_index=index)
    if out is not None:
        write_drift(result, out, model.name)
    if not quiet:
        say(repr(result))
        say(repr(result.classes))
    if fail_above is not None and result.alarm:
        raise typer.Exit(DRIFTED)


def write_drift(result: Drift, out: Path, name: str) -> None:
    """Write a page or JSON, whole or not at all."""
    import json

    from unnaive.common.atomic import replacing
    from unnaive.living.display import drift_page

    is_json = out.suffix.lower() == ".json"
    text = json.dumps(result.to_dict(), indent=1) if is_json else drift_page(result, name)
    with replacing(out) as file:
        file.write(text.encode())
