"""Commands that write models: fit, compare, update, forget, edit and merge."""

from __future__ import annotations

import ast
import difflib
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.cli import options as opt
from unnaive.cli.console import (
    bar_callback,
    print_error,
    progress,
    say,
    show_table,
)
from unnaive.common.wording import counted, printable, size_words

if TYPE_CHECKING:
    from unnaive.choose import Comparison
    from unnaive.cli.files import CsvOptions, TrainingRows
    from unnaive.table import Column

AUTO_SECONDS = 120.0  # that --model auto compares for
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
BOOLEANS |= {"false": False, "no": False, "off": False, "0": False}

# fit --------------------------------------------------------------------------------------------

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
    from unnaive.cli.files import CsvOptions, check_writable, input_paths, read_rows, save_model
    from unnaive.common.advice import UnnaiveWarning

    check_writable(out)
    estimator = make_estimator(model, settings or [], seed, jobs)
    if categorical:
        estimator = estimator._declare_categories(categorical)
    with input_paths(data) as paths, progress(quiet) as bar:
        rows = read_rows(paths, target, weight, drop, bar, CsvOptions(decimal, na_values))
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnnaiveWarning)
            fitted, comparison = learn(model, estimator, rows, cv, seed, bar)
        seconds = time.perf_counter() - start
    if compact and hasattr(fitted, "compact"):
        fitted.compact()
    fitted = opt.decide(fitted, threshold, positive, cost)
    size = save_model(fitted, out, target)
    if not quiet:
        print_report(fitted, rows, comparison, seconds)

        say(f"\nwritten to {out}: {type(fitted).__name__}, {size_words(size)}")
        for text in dict.fromkeys(str(one.message) for one in caught):
            print_error(f"warning: {text}")


def make_estimator(name: str, settings: Sequence[str], seed: int, jobs: int | None) -> Any:
    """Return the model of a short name, with the parameters of ``--set name=value``."""
    from unnaive.choose import AutoClassifier, PooledClassifier, make_model
    from unnaive.common.registry import family

    names = [*family(), "pool", "auto"]
    if name not in names:
        raise ValueError(
            f"--model: there is no model {name!r}.{_hint(name, names)} "
            f"Choose one of {', '.join(names)}."
        )
    common: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    if name == "auto":
        model = AutoClassifier(time_budget=AUTO_SECONDS, **common)
    elif name == "pool":
        model = PooledClassifier(**common)
    else:
        model = make_model(name, **common)
    model.set_params(**dict(read_setting(text, model) for text in settings))
    model._check_parameters()  # before rows are read
    return model


def read_setting(text: str, model: Any) -> tuple[str, Any]:
    """Return name and value of a parameter; the value is a Python literal, or else text."""
    name, sign, value = text.partition("=")
    name = name.strip()
    if not sign or not name:
        raise ValueError(f"--set {text!r}: write it as name=value.")
    params = model.get_params(deep=True)
    if name not in params:
        raise ValueError(
            f"--set: {type(model).__name__} has no parameter {name!r}.{_hint(name, params)} It has "
            f"{', '.join(sorted(params))}."
        )
    return name, _parse(name, value.strip(), params[name])


def _hint(name: str, choices: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, choices, 1)
    return f" Did you mean {close[0]}?" if close else ""


def _parse(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in BOOLEANS:
            raise ValueError(f"--set {name}: expected true or false; got {text!r}.")
        return BOOLEANS[text.lower()]
    if text.lower() in ("none", "null"):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"true": True, "false": False}.get(text.lower(), text)


def learn(
    name: str, model: Any, rows: TrainingRows, cv: int, seed: int, bar: Any
) -> tuple[Any, Comparison | None]:
    """Return the fitted model and, if there are folds, its cross-validation."""
    from unnaive.choose import compare

    if cv == 1:
        raise ValueError("--cv must be 2 folds or more, or 0 for none; got 1.")
    if cv == 0 and name == "auto":
        raise ValueError("--model auto chooses by cross-validation; --cv must be 2 or more.")
    if not cv or rows.n_rows < 2:
        bar("fitting")
        model.set_callbacks(bar_callback(bar))
        try:
            return model.fit(rows.scan), None
        finally:
            model.set_callbacks()
    alone: dict[str, Any] = {"models": [], "estimators": {name: model}}
    options = model.get_params(deep=False) if name == "auto" else alone
    options |= {"cv": cv, "random_state": seed, "max_rows": rows.max_rows}
    comparison = compare(
        rows.scan,
        progress=lambda what, *n: bar(f"cross-validating {what}", *n),
        **options,
    )
    best = comparison.best_
    return model._adopt(comparison, best) if name == "auto" else best, comparison


def print_report(
    model: Any, rows: TrainingRows, comparison: Comparison | None, seconds: float
) -> None:
    """Print the columns, the classes and the quality of a model."""
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
    classes = ", ".join(
        f"{printable(str(label))} {100 * n / rows.n_rows:.3g} %"
        for label, n in rows.classes.most_common(10)
    )
    more = f", and {len(rows.classes) - 10} more" if len(rows.classes) > 10 else ""
    say(f"\n{counted(rows.n_rows, 'row')}; classes of {rows.scan.target}: {classes}{more}\n")
    if comparison is None:
        say(f"fitted in {time_words(seconds)}; not cross-validated")
        return
    if comparison.n_rows_of_scan is not None:
        say(f"evaluated on a random sample of {counted(comparison.n_rows, 'row')}")
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
    most = max(rows.classes.values()) / rows.n_rows
    say(f"baseline (always the most frequent class): accuracy {most:.4f}")


# compare ----------------------------------------------------------------------------------------

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
ComparedFolds = Annotated[
    int, opt.option("--cv", "NUMBER", "Number of cross-validation folds.", min=2)
]
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
    cv: ComparedFolds = 5,
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
    from unnaive.cli.files import (
        CsvOptions,
        check_out,
        check_writable,
        input_paths,
        open_output,
        read_rows,
        save_model,
    )

    if out is not None:
        check_writable(out)
    if results is not None:
        check_out(str(results), "--results")
    names = [name.strip() for name in models.split(",") if name.strip()]
    with input_paths(data) as paths, progress(quiet) as bar:
        rows = read_rows(paths, target, weight, drop, bar, CsvOptions(decimal, na_values))
        comparison = run(
            rows.scan,
            models=None if names == ["all"] else names,
            criterion=by,
            cv=cv,
            repeats=repeats,
            time_budget=time_budget,
            categorical_features=categorical or "from_dtype",
            random_state=seed,
            max_rows=rows.max_rows,
            n_jobs=jobs,
            progress=bar,
        )
    if out is not None:
        save_model(comparison.best_, out)
    if results is not None:
        with open_output(str(results)) as write:
            write(pa.table(comparison.to_dict()))
    if quiet:
        return
    if comparison.n_rows_of_scan is not None:
        say(f"compared on a random sample of {comparison.n_rows:,} of {rows.n_rows:,} rows")
    comparison.show()
    if out is not None:
        say(f"\n{comparison.best_name_} written to {out}")


# update, forget, edit, merge --------------------------------------------------------------------

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
    from unnaive.cli.files import CsvOptions

    csv = CsvOptions(decimal, na_values)
    change_model(model, out, "partial_fit", data, target, weight, csv, quiet)


def forget(
    model: opt.ModelFile,
    data: opt.Data,
    target: opt.OptionalTarget = None,
    weight: opt.Weight = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    out: ChangedModel = None,
    quiet: opt.Quiet = False,
) -> None:
    """Unlearn rows: the model becomes the one fitted without them.

    Rows that the model cannot have learned from are refused, and no file changes. Naive Bayes can
    forget; other models have to be fitted again on the other rows.

    [bold]Example:[/] unnaive forget loans.unv withdrawn.csv --target outcome
    """
    from unnaive.cli.files import CsvOptions

    csv = CsvOptions(decimal, na_values)
    change_model(model, out, "forget", data, target, weight, csv, quiet)


def change_model(
    model: Path,
    out: Path | None,
    method: str,
    data: list[str],
    target: str | None,
    weight: str | None,
    csv: CsvOptions,
    quiet: bool,
) -> None:
    """Update a model, or let it forget rows, and write it; its decision stays."""
    from unnaive.cli.files import (
        check_writable,
        find_target,
        input_paths,
        load_model,
        model_scan,
        save_model,
    )

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
    with input_paths(data) as paths, progress(quiet) as bar:
        bar("fitting")
        label = find_target(fitted.schema_, paths, target)
        assert label is not None
        rows = model_scan(fitted.schema_, paths, label, weight, csv)
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


EditedColumn = Annotated[
    str | None, typer.Argument(metavar="COLUMN", help="Column to correct.", show_default=False)
]
EditedValue = Annotated[
    str | None,
    opt.option(
        "--value",
        "VALUE",
        "Category, or a number of the interval, that --evidence is of; without it, a missing "
        "value.",
    ),
]
NewEvidence = Annotated[
    float | None,
    opt.option("--evidence", "NATS", "What the value shall do to the log odds of the class."),
]
Flat = Annotated[bool, opt.flag("--flat", "Let the column say nothing.")]
Increasing = Annotated[
    bool | None,
    opt.flag(
        "--increasing/--decreasing",
        "Let the evidence for the class rise, or fall, with the values.",
    ),
]
Undo = Annotated[bool, opt.flag("--undo", "Take the last correction back.")]
ForClass = Annotated[
    str | None,
    opt.option("--class", "CLASS", "Class that evidence is for; by default the second of two."),
]
By = Annotated[str, opt.option("--by", "NAME", "Who makes the correction.")]
Reason = Annotated[str, opt.option("--reason", "TEXT", "Why.")]


def edit(
    model: opt.ModelFile,
    column: EditedColumn = None,
    value: EditedValue = None,
    evidence: NewEvidence = None,
    flat: Flat = False,
    increasing: Increasing = None,
    undo: Undo = False,
    label: ForClass = None,
    by: By = "",
    reason: Reason = "",
    out: ChangedModel = None,
    quiet: opt.Quiet = False,
) -> None:
    """Correct what a model has learned, on record: who, when and why are in the model file.

    `unnaive show`, pages and SQL tell of it, updates keep it, and --undo takes it back.

    [bold]Example:[/] unnaive edit loans.unv income --increasing --by Ann --reason "risk policy 7"
    """
    from unnaive.answer import edits
    from unnaive.cli.files import check_writable, load_model, save_model

    path = model if out is None else out
    check_writable(path)
    fitted = load_model(model)
    asked = [evidence is not None, flat, increasing is not None, undo]
    if sum(asked) != 1:
        raise ValueError(
            "give one of --evidence, --flat, --increasing, --decreasing and --undo; got "
            f"{sum(asked)}."
        )
    if undo:
        changed = edits.undo(fitted)
    else:
        if column is None:
            raise ValueError("name the column to correct, after the model.")
        if not by.strip():
            raise ValueError("say who makes the correction with --by.")
        names = {str(c.name): c for c in fitted.schema_}
        known = names[column].name if column in names else column
        on_record: dict[str, Any] = {"by": by, "reason": reason}
        if flat:
            changed = edits.flatten(fitted, known, **on_record)
        else:
            classes = {str(c): c for c in getattr(fitted, "classes_", [])}
            on_record["label"] = None if label is None else classes.get(label, label)
            if increasing is not None:
                changed = edits.make_monotone(fitted, known, increasing, **on_record)
            else:
                given = _read_value(value, names.get(column))
                changed = edits.edit(fitted, known, given, evidence=evidence, **on_record)  # type: ignore[arg-type]
    save_model(changed, path)
    if not quiet:
        say(f"{path} corrected")


def _read_value(value: str | None, column: Column | None) -> Any:
    """Return a value in the type of its column."""
    if value is None or column is None:
        return value
    if column.family == "level":
        return next((level for level in column.order or () if str(level) == value), value)
    if column.family == "bool":
        return {"true": True, "false": False}.get(value.lower(), value)
    if column.family == "number":
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if column.kind == "categorical" and number.is_integer() else number
    return value


def merge(
    models: Annotated[list[Path], opt.argument(metavar="MODEL", help="Model files.")],
    out: opt.NewModelFile,
    quiet: opt.Quiet = False,
) -> None:
    """Merge models of parts of the rows into the model of all rows, bit for bit.

    Naive Bayes models can be merged; they must have equal parameters.

    [bold]Example:[/] unnaive merge north.unv south.unv -o both.unv
    """
    from unnaive.cli.files import check_writable, load_model, save_model
    from unnaive.models import merge as join

    check_writable(out)
    size = save_model(join([load_model(path) for path in models]), out)
    if not quiet:
        say(f"{counted(len(models), 'model')} merged into {out}: {size_words(size)}")
