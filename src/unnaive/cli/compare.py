"""``unnaive compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from unnaive.cli import options as opt
from unnaive.cli.console import progress, say

Models = Annotated[
    str, opt.option("--models -m", "NAMES", "Models to compare, separated by commas.")
]
TimeLimit = Annotated[
    float | None, opt.option("--time", "SECONDS", "Time budget; the cheapest models come first.")
]
Criterion = Annotated[
    str,
    opt.option(
        "--by",
        "MEASURE",
        "Sort and choose by log_loss, accuracy, brier, calibration_error, auc (roc_auc), "
        "average_precision, f1 or ks (Kolmogorov-Smirnov).",
    ),
]
Folds = Annotated[int, opt.option("--cv", "NUMBER", "Number of cross-validation folds.", min=2)]
Repeats = Annotated[
    int, opt.option("--repeats", "NUMBER", "Number of times rows are dealt into folds.", min=1)
]
BestModelFile = Annotated[
    Path | None, opt.option("--out -o", "FILE", "Write the best model to this file.")
]
ResultsFile = Annotated[
    Path | None, opt.option("--results", "FILE", "Write the table to this CSV or Parquet file.")
]


def compare(
    data: opt.Data,
    target: opt.Target,
    models: Models = "all",
    time_budget: TimeLimit = None,
    by: Criterion = "log_loss",
    cv: Folds = 5,
    repeats: Repeats = 1,
    weight: opt.Weight = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    out: BestModelFile = None,
    results: ResultsFile = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
) -> None:
    """Cross-validate models side by side on the same folds.

    [bold]Example:[/] unnaive compare loans.csv --target outcome --time 60 -o best.unv
    """
    import pyarrow as pa

    from unnaive.choose import compare as run
    from unnaive.cli.models import check_writable, save_model
    from unnaive.cli.predict import check_out, writing
    from unnaive.cli.rows import CsvText, paths_of, read_rows

    if out is not None:
        check_writable(out)
    if results is not None:
        check_out(str(results), "--results")
    names = [name.strip() for name in models.split(",") if name.strip()]
    with paths_of(data) as paths, progress(quiet) as bar:
        rows = read_rows(paths, target, weight, drop, bar, text=CsvText(decimal, na_values))
        comparison = run(
            rows.features,
            rows.labels,
            models=None if names == ["all"] else names,
            criterion=by,
            cv=cv,
            repeats=repeats,
            time_budget=time_budget,
            categorical_features=categorical or "from_dtype",
            sample_weight=rows.weight,
            random_state=seed,
            n_jobs=jobs,
            progress=bar,
        )
    if out is not None:
        save_model(comparison.best_, out)
    if results is not None:
        with writing(str(results)) as write:
            write(pa.table(comparison.to_dict()))
    if quiet:
        return
    if not rows.complete:
        say(f"compared on a random sample of {len(rows.table):,} of {rows.n_rows:,} rows")
    comparison.show()
    if out is not None:
        say(f"\n{comparison.best_name_} written to {out}")
