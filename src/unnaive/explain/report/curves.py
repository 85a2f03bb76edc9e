"""Curves of the quality panel, and what its threshold slider shows, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Decision
from unnaive.bayes.metrics import ScoreCurve
from unnaive.explain.model import label_names
from unnaive.explain.quality import Quality

MOST_POINTS = 200  # of a curve
STEPS = 200  # of the slider
MOST_SIDES = 20  # classes with a slider


def curve_data(facts: Quality) -> list[dict[str, Any]]:
    """ROC, precision-recall and gain curves of every class that has one."""
    names = label_names(facts.classes)
    return [
        {"name": names[c], "number": c, **_points(curve)}
        for c, curve in enumerate(facts.curves)
        if curve.positives and curve.negatives
    ]


def _points(curve: ScoreCurve) -> dict[str, Any]:
    at = _spread(curve)
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


def _spread(curve: ScoreCurve) -> NDArray[np.intp]:
    """Points at about equal distances along the ROC curve, the last among them."""
    length = curve.recall + curve.false_positive_rate
    marks = np.linspace(0.0, length[-1], MOST_POINTS)
    return np.unique(np.minimum(np.searchsorted(length, marks), len(length) - 1))


def decision_data(facts: Quality) -> dict[str, Any] | None:
    """Rows above every step of a threshold, for each class against the others."""
    n = len(facts.curves)
    if not 2 <= n <= MOST_SIDES or not all(curve.positives for curve in facts.curves):
        return None
    # Costs of more than two classes are no threshold: each is then looked at by itself.
    decision, grid = facts.decision if n == 2 else None, np.linspace(0.0, 1.0, STEPS + 1)
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
    """How the model chooses a class, for the row that is tried; `U.decided` reads it."""
    if decision is None:
        return None
    costs, threshold = decision.costs.tolist(), decision.threshold
    return {"costs": costs, "threshold": threshold, "positive": decision.positive}
