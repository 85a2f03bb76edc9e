"""``unnaive evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unnaive.cli.console import say
from unnaive.cli.options import Data, Decimal, ModelFile, NaValues, OptionalTarget, Quiet, Weight

if TYPE_CHECKING:
    from unnaive.bayes.quality import QualitySums
    from unnaive.cli.rows import CsvText

MOST_CLASSES = 12


def evaluate(
    model: ModelFile,
    data: Data,
    target: OptionalTarget = None,
    weight: Weight = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    quiet: Quiet = False,
) -> None:
    """Measure the quality of a model on labelled rows.

    [bold]Example:[/] unnaive evaluate loans.unv new-loans.csv --target outcome
    """
    from unnaive.cli.console import progress, show_table
    from unnaive.cli.models import load_model
    from unnaive.cli.rows import CsvText, find_target, paths_of
    from unnaive.common.wording import amount, counted

    fitted = load_model(model)
    with paths_of(data) as paths, progress(quiet) as bar:
        label = find_target(fitted.schema_, paths, target)
        assert label is not None
        sums, n_rows, unlabelled = sum_quality(
            fitted, paths, label, weight, bar, CsvText(decimal, na_values)
        )
    quality = sums.quality
    say(f"{type(fitted).__name__} on {counted(n_rows, 'row')}")
    for name, value in (
        ("accuracy", quality.accuracy),
        ("log loss", quality.log_loss),
        ("Brier", quality.brier),
        ("calibration error", quality.calibration_error),
        ("baseline accuracy", sums.confusion.sum(axis=1).max() / sums.confusion.sum()),
    ):
        say(f"{name:20}{value:.4f}")
    if unlabelled:
        say(f"skipped: {counted(unlabelled, 'row')} without a label")
    names = [str(c) for c in fitted.classes_]
    if len(sums.confusion) > len(names):
        names.append("(unknown class)")
    if not quiet and len(names) <= MOST_CLASSES:
        cells = [
            [n, *(amount(v) for v in sums.confusion[i][: len(names)])] for i, n in enumerate(names)
        ]
        say()
        show_table(["true class", *(f"predicted {n}" for n in names)], cells, "confusion matrix")


def sum_quality(
    model: Any, paths: list[str], target: str, weight: str | None, bar: Any, csv: CsvText
) -> tuple[QualitySums, int, int]:
    """Sums over labelled rows, their number, and the number of rows without a label.

    Classes that the model does not know come last.
    """
    from dataclasses import replace

    import numpy as np

    from unnaive.bayes.quality import QualitySums
    from unnaive.cli.rows import read_pieces, read_weights

    index = {label: k for k, label in enumerate(model.classes_.tolist())}
    text = {str(label): k for label, k in index.items()}
    n_classes = len(index)
    total: QualitySums | None = None
    n_rows = unlabelled = 0
    others = list(filter(None, (target, weight)))
    for X, extra in read_pieces(model.schema_, paths, others, bar, csv):
        labels = extra[target].to_pylist()
        # A class may be a number in one file and text in another.
        groups = np.array(
            [index.get(v, text.get(str(v), n_classes)) for v in labels], dtype=np.intp
        )
        labelled = np.array([v is not None and v == v for v in labels])
        unlabelled += int((~labelled).sum())
        if not labelled.any():
            continue
        p = np.zeros((len(labels), n_classes + 1))
        p[:, :-1] = model.predict_proba(X)
        w = None if weight is None else read_weights(extra[weight], weight)[labelled]
        new = QualitySums.of(p[labelled], groups[labelled], w)
        total = new if total is None else total + new
        n_rows += int(labelled.sum())
    if total is None or not total.confusion.sum():
        raise ValueError(f"no row has a label in column {target!r}, or all weights are 0.")
    if not total.confusion[-1].any():  # all classes are known
        total = replace(total, confusion=total.confusion[:-1, :-1])
    return total, n_rows, unlabelled
