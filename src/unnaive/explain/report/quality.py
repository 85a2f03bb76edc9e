"""Quality of the model as the page shows it: on the rows passed."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.common.wording import counted
from unnaive.explain.model import label_names
from unnaive.explain.quality import Quality

NAN = float("nan")
TINTS = 9  # shades of the confusion matrix


def quality_view(facts: Quality) -> dict[str, Any]:
    """What the template shows."""
    names = label_names(facts.classes)
    return {
        "rows": counted(facts.n_rows, "row"),
        "figures": _figures(facts),
        "names": names,
        "confusion": _confusion(facts),
        "by_class": _by_class(facts),
        "decision": None if facts.decision is None else facts.decision.describe(facts.classes),
    }


def _figures(facts: Quality) -> list[dict[str, str]]:
    always = f"{_percent(facts.majority)} by always predicting the most frequent class"
    shares = facts.confusion.sum(axis=1) / facts.weight
    there = shares[shares > 0]
    chance = float((there * -np.log(there)).sum()) + 0.0  # of one class: 0, not -0
    always_shares = f"{chance:.3f} by always predicting the class frequencies"
    figures = [
        (_percent(facts.accuracy), "accuracy", always),
        (f"{facts.log_loss:.3f}", "log loss", always_shares),
        *_ranking_figures(facts),
    ]
    return [dict(zip(("value", "name", "beside"), figure, strict=True)) for figure in figures]


def _ranking_figures(facts: Quality) -> list[tuple[str, str, str]]:
    """Figures of how well rows are ranked, and what decisions cost, where there are any."""
    several = len(facts.curves) > 2
    of = "mean over classes, each against the rest" if several else "0.500 by chance"
    figures = []
    if facts.roc_auc == facts.roc_auc:
        figures.append((f"{facts.roc_auc:.3f}", "ROC AUC", of))
    if facts.kolmogorov_smirnov == facts.kolmogorov_smirnov:
        text = "greatest distance between the classes' scores"
        figures.append((f"{facts.kolmogorov_smirnov:.3f}", "Kolmogorov-Smirnov", text))
    if facts.decision is not None:
        figures.append((f"{facts.mean_cost:.4g}", "cost of a row", "on average, by the decision"))
    return figures


def _by_class(facts: Quality) -> list[dict[str, str]]:
    """Precision, recall, F1 and areas of every class."""
    rows = facts.confusion.sum(axis=1)
    lines = []
    for c, name in enumerate(label_names(facts.classes)):
        area = facts.curves[c].roc_auc if c < len(facts.curves) else NAN
        figures = (facts.precision[c], facts.recall[c], facts.f1[c], area)
        keys = ("precision", "recall", "f1", "roc_auc")
        cells = {k: f"{v:.3f}" if v == v else "" for k, v in zip(keys, figures, strict=True)}
        lines.append({"name": name, "rows": f"{rows[c]:,.10g}", **cells})
    return lines


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
