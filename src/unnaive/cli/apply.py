"""Commands that use models: predict, evaluate, explain, show, drift and sql; sample tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.cli import options as opt
from unnaive.cli.console import SafeTerminal, progress, say, show_table
from unnaive.common.wording import amount, counted, printable, shortened, size_words

if TYPE_CHECKING:
    import pyarrow as pa

    from unnaive.cli.files import CsvOptions
    from unnaive.explain import Quality
    from unnaive.explain.model import PartEvidence
    from unnaive.living import Drift

MOST_CLASSES = 12
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)  # of the rows, in the table of gains
MAX_BYTES = 1 << 28  # of rows that a page is made from; of more, a random sample is taken
LONGEST = 40  # characters of a name or value
DRIFTED = 3  # exit code
SAMPLES = {
    "credit": "german credit: 1,000 real loans, mixed columns, classes good and bad",
    "loans": "generated loans: numbers, text, dates, missing values; classes repaid and defaulted",
    "electricity": "half-hours of an electricity market; classes up and down",
    "flights": "flights in the order of departure; classes delayed and on time",
}


# predict ----------------------------------------------------------------------------------------


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    out: Annotated[
        str, opt.option("--out -o", "FILE", "CSV or Parquet file; - writes CSV to standard output.")
    ] = "-",
    proba: Annotated[
        bool, opt.flag("--proba", "Also write the probability of every class.")
    ] = False,
    reasons: Annotated[
        int,
        opt.option(
            "--reasons",
            "N",
            "Also write the N strongest reasons for the predicted class, in words.",
            min=0,
            show_default=False,
        ),
    ] = 0,
    threshold: opt.Threshold = None,
    positive: opt.Positive = None,
    cost: opt.Cost = None,
    keep: opt.Keep = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write the most probable class of every row, on request its probabilities and reasons.

    With a threshold or costs, given here or kept in the model, the class to decide for is in the
    column decision.

    Rows are read and predicted piece by piece, in their order, however many there are.

    [bold]Examples:[/] unnaive predict loans.unv new-loans.parquet --proba -o answers.parquet

    cat new-loans.csv | unnaive predict loans.unv - > answers.csv
    """
    from unnaive.cli.files import (
        CsvOptions,
        check_out,
        input_paths,
        load_model,
        open_output,
        read_pieces,
    )

    check_out(out)
    fitted = opt.decide(load_model(model), threshold, positive, cost)
    if not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{type(fitted).__name__} has no classes to predict.")
    if "n_jobs" in fitted.get_params():
        fitted.set_params(n_jobs=jobs)
    n_rows = 0
    with (
        input_paths(data) as paths,
        progress(quiet or out == "-") as bar,
        open_output(out) as write,
    ):
        text = CsvOptions(decimal, na_values)
        for X, extra in read_pieces(fitted.schema_, paths, keep or [], bar, text):
            write(predictions(fitted, X, extra, proba, reasons))
            n_rows += len(X)
    if not quiet and out != "-":
        say(f"{counted(n_rows, 'row')} written to {out}")


def predictions(
    model: Any, X: pa.Table, extra: pa.Table, proba: bool, reasons: int = 0
) -> pa.Table:
    """Return the kept columns, the prediction, probabilities and reasons."""
    import pyarrow as pa

    p = model.predict_proba(X)
    labels = pa.array(model.classes_.tolist())
    columns = {name: extra[name] for name in extra.column_names}
    answer = model.answer_
    classes = {"prediction": p.argmax(axis=1)}
    if answer.decision is not None:
        classes["decision"] = answer.choose(p)
    names = [f"probability_{c}" for c in model.classes_] if proba else []
    why = [f"reason_{k + 1}" for k in range(reasons)]
    for name in (*classes, *names, *why):
        if name in columns:
            raise ValueError(
                f"--keep {name}: the predictions have a column of this name; rename yours."
            )
    for name, numbers in classes.items():
        columns[name] = labels.take(pa.array(numbers))
    for k, name in enumerate(names):
        columns[name] = pa.array(p[:, k])
    if why:
        from unnaive.explain import explain_rows

        words = explain_rows(model, X, top=reasons).words
        blank = [""] * len(words)
        for k, name in enumerate(why):
            columns[name] = pa.array(words[:, k].tolist() if k < words.shape[1] else blank)
    return pa.table(columns)


# evaluate ---------------------------------------------------------------------------------------


def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    target: opt.OptionalTarget = None,
    weight: opt.Weight = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    threshold: opt.Threshold = None,
    positive: opt.Positive = None,
    cost: opt.Cost = None,
    quiet: opt.Quiet = False,
) -> None:
    """Measure the quality of a model on labelled rows.

    With a threshold or costs, given here or kept in the model, classes are those decided for.

    [bold]Example:[/] unnaive evaluate loans.unv new-loans.csv --target outcome --threshold 0.3
    """
    from unnaive.cli.files import CsvOptions, find_target, input_paths, load_model

    fitted = opt.decide(load_model(model), threshold, positive, cost)
    with input_paths(data) as paths, progress(quiet) as bar:
        label = find_target(fitted.schema_, paths, target)
        assert label is not None
        quality, unlabelled = measure(
            fitted, paths, label, weight, bar, CsvOptions(decimal, na_values)
        )
    say(f"{type(fitted).__name__} on {counted(quality.n_rows, 'row')}")
    print_figures(quality)
    if unlabelled:
        say(f"skipped: {counted(unlabelled, 'row')} without a label")
    if not quiet:
        print_tables(quality)


def print_figures(quality: Quality) -> None:
    """Print one figure to a line."""
    if quality.decision is not None:
        say(f"decision: {quality.decision.describe(quality.classes)}")
    figures = {
        "accuracy": quality.accuracy,
        "log loss": quality.log_loss,
        "ROC AUC": quality.roc_auc,
        "average precision": quality.average_precision,
        "Kolmogorov-Smirnov": quality.kolmogorov_smirnov,
        "macro F1": quality.macro_f1,
        "Brier": quality.brier,
        "calibration error": quality.calibration_error,
        "cost of a row": quality.mean_cost,
        "baseline accuracy": quality.majority,
    }
    for name, value in figures.items():
        if value == value:
            say(f"{name:26}{value:.4f}")


def print_tables(quality: Quality) -> None:
    """Print the confusion matrix, figures by class and, of two classes, gains and calibration."""
    names = [str(c) for c in quality.classes]
    if len(names) <= MOST_CLASSES:
        cells = [[n, *map(amount, quality.confusion[i])] for i, n in enumerate(names)]
        say()
        show_table(["true class", *(f"predicted {n}" for n in names)], cells, "confusion matrix")
        areas = [curve.roc_auc for curve in quality.curves]
        areas += [float("nan")] * (len(names) - len(areas))
        columns = zip(quality.precision, quality.recall, quality.f1, areas, strict=True)
        cells = [
            [name, *("-" if v != v else f"{v:.4f}" for v in figures)]
            for name, figures in zip(names, columns, strict=True)
        ]
        say()
        show_table(["class", "precision", "recall", "F1", "ROC AUC"], cells, "by class")
    if len(quality.curves) == 2:
        c = 1 if quality.decision is None else quality.decision.positive
        print_ranking(quality, c, names[c])
        print_calibration(quality, c, names[c])


def print_ranking(quality: Quality, c: int, name: str) -> None:
    """Print gain and lift of the rows with the highest probability of a class."""
    curve = quality.curves[c]
    if not curve.positives:
        return
    cells = [
        [f"{100 * share:g} %", f"{100 * gain:.1f} %", f"{gain / share:.2f}"]
        for share, gain in zip(SHARES, curve.gain(SHARES).tolist(), strict=True)
    ]
    say()
    title = f"rows with the highest probability of {name}"
    show_table(["rows", f"share of all {name} (gain)", "lift"], cells, title)


def print_calibration(quality: Quality, c: int, name: str) -> None:
    """Print predicted and observed frequencies of a class, with intervals."""
    bins = quality.calibration
    columns = (bins.predicted[c], bins.observed[c], bins.low[c], bins.high[c], bins.weight[c])
    cells = [
        [
            f"{100 * predicted:.1f} %",
            f"{100 * observed:.1f} %",
            f"{100 * low:.1f} to {100 * high:.1f} %",
            amount(rows),
        ]
        for predicted, observed, low, high, rows in zip(*columns, strict=True)
        if rows
    ]
    say()
    title = f"calibration: probability of {name}, predicted and observed"
    show_table(["predicted", "observed", "95 % interval", "rows"], cells, title)


def measure(
    model: Any, paths: list[str], target: str, weight: str | None, bar: Any, csv: CsvOptions
) -> tuple[Quality, int]:
    """Return the quality on labelled rows, and the number of rows without a label."""
    import numpy as np

    from unnaive.cli.files import read_pieces, read_weights
    from unnaive.encode import Labels
    from unnaive.encode.labels import known_groups
    from unnaive.explain.quality import PredictedRows
    from unnaive.table.columns import as_objects

    answer, labels, total = model.answer_, Labels(model.classes_), None
    n_rows = 0
    for X, extra in read_pieces(model.schema_, paths, [target, *filter(None, [weight])], bar, csv):
        values, row_ids = extra[target].to_pylist(), np.arange(n_rows, n_rows + len(X))
        n_rows += len(X)
        there = np.array([v is not None and v == v for v in values])
        if not there.any():
            continue
        w = None if weight is None else read_weights(extra[weight], weight)[there]
        groups = known_groups(labels, as_objects(values)[there])
        p = np.asarray(model.predict_proba(X))[there]
        part = PredictedRows.of(p, groups, w, row_ids[there], answer.decision)
        total = part if total is None else total + part
    if total is None or not total.sums.confusion.any():
        raise ValueError(f"no row has a label in column {target!r}, or all weights are 0.")
    return total.quality(answer), n_rows - total.n_rows


# explain and show -------------------------------------------------------------------------------


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
    from unnaive.cli.files import (
        CsvOptions,
        check_writable,
        empty_row,
        find_target,
        input_paths,
        load_model,
        read_sample,
    )
    from unnaive.explain.report import report

    check_writable(out)
    fitted = opt.decide(load_model(model), threshold, positive, cost)
    with progress(quiet) as bar, input_paths(data or []) as paths:
        X, y = empty_row(fitted.schema_), None
        if data:
            bar("reading")
            label = find_target(fitted.schema_, paths, target, required=False)
            text = CsvOptions(decimal, na_values)
            X, y = read_sample(fitted.schema_, paths, label, MAX_BYTES, text)
        bar(f"explaining, {counted(len(X), 'row')}")
        report(fitted, X, y, title=title).save(out)
    if not quiet:
        evaluated = "not evaluated" if y is None else f"evaluated on {counted(len(X), 'row')}"
        say(f"written to {out}; {evaluated}")


def show(
    model: opt.ModelFile,
    columns: Annotated[
        int,
        opt.option("--columns -n", "NUMBER", "Number of columns whose evidence is shown.", min=0),
    ] = 10,
    depth: Annotated[
        int | None, opt.option("--depth", "NUMBER", "Maximum depth of the tree shown.", min=0)
    ] = None,
) -> None:
    """Print a model: its parameters, columns, classes, tree and evidence.

    [bold]Example:[/] unnaive show loans.unv --columns 5
    """
    from unnaive.answer import Ensemble
    from unnaive.cli.files import load_model
    from unnaive.explain.model import BY_ROW
    from unnaive.explain.trees import export_text

    fitted = load_model(model)
    numeric = len(fitted.schema_.numeric)
    say(f"{fitted!r}")
    kinds = f"{counted(len(fitted.schema_), 'column')}, {numeric} of them numeric"
    state = model.stat()
    about = fitted._about
    written = datetime.fromtimestamp(state.st_mtime).strftime("%Y-%m-%d %H:%M")
    when = f"trained on {about.day}" if about.trained else f"written on {written}"
    say(f"{kinds}; {size_words(state.st_size)}, {when}")
    if not hasattr(fitted, "classes_"):  # a transformer or a clusterer
        return
    names = ", ".join(printable(str(c)) for c in fitted.classes_[:20])
    more = f", and {len(fitted.classes_) - 20} more" if len(fitted.classes_) > 20 else ""
    of = f" of {printable(about.target)}" if about.target else ""
    say(f"classes{of}: {names}{more}")
    decision = fitted.answer_.decision
    if decision is not None:
        say(f"decision: {decision.describe(fitted.classes_)}")
    for edit in fitted.answer_.edits:
        say(f"corrected: {edit}")
    if fitted.answer_.tree is not None:
        say(f"\n{export_text(fitted, max_depth=depth)}")
    for line in members_of(fitted):
        say(line)
    parts = find_evidence(fitted)
    core = fitted.answer_.core
    pooled = isinstance(core, Ensemble) and core.stack is None
    if pooled or any(BY_ROW in part.reasons() for part in parts):
        say(f"columns by importance: {importance_words(fitted, columns)}")
    for evidence in parts:
        heads, rows, title = evidence_rows(evidence, columns)
        if rows:
            say()
            show_table(heads, rows, title)
        for reason, without in evidence.reasons().items():
            if reason == BY_ROW:  # trees, which were shown, and forests
                continue
            some = ", ".join(shortened(name, LONGEST) for name in without[:20])
            others = f" and {len(without) - 20} more" if len(without) > 20 else ""
            say(f"no evidence of {printable(some)}{others}: {reason}")


def members_of(model: Any) -> Iterator[str]:
    """Describe the members of a pool by weight, and those that were left out."""
    from unnaive.answer import Ensemble

    pool = model.answer_.core
    if not isinstance(pool, Ensemble) or pool.stack is not None:
        return
    members = sorted(zip(pool.shares.tolist(), pool.names, strict=True), key=lambda both: -both[0])
    some = ", ".join(f"{printable(name)} {weight:.2f}" for weight, name in members[:20])
    more = f" and {len(members) - 20} more" if len(members) > 20 else ""
    yield f"{counted(len(members), 'member')} by weight: {some}{more}"
    gone = [name for name in getattr(model, "names_", ()) if name not in pool.names]
    if gone:
        yield f"left out, with weight 0: {', '.join(map(printable, gone))}"


def importance_words(model: Any, most: int) -> str:
    """Return the most important columns with their importance."""
    import numpy as np

    sizes = model.feature_importances_
    order = np.argsort(-sizes, kind="stable")[:most].tolist()
    names = (shortened(model.schema_.label(j), LONGEST) for j in order)
    return ", ".join(f"{printable(n)} {sizes[j]:.3f}" for n, j in zip(names, order, strict=True))


def find_evidence(model: Any) -> list[PartEvidence]:
    """Return the evidence of a model, or of the members of a pool; none where there is none."""
    from unnaive.explain.model import evidence_of, read_model

    try:
        reading = read_model(model)
        names = reading.parts.names
        members = names[1:] if names[0] == "pool" else ()
        return [evidence_of(reading, k) for k in range(1, len(members) + 1)] or [
            evidence_of(reading)
        ]
    except (TypeError, ValueError):
        return []


def evidence_rows(evidence: PartEvidence, most: int) -> tuple[list[str], list[list[str]], str]:
    """Return the most important columns, and for each class the value that favours it most."""
    import numpy as np

    rows = []
    names = evidence.names[:6]
    for column in evidence.ranked()[:most]:
        is_value = np.array([state == "value" for state in column.states])
        if column.form == "nothing" or not is_value.any():
            continue
        cells = []
        for c in range(len(names)):
            weights = np.where(is_value, column.weights[:, c], -np.inf)
            best = int(weights.argmax())
            cells.append(f"{shortened(column.values[best], LONGEST)} {weights[best]:+.2f}")
        rows.append([shortened(column.name, LONGEST), f"{column.importance:.3f}", *cells])
    title = f"evidence in {evidence.part}: the value that favours each class most, in log odds"
    heads = ["column", "importance", *(shortened(name, LONGEST) for name in names)]
    return heads, rows, title


# drift, sql and data ----------------------------------------------------------------------------

KnownTarget = Annotated[
    str | None,
    opt.column(
        "--target -t",
        "Column with the classes; by default the one that the model was trained on, if the "
        "data have it.",
    ),
]


def drift(
    model: opt.ModelFile,
    data: opt.Data,
    target: KnownTarget = None,
    weight: opt.Weight = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    out: Annotated[
        Path | None, opt.option("--out -o", "FILE", "Page (.html) or figures (.json) to write.")
    ] = None,
    fail_above: Annotated[
        float | None,
        opt.option(
            "--fail-above",
            "INDEX",
            f"Exit with {DRIFTED} if a stability index is above this, and not by chance; or "
            "if evidence has turned.",
            min=0.0,
        ),
    ] = None,
    level: Annotated[
        float, opt.option("--level", "P", "Share of false alarms.", min=0.0, max=1.0)
    ] = 0.01,
    quiet: opt.Quiet = False,
) -> None:
    """Compare new rows with those that a naive Bayes model learned from.

    Without classes, values are compared, and what the model predicts; with them also base rates,
    evidence and log loss.

    [bold]Example:[/] unnaive drift loans.unv march.parquet -o drift.html --fail-above 0.2
    """
    from unnaive.cli.files import (
        CsvOptions,
        check_writable,
        column_names,
        input_paths,
        load_model,
        model_scan,
    )
    from unnaive.living import drift as find_drift
    from unnaive.living.drift import MIN_INDEX

    if out is not None:
        check_writable(out)
        if out.suffix.lower() not in (".html", ".htm", ".json"):
            raise ValueError(f"--out {out}: the name must end in .html or .json.")
    fitted = load_model(model)
    with input_paths(data) as paths, progress(quiet) as bar:
        bar("reading")
        if target is None and fitted._about.target in column_names(paths):
            target = fitted._about.target
        rows = model_scan(fitted.schema_, paths, target, weight, CsvOptions(decimal, na_values))
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


def sql(
    model: opt.ModelFile,
    table: Annotated[
        str, opt.option("--table", "NAME", "Table to select from, or schema.table.")
    ] = "data",
    dialect: Annotated[
        str,
        opt.option(
            "--dialect -d", "NAME", "duckdb, postgresql, sqlite, spark, bigquery or snowflake."
        ),
    ] = "duckdb",
    threshold: opt.Threshold = None,
    positive: opt.Positive = None,
    cost: opt.Cost = None,
    keep: opt.Keep = None,
    out: Annotated[
        Path | None, opt.option("--out -o", "FILE", "File to write; default: standard output.")
    ] = None,
) -> None:
    """Print a SQL statement that computes the probability of every class in a database.

    With a threshold or costs, given here or kept in the model, it also has a column decision.

    [bold]Example:[/] unnaive sql loans.unv --table loans --dialect postgresql --keep id
    """
    from unnaive.cli.files import check_writable, load_model
    from unnaive.common.atomic import replacing
    from unnaive.store import to_sql

    if out is not None:
        check_writable(out)
    parts = table.split(".")
    name = parts if len(parts) > 1 else table
    fitted = opt.decide(load_model(model), threshold, positive, cost)
    text = to_sql(fitted, name, dialect, keep=keep or ())
    if out is None:
        SafeTerminal().write((text.rstrip("\n") + "\n").encode())
        return
    with replacing(out) as file:
        file.write((text.rstrip("\n") + "\n").encode())


def data(
    name: Annotated[str, opt.argument(help="Name of the table; without it, they are listed.")] = "",
    out: Annotated[
        str | None,
        opt.option(
            "--out -o",
            "FILE",
            "CSV or Parquet file; - is standard output. Default: NAME.csv, never replaced.",
        ),
    ] = None,
    rows: Annotated[
        int | None, opt.option("--rows -n", "NUMBER", "Number of rows of a generated table.", min=1)
    ] = None,
    seed: Annotated[int, opt.option("--seed", "NUMBER", "Random seed.", min=0)] = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Write a sample table to a file.

    [bold]Example:[/] unnaive data loans --rows 5000 -o loans.csv
    """
    if not name:
        show_table(["name", "table"], [[key, text] for key, text in SAMPLES.items()], left=2)
        return
    if name not in SAMPLES:
        raise ValueError(f"there is no table {name!r}; choose one of {', '.join(SAMPLES)}.")
    if out is None:
        out = f"{name}.csv"
        if Path(out).exists():
            raise FileExistsError(f"{out!r} exists already; replace it with -o {out}.")
    from unnaive.cli.files import check_out, open_output

    check_out(out)
    table, target = make(name, rows, seed)
    with open_output(out) as write:
        write(table)
    if not quiet and out != "-":
        say(f"{counted(len(table), 'row')} written to {out}; the classes are in column {target!r}")


def make(name: str, rows: int | None, seed: int) -> tuple[Any, str]:
    """Return a sample table whose last column is the target, and the name of that column."""
    import pyarrow as pa

    from unnaive import datasets

    params: dict[str, Any] = {"random_state": seed}
    if rows is not None:
        params["n_samples"] = rows
    if name == "credit":
        if rows is not None:
            raise ValueError("credit has 1,000 rows; --rows is for generated tables.")
        X, y = datasets.load_german_credit()
        X = X.astype(dict.fromkeys(X.columns[X.dtypes == "category"], str))
    else:
        X, y = getattr(datasets, f"make_{name}")(**params)
    table = pa.Table.from_pandas(X.assign(**{str(y.name): y}), preserve_index=False)
    return table.replace_schema_metadata(None), str(y.name)
