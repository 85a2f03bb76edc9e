"""Quality of the model as the page shows it: on the rows passed, and cross-validated."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unnaive.common.wording import counted
from unnaive.encode.labels import label_groups, read_target
from unnaive.explain.parts import label_names
from unnaive.explain.quality import Quality, quality_of

TINTS = 9  # shades of the confusion matrix


def cross_validated(model: Any, X: Any, y: Any, cv: Any) -> list[Quality]:
    """Quality of copies of the model, each fitted without a fold and measured on it."""
    from sklearn.model_selection import check_cv

    target = read_target(y)
    _, groups = label_groups(target)
    if not hasattr(X, "__getitem__"):  # something that only NumPy knows how to read
        X = np.asarray(X)
    folds = check_cv(cv, groups, classifier=True).split(np.zeros(len(target)), groups)
    qualities = []
    for train, test in folds:
        fitted = clone(model).fit(_safe_indexing(X, train), target[train])
        qualities.append(quality_of(fitted, _safe_indexing(X, test), target[test]))
    return qualities


def quality_view(facts: Quality, folds: list[Quality]) -> dict[str, Any]:
    """What the template shows."""
    names = label_names(facts.classes)
    return {
        "rows": counted(facts.n_rows, "row"),
        "cross": {"folds": len(folds)} if folds else None,
        "figures": _figures(facts, folds),
        "names": names,
        "confusion": _confusion(facts),
    }


def _figures(facts: Quality, folds: list[Quality]) -> list[dict[str, str]]:
    always = f"{_percent(facts.majority)} by always predicting the most frequent class"
    shares = facts.confusion.sum(axis=1) / facts.weight
    there = shares[shares > 0]
    chance = float((there * -np.log(there)).sum()) + 0.0  # of one class: 0, not -0
    passed = ", on the rows you passed" if folds else ""
    figures = [
        (_percent(facts.accuracy), f"accuracy{passed}", always),
        (
            f"{facts.log_loss:.3f}",
            f"log loss{passed}",
            f"{chance:.3f} by always predicting the class frequencies",
        ),
    ]
    weight = np.array([fold.weight for fold in folds])
    for name in ("accuracy", "log_loss") if folds else ():
        each = np.array([getattr(fold, name) for fold in folds])
        show = _percent if name == "accuracy" else "{:.3f}".format
        mean, spread = show(float(weight @ each / weight.sum())), show(float(each.std()))
        title = f"{name.replace('_', ' ')}, cross-validated"
        figures.append((mean, title, f"standard deviation {spread} over {len(folds)} folds"))
    return [dict(zip(("value", "name", "beside"), figure, strict=True)) for figure in figures]


def _confusion(facts: Quality) -> list[list[dict[str, str]]]:
    """Cells with a shade by their share of the true class."""
    names, total = label_names(facts.classes), facts.confusion.sum(axis=1, keepdims=True)
    share = np.divide(facts.confusion, total, out=np.zeros_like(facts.confusion), where=total > 0)
    return [
        [
            {
                "text": f"{facts.confusion[i, j]:,.10g}" if facts.confusion[i, j] else "",
                "tint": f"{'right' if i == j else 'wrong'} t{int(np.ceil(TINTS * share[i, j]))}",
                "title": f"{_percent(share[i, j])} of {names[i]} predicted as {names[j]}",
            }
            for j in range(len(names))
        ]
        for i in range(len(names))
    ]


def calibration_data(facts: Quality) -> list[dict[str, Any]]:
    """Calibration curves of the classes; of two, the second: the first mirrors it."""
    calibration, n = facts.calibration, len(facts.calibration.classes)
    names = label_names(calibration.classes)
    curves = []
    for c in range(n) if n > 2 else range(n - 1, n):
        filled = calibration.weight[c] > 0
        curve = {
            key: np.round(getattr(calibration, key)[c][filled], 5).tolist()
            for key in ("predicted", "observed", "low", "high")
        }
        rows = calibration.weight[c][filled].tolist()
        curves.append({"name": names[c], "number": c, "rows": rows, **curve})
    return curves


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
