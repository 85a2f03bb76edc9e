"""``unnaive evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unnaive.cli.options import Data, ModelFile, Quiet, SomeTarget, Weight

if TYPE_CHECKING:
    from unnaive.bayes.quality import QualitySums

MOST_CLASSES = 12


def evaluate(
    model: ModelFile,
    data: Data,
    target: SomeTarget = None,
    weight: Weight = None,
    quiet: Quiet = False,
) -> None:
    """Judge a model on rows whose classes are known.

    [bold]Example:[/] unnaive evaluate loans.unv new-loans.csv --target outcome
    """
    from unnaive.cli.console import progress, show_table
    from unnaive.cli.models import load_model
    from unnaive.cli.rows import paths_of, target_among
    from unnaive.common.wording import amount, counted

    fitted = load_model(model)
    with paths_of(data) as paths, progress(quiet) as bar:
        label = target_among(fitted.schema_, paths, target)
        assert label is not None
        sums, n_rows, without = judge(fitted, paths, label, weight, bar)
    quality = sums.quality
    print(f"{type(fitted).__name__} on {counted(n_rows, 'row')}")
    for name, value in (
        ("accuracy", quality.accuracy),
        ("log loss", quality.log_loss),
        ("Brier", quality.brier),
        ("calibration error", quality.calibration_error),
        ("most frequent class", sums.confusion.sum(axis=1).max() / sums.confusion.sum()),
    ):
        print(f"{name:20}{value:.4f}")
    if without:
        print(f"left out: {counted(without, 'row')} without a class")
    names = [str(c) for c in fitted.classes_]
    if len(sums.confusion) > len(names):
        names.append("(new to the model)")
    if not quiet and len(names) <= MOST_CLASSES:
        cells = [
            [n, *(amount(v) for v in sums.confusion[i][: len(names)])] for i, n in enumerate(names)
        ]
        print()
        show_table(["class", *(f"as {n}" for n in names)], cells)


def judge(
    model: Any, paths: list[str], target: str, weight: str | None, bar: Any
) -> tuple[QualitySums, int, int]:
    """Sums over all rows, piece by piece; classes that the model does not know come last."""
    from dataclasses import replace

    import numpy as np

    from unnaive.bayes.quality import QualitySums
    from unnaive.cli.rows import pieces_for, read_weights

    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    text = {str(label): k for label, k in place.items()}
    n_classes = len(place)
    total: QualitySums | None = None
    n_rows = without = 0
    others = [target, *([weight] if weight else [])]
    for X, aside in pieces_for(model.schema_, paths, others, bar):
        labels = aside[target].to_pylist()
        # A class may be a number in one file and text in another.
        groups = np.array(
            [place.get(v, text.get(str(v), n_classes)) for v in labels], dtype=np.intp
        )
        known = np.array([v is not None and v == v for v in labels])
        without += int((~known).sum())
        if not known.any():
            continue
        p = np.zeros((len(labels), n_classes + 1))
        p[:, :-1] = model.predict_proba(X)
        w = None if weight is None else read_weights(aside[weight], weight)[known]
        new = QualitySums.of(p[known], groups[known], w)
        total = new if total is None else total + new
        n_rows += int(known.sum())
    if total is None or not total.confusion.sum():
        raise ValueError(f"no row has a class in column {target!r}, or all weights are 0.")
    if not total.confusion[-1].any():  # all classes are known
        total = replace(total, confusion=total.confusion[:-1, :-1])
    return total, n_rows, without
