"""``unnaive evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unnaive.cli import options as opt
from unnaive.cli.console import progress, say, show_table
from unnaive.common.wording import amount, counted

if TYPE_CHECKING:
    from unnaive.cli.rows import CsvText
    from unnaive.explain import Quality

MOST_CLASSES = 12
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)  # of the rows, in the table of gains


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
    from unnaive.cli.models import decide, load_model
    from unnaive.cli.rows import CsvText, find_target, paths_of

    fitted = decide(load_model(model), threshold, positive, cost)
    with paths_of(data) as paths, progress(quiet) as bar:
        label = find_target(fitted.schema_, paths, target)
        assert label is not None
        quality, unlabelled = measure(
            fitted, paths, label, weight, bar, CsvText(decimal, na_values)
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
    area = "ROC AUC"
    if quality.roc_auc_error >= 5e-5:  # else it does not show
        area += f" (within {quality.roc_auc_error:.4f})"
    figures = {
        "accuracy": quality.accuracy,
        "log loss": quality.log_loss,
        area: quality.roc_auc,
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
    model: Any, paths: list[str], target: str, weight: str | None, bar: Any, csv: CsvText
) -> tuple[Quality, int]:
    """Quality on labelled rows, piece by piece, and the number of rows without a label."""
    import numpy as np

    from unnaive.cli.rows import read_pieces, read_weights
    from unnaive.explain.quality import QualityParts, with_other_labels

    index = {label: k for k, label in enumerate(model.classes_.tolist())}
    text = {str(label): k for label, k in index.items()}
    total: QualityParts | None = None
    unlabelled, decision = 0, model.answer_.decision
    others = list(filter(None, (target, weight)))
    for X, extra in read_pieces(model.schema_, paths, others, bar, csv):
        labels = extra[target].to_pylist()
        # A class may be a number in one file and text in another.
        groups = np.array(
            [index.get(v, text.get(str(v), len(index))) for v in labels], dtype=np.intp
        )
        labelled = np.array([v is not None and v == v for v in labels])
        unlabelled += int((~labelled).sum())
        if not labelled.any():
            continue
        w = None if weight is None else read_weights(extra[weight], weight)[labelled]
        p = np.asarray(model.predict_proba(X))
        new = QualityParts.counted(p[labelled], groups[labelled], w, decision)
        total = new if total is None else total + new
    if total is None or not total.sums.confusion.sum():
        raise ValueError(f"no row has a label in column {target!r}, or all weights are 0.")
    classes = with_other_labels(model.classes_, total)
    return total.facts(classes, len(index), decision), unlabelled
