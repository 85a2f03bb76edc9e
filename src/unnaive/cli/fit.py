"""``unnaive fit``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from unnaive.cli import options as opt
from unnaive.cli.console import bar_callback, collect_advice, progress, say, show_table
from unnaive.common.wording import counted, printable, size_words

if TYPE_CHECKING:
    from unnaive.choose import Comparison
    from unnaive.cli.rows import TrainingRows

ModelName = Annotated[
    str,
    opt.option(
        "--model -m",
        "NAME",
        "One of the models below; pool: unnaive and forest together; or auto: the best of "
        "all, or their pool, by cross-validation within 120 s (--set time_budget=SECONDS).",
    ),
]
Settings = Annotated[
    list[str] | None, opt.option("--set", "NAME=VALUE", "Set a parameter of the model; repeatable.")
]
Folds = Annotated[
    int,
    opt.option(
        "--cv",
        "NUMBER",
        "Number of cross-validation folds, 0 for none.",
        min=0,
    ),
]
Compact = Annotated[bool, opt.flag("--compact", "Omit what only update and merge need.")]


def fit(
    data: opt.Data,
    target: opt.Target,
    out: opt.NewModelFile,
    model: ModelName = "unnaive",
    settings: Settings = None,
    weight: opt.Weight = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    cv: Folds = 5,
    threshold: opt.Threshold = None,
    positive: opt.Positive = None,
    cost: opt.Cost = None,
    compact: Compact = False,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
) -> None:
    """Learn a model from files and write it to a file.

    Prints the kinds of the columns and the cross-validated quality of the model. Rows that do not
    fit into memory are read block by block; quality is then measured on a random sample of them.

    [bold]Example:[/] unnaive fit loans.csv --target outcome --model nbtree --set min_node_size=50
    -o loans.unv
    """
    from unnaive.cli.models import check_writable, decide, make_estimator, save_model
    from unnaive.cli.rows import CsvText, paths_of, read_rows
    from unnaive.cli.running import print_error

    check_writable(out)
    estimator = make_estimator(model, settings or [], seed, jobs)
    if categorical:
        estimator = estimator._declare_categories(categorical)
    with paths_of(data) as paths, progress(quiet) as bar:
        rows = read_rows(paths, target, weight, drop, bar, CsvText(decimal, na_values))
        start = time.perf_counter()
        with collect_advice() as advice:
            fitted, comparison = learn(model, estimator, rows, cv, seed, bar)
        seconds = time.perf_counter() - start
    if compact and hasattr(fitted, "compact"):
        fitted.compact()
    fitted = decide(fitted, threshold, positive, cost)
    size = save_model(fitted, out, target)
    if not quiet:
        print_report(fitted, rows, comparison, seconds)

        say(f"\nwritten to {out}: {type(fitted).__name__}, {size_words(size)}")
        for text in advice:
            print_error(text, "warning")


def learn(
    name: str, model: Any, rows: TrainingRows, cv: int, seed: int, bar: Any
) -> tuple[Any, Comparison | None]:
    """The fitted model and, if there are folds, its cross-validation."""
    from unnaive.choose import compare

    if cv == 1:
        raise ValueError("--cv must be 2 folds or more, or 0 for none; got 1.")
    if cv == 0 and name == "auto":
        raise ValueError("--model auto chooses by cross-validation; --cv must be 2 or more.")
    if cv and len(rows.table) > 1:
        alone: dict[str, Any] = {"models": [], "estimators": {name: model}}
        options = model.get_params(deep=False) if name == "auto" else alone
        options |= {"cv": cv, "random_state": seed, "sample_weight": rows.weight}
        comparison = compare(
            rows.features,
            rows.labels,
            progress=lambda what, *n: bar(f"cross-validating {what}", *n),
            **options,
        )
        fitted = fit_again(comparison, rows, bar) if rows.from_files else comparison.best_
        return model._adopt(comparison, fitted) if name == "auto" else fitted, comparison
    return fit_best(model, rows, bar), None


def fit_again(comparison: Comparison, rows: TrainingRows, bar: Any) -> Any:
    """The best model of a sample, fitted on all rows; members of a pool keep their weights."""
    from unnaive.choose.pooled import refit_pool

    best = next(r for r in comparison.results if r.name == comparison.best_name_)
    if not best.pooled:
        return fit_best(best.estimator, rows, bar)
    bar("fitting the members of the pool")
    return refit_pool(comparison.best_, rows.scan)


def fit_best(model: Any, rows: TrainingRows, bar: Any) -> Any:
    """The model, fitted on all rows."""
    bar("fitting")
    model.set_callbacks(bar_callback(bar))
    try:
        if not rows.from_files:
            return model.fit(rows.features, rows.labels, rows.weight)
        return model.fit(rows.scan)
    finally:
        model.set_callbacks()


def print_report(
    model: Any, rows: TrainingRows, comparison: Comparison | None, seconds: float
) -> None:
    """Print the columns, the classes and the quality of a model."""
    from collections import Counter

    from unnaive.choose.comparison import time_words

    cells = [
        [
            str(c.name),
            c.kind if c.kind == c.family else f"{c.kind} ({c.family})",
            f"{100 * rows.missing[str(c.name)] / rows.n_rows:.3g} %",
        ]
        for c in model.schema_
    ]
    show_table(["column", "kind", "missing"], cells, left=2)
    frequency = Counter(rows.labels)
    classes = ", ".join(
        f"{printable(str(label))} {100 * n / len(rows.table):.3g} %"
        for label, n in frequency.most_common(10)
    )
    more = f", and {len(frequency) - 10} more" if len(frequency) > 10 else ""
    say(f"\n{counted(rows.n_rows, 'row')}; classes of {rows.scan.target}: {classes}{more}\n")
    if comparison is None:
        say(f"fitted in {time_words(seconds)}; not cross-validated")
        return
    if not rows.complete:
        say(f"evaluated on a random sample of {counted(len(rows.table), 'row')}")
    if len(comparison.results) > 1:
        comparison.show()
    else:
        quality = comparison.results[0].quality
        assert quality is not None
        say(
            f"{comparison.n_folds}-fold cross-validation: accuracy {quality.accuracy:.4f}, "
            f"log loss {quality.log_loss:.4f}, ROC AUC {quality.roc_auc:.4f}, Brier "
            f"{quality.brier:.4f}, calibration error {quality.calibration_error:.4f}; "
            f"{time_words(seconds)}"
        )
    most = max(frequency.values()) / len(rows.table)
    say(f"baseline (always the most frequent class): accuracy {most:.4f}")
