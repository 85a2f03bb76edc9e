"""Quality of the model on the rows passed: figures, curves, and the threshold slider."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr

from unnaive.answer import Decision
from unnaive.bayes.metrics import ScoreCurve
from unnaive.common.wording import counted
from unnaive.explain.model import label_names
from unnaive.explain.quality import Quality


def quality_view(facts: Quality) -> dict[str, Any]:
    """Return what the template shows."""
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
    """Return accuracy, log loss, how well rows are ranked and what decisions cost."""
    shares = facts.confusion.sum(axis=1) / facts.weight
    chance = float(entr(shares).sum()) + 0.0  # of one class: 0, not -0
    several = len(facts.curves) > 2
    figures = [
        (
            facts.accuracy,
            "{:.1%}",
            "accuracy",
            f"{_percent(facts.majority)} by always predicting the most frequent class",
        ),
        (
            facts.log_loss,
            "{:.3f}",
            "log loss",
            f"{chance:.3f} by always predicting the class frequencies",
        ),
        (
            facts.roc_auc,
            "{:.3f}",
            "ROC AUC",
            "mean over classes, each against the rest" if several else "0.500 by chance",
        ),
        (
            facts.kolmogorov_smirnov,
            "{:.3f}",
            "Kolmogorov-Smirnov",
            "greatest distance between the classes' scores",
        ),
        (facts.mean_cost, "{:.4g}", "cost of a row", "on average, by the decision"),
    ]
    return [
        {"value": form.format(value).replace("%", " %"), "name": name, "beside": beside}
        for value, form, name, beside in figures
        if not np.isnan(value)
    ]


def _by_class(facts: Quality) -> list[dict[str, str]]:
    """Return the precision, recall, F1 and areas of every class."""
    rows = facts.confusion.sum(axis=1)
    lines = []
    for c, name in enumerate(label_names(facts.classes)):
        area = facts.curves[c].roc_auc if c < len(facts.curves) else np.nan
        figures = (facts.precision[c], facts.recall[c], facts.f1[c], area)
        keys = ("precision", "recall", "f1", "roc_auc")
        cells = {k: f"{v:.3f}" if v == v else "" for k, v in zip(keys, figures, strict=True)}
        lines.append({"name": name, "rows": f"{rows[c]:,.10g}", **cells})
    return lines


def _confusion(facts: Quality) -> list[list[dict[str, str]]]:
    """Return cells with a shade by their share of the true class."""
    names, total = label_names(facts.classes), facts.confusion.sum(axis=1, keepdims=True)
    share = np.divide(facts.confusion, total, out=np.zeros_like(facts.confusion), where=total > 0)
    return [
        [
            {
                "text": f"{facts.confusion[i, j]:,.10g}" if facts.confusion[i, j] else "",
                "tint": f"{'right' if i == j else 'wrong'} t{int(np.ceil(9 * share[i, j]))}",
                "title": f"{_percent(share[i, j])} of {names[i]} predicted as {names[j]}",
            }
            for j in range(len(names))
        ]
        for i in range(len(names))
    ]


def calibration_data(facts: Quality) -> list[dict[str, Any]]:
    """Return the calibration curves of the classes; of two, the second: the first mirrors it."""
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


# Curves -----------------------------------------------------------------------------------------


def curve_data(facts: Quality) -> list[dict[str, Any]]:
    """Return ROC, precision-recall and gain curves of every class that has one."""
    names = label_names(facts.classes)
    return [
        {"name": names[c], "number": c, **_points(curve)}
        for c, curve in enumerate(facts.curves)
        if curve.positives and curve.negatives
    ]


def _points(curve: ScoreCurve) -> dict[str, Any]:
    # Points at about equal distances along the ROC curve, the last among them.
    length = curve.recall + curve.false_positive_rate
    marks = np.searchsorted(length, np.linspace(0.0, length[-1], 200))
    at = np.unique(np.minimum(marks, len(length) - 1))
    figures = {
        "fpr": curve.false_positive_rate,
        "tpr": curve.recall,
        "precision": curve.precision,
        "selected": curve.selected,
    }
    return {
        **{name: np.round(values[at], 5).tolist() for name, values in figures.items()},
        "prevalence": curve.prevalence,
        "area": curve.roc_auc,
        "averagePrecision": curve.average_precision,
    }


def decision_data(facts: Quality) -> dict[str, Any] | None:
    """Return rows above every step of a threshold, for each class against the others."""
    n = len(facts.curves)
    if not 2 <= n <= 20 or not all(curve.positives for curve in facts.curves):
        return None
    # Costs of more than two classes are no threshold: each is then looked at by itself.
    decision, grid = facts.decision if n == 2 else None, np.linspace(0.0, 1.0, 201)
    positive = 1 if decision is None else decision.positive
    threshold = 0.5
    if decision is not None and decision.threshold is not None:
        threshold = decision.threshold
    sides = []
    for c, curve in enumerate(facts.curves):
        start = threshold if c == positive else 1.0 - threshold
        thresholds = np.union1d(grid, [start])
        above = np.array([curve.above(t) for t in thresholds])
        sides.append(
            {
                "thresholds": thresholds.tolist(),
                "start": int(np.searchsorted(thresholds, start)),
                "true": above[:, 0].tolist(),
                "false": above[:, 1].tolist(),
                "positives": curve.positives,
                "negatives": curve.negatives,
            }
        )
    costs = np.ones((n, n)) - np.eye(n) if decision is None else decision.costs
    costs = costs - np.diag(costs)[:, None]
    return {"positive": positive, "sides": sides, "costs": costs.tolist()}


def rule_data(decision: Decision | None) -> dict[str, Any] | None:
    """Return how the model chooses a class, for the row that is tried; `U.decided` reads it."""
    if decision is None:
        return None
    costs, threshold = decision.costs.tolist(), decision.threshold
    return {"costs": costs, "threshold": threshold, "positive": decision.positive}
