"""What has changed between two samples of rows, column by column, from their sums alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_level
from unnaive.counts import Summary
from unnaive.counts.moments import Spread
from unnaive.counts.summary import mark_whole, row_factor
from unnaive.living.columns import (
    ColumnCounts,
    Sides,
    align,
    binned,
    check_bins,
    evidence_bins,
    fine_counts,
    frequent_classes,
    watched_intervals,
)
from unnaive.living.distances import (
    PSEUDO,
    Normal,
    g_test,
    holm,
    interaction_test,
    jensen_shannon,
    normal_index,
    normal_test,
    stability_index,
    with_margins,
)
from unnaive.living.facts import ClassDrift, ColumnDrift, Drift, ValueDrift
from unnaive.living.watching import Watched, shared_intervals
from unnaive.models.merge import learns_from_sums

MIN_INDEX = 0.1  # below this, a population stability index is commonly called no change
MIN_LOSS = 0.03  # nats of log loss that a change of evidence must cost each row
SPEAKS = 0.1  # nats by which a value must favour a class, to speak for it


def compare_periods(
    a: Any,
    b: Any,
    *,
    level: float = 0.01,
    min_index: float = MIN_INDEX,
    min_loss: float = MIN_LOSS,
    n_bins: int = 10,
) -> Drift:
    """What has changed from one sample of rows to another, from their sums alone.

    Parameters
    ----------
    a, b : fitted model or Summary
        Of the earlier and of the later rows: periods of a timeline (``timeline["2024-03"]``), its
        windows (``timeline.summary(...)``), or models that learn from sums.
    level : float, default=0.01
        How often an alarm may be false when nothing has changed: tests of all columns, of evidence
        and of base rates are corrected together, by Holm's rule.
    min_index : float, default=0.1
        Population stability index from which a change of values, or of base rates, matters.
    min_loss : float, default=0.03
        Log loss, in nats for each row, from which a change of evidence matters.
    n_bins : int, default=10
        Numbers are compared in so many bins, equally frequent in ``a``.

    Returns
    -------
    Drift
        Facts with `to_frame`, `to_dict` and `alarm`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from unnaive import NaiveBayesClassifier, compare_periods
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"same": rng.normal(size=2000), "moved": rng.normal(size=2000)})
    >>> y = np.where(rows["same"] > 0, "yes", "no")
    >>> rows.loc[1000:, "moved"] += 1
    >>> first = NaiveBayesClassifier().fit(rows[:1000], y[:1000])
    >>> second = NaiveBayesClassifier().fit(rows[1000:], y[1000:])
    >>> compare_periods(first, second).drifted
    ['moved']
    """
    before, after = _sums(a), _sums(b)
    return _compare(before, after, True, (level, min_index, min_loss), n_bins)


def _sums(part: Any) -> Summary:
    if isinstance(part, Summary):
        return part
    if learns_from_sums(part):
        return part._sums("compared")
    raise TypeError(
        f"compare_periods takes sums of periods, or models that learn from sums alone, such as "
        f"NaiveBayesClassifier; got {type(part).__name__}."
    )


def drift(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    level: float = 0.01,
    min_index: float = MIN_INDEX,
    min_loss: float = MIN_LOSS,
    n_bins: int = 10,
) -> Drift:
    """What has changed from the rows that a model learned from to new ones, with labels or without.

    Parameters
    ----------
    model : NaiveBayesClassifier
        Fitted, and not made compact.
    X : table, path or `scan`
        New rows, with the columns that the model knows.
    y : array-like, name of a column, or None, default=None
        Their labels, where they are known. Without them values are compared, and what the model
        predicts for the new rows; with them also base rates, evidence and log loss.
    sample_weight : array-like, name of a column, or None, default=None
    level, min_index, min_loss, n_bins :
        As in `compare_periods`.

    Returns
    -------
    Drift

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, drift
    >>> from unnaive.datasets import load_german_credit
    >>> X, y = load_german_credit()
    >>> model = NaiveBayesClassifier().fit(X[:500], y[:500])
    >>> drift(model, X[500:]).alarm
    False
    >>> drift(model, X[500:].assign(age=X["age"][500:] + 15)).drifted
    ['age']
    """
    if not learns_from_sums(model) or not hasattr(model, "predict_proba"):
        raise TypeError(
            f"drift compares new rows with the sums that a model keeps, and "
            f"{type(model).__name__} keeps none; NaiveBayesClassifier (nb) does."
        )
    known = model._sums("compared")
    check_bins(n_bins)
    intervals = shared_intervals(model, watched_intervals(known, n_bins))
    watched = Watched.of(model, (X, y, sample_weight), intervals)
    limits = (level, min_index, min_loss)
    known = known.in_intervals(intervals)
    compared = _compare(known, watched.summary, watched.labelled, limits, n_bins)
    predicted = watched.predicted_shares(model.classes_, compared.classes.classes)
    return replace(
        compared,
        classes=replace(compared.classes, predicted=predicted),
        log_loss=watched.log_loss,
        expected_log_loss=watched.expected_log_loss,
    )


def _compare(
    before: Summary,
    after: Summary,
    labelled: bool,
    limits: tuple[float, float, float],
    n_bins: int,
) -> Drift:
    level, min_index, min_loss = limits
    check_level(level)
    check_bins(n_bins)
    sides = align(before, after, labelled=labelled)
    schema = (before.schema + after.schema).mark_whole([c.whole for c in before.schema])
    schema = mark_whole(schema, sides.coders)
    drifts = [_column(sides, j, schema.label(j), schema[j], n_bins) for j in range(len(schema))]
    drifts = [_as_normal(c, j, before, after) for j, c in enumerate(drifts)]
    rates, rate_test = _base_rates(sides, before)
    tests = [rate_test, *(p for c in drifts for p in (c.p_value, c.evidence_p_value))]
    usable = [k for k, p in enumerate(tests) if not math.isnan(p)]
    for k, p in zip(usable, holm([tests[k] for k in usable]), strict=True):
        tests[k] = p
    columns = [_judged(c, tests[2 * k + 1], tests[2 * k + 2], limits) for k, c in enumerate(drifts)]
    moved = tests[0] < level and rates.index >= min_index
    rates = replace(rates, p_value=tests[0], drifted=moved)
    columns.sort(key=lambda c: -_size(c, min_index, min_loss))
    return Drift(tuple(columns), rates, before.n_rows, after.n_rows, level)


def _size(column: ColumnDrift, min_index: float, min_loss: float) -> float:
    """How much has changed, in units of what matters; drifted columns first."""
    sizes = [column.index / max(min_index, 1e-9), column.evidence_loss / max(min_loss, 1e-9)]
    return max((s for s in sizes if not math.isnan(s)), default=0.0) + 1e6 * column.drifted


def _judged(
    column: ColumnDrift, p_value: float, evidence_p_value: float, limits: tuple[float, float, float]
) -> ColumnDrift:
    level, min_index, min_loss = limits
    moved = p_value < level and column.index >= min_index
    turned = evidence_p_value < level and column.evidence_loss >= min_loss
    return replace(
        column,
        p_value=p_value,
        evidence_p_value=evidence_p_value,
        turned=column.turned if turned else "",
        drifted=moved or turned,
    )


def _base_rates(sides: Sides, before: Summary) -> tuple[ClassDrift, float]:
    """Shares of the classes, and the p-value of their test; no test without labels."""
    labels, first = before.labels.classes, before.counts.totals
    second, index, p_value = np.full(len(labels), math.nan), math.nan, math.nan
    if sides.labelled:
        labels, (first, second) = sides.classes, sides.totals
        index, p_value = stability_index(first, second), g_test(first, second).p_value
    shares = [tuple((side / side.sum()).tolist()) for side in (first, second)]
    unknown = (math.nan,) * len(labels)
    classes = tuple(labels.tolist())
    return ClassDrift(classes, shares[0], shares[1], unknown, index, math.nan, False), p_value


def _column(sides: Sides, j: int, name: str, column: Any, n_bins: int) -> ColumnDrift:
    fine, coder = fine_counts(sides, j, column), sides.coders[j]
    nan = math.nan
    if fine is None or coder is None:
        first, second = (table.attribute(j)[:, 0].sum() for table in sides.tables)
        gaps = [float(g / t.sum()) for g, t in zip((first, second), sides.totals, strict=True)]
        none = ValueDrift(name, (), (), (), (), ())
        return ColumnDrift(name, nan, nan, nan, gaps[0], gaps[1], (), (), nan, nan, "", False, none)
    bins = binned(fine, coder, n_bins)
    before, after = bins.whole
    shown = [side / side.sum() for side in (before, after)]
    loss, p_value, turned = nan, nan, ""
    speaks = ([""] * len(before), [""] * len(before))
    if sides.labelled:
        speaks = _speakers(bins, sides.classes)
        speaking = evidence_bins(fine, coder, n_bins, sides.totals)
        if speaking is not None:
            loss, turned = _evidence_change(speaking, sides.classes[frequent_classes(sides.totals)])
            p_value = interaction_test(speaking.before, speaking.after).p_value
    return ColumnDrift(
        name,
        stability_index(before, after),
        jensen_shannon(before, after),
        g_test(before, after).p_value,
        float(shown[0][0]),
        float(shown[1][0]),
        bins.new,
        bins.vanished,
        loss,
        p_value,
        turned,
        False,
        ValueDrift(
            name,
            ("missing", *bins.words),
            tuple(shown[0].tolist()),
            tuple(shown[1].tolist()),
            tuple(speaks[0]),
            tuple(speaks[1]),
        ),
    )


def _as_normal(column: ColumnDrift, j: int, before: Summary, after: Summary) -> ColumnDrift:
    """A column of which only mean and variance are known, compared as normal densities."""
    sides = []
    for part in (before, after):
        if column.values.values or j not in part.moments.columns:
            return column
        factor = row_factor(part)
        whole = part.moments.finish().column(part.moments.columns.index(j))
        spread = Spread(*(a[:, None] for a in (whole.weight, whole.mean, whole.variance)))
        whole = spread.whole(factor)
        sides.append(Normal(float(whole.weight[0]), float(whole.mean[0]), float(whole.variance[0])))
    if not min(side.weight for side in sides):
        return column
    return replace(column, index=normal_index(*sides), p_value=normal_test(*sides).p_value)


def _given_class(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log probability of each bin given the class, smoothed: classes x bins."""
    smoothed = counts + PSEUDO
    return np.asarray(np.log(smoothed / smoothed.sum(axis=1, keepdims=True)))


def _evidence_change(bins: ColumnCounts, classes: NDArray[Any]) -> tuple[float, str]:
    """What the old evidence costs in the new rows, and the costliest value that turned.

    Old evidence are the old odds ratios between values and classes. They are given the new shares
    of values and of classes, so that changes of these alone cost nothing. What chance is expected
    to cost is taken off: half a nat for each degree of freedom, over the rows of either side.
    """
    new = bins.after + PSEUDO / bins.after.size
    old = with_margins(bins.before + PSEUDO, new)
    costs = (new * np.log(new / old)).sum(axis=0) / new.sum()
    logs = [_given_class(side) for side in (bins.before, bins.after)]
    first, second = (side.argmax(axis=0) for side in logs)
    strong = np.array([np.ptp(side, axis=0) >= SPEAKS for side in logs]).all(axis=0)
    turned = np.flatnonzero((first != second) & strong & (costs > 0))
    n_values = int(((bins.before + bins.after).sum(axis=0) > 0).sum())
    freedom = (len(bins.before) - 1) * max(0, n_values - 1)
    chance = freedom / 2 * sum(1 / max(side.sum(), 1.0) for side in (bins.before, bins.after))
    loss = max(0.0, float(costs.sum() - chance))
    if not len(turned):
        return loss, ""
    b = int(turned[np.argmax(costs[turned])])
    return loss, f"{bins.words[b]}: {classes[first[b]]} -> {classes[second[b]]}"


def _speakers(bins: ColumnCounts, classes: NDArray[Any]) -> tuple[list[str], list[str]]:
    """The class that each bin, missing first, speaks for; empty where it says little."""
    sides = []
    for gap, side in zip(bins.missing, (bins.before, bins.after), strict=True):
        logs = _given_class(np.concatenate((gap[:, None], side), axis=1))
        best, strong = logs.argmax(axis=0), np.ptp(logs, axis=0) >= SPEAKS
        rows = gap.sum(), *side.sum(axis=0)
        sides.append(
            [str(classes[c]) if s and n else "" for c, s, n in zip(best, strong, rows, strict=True)]
        )
    return sides[0], sides[1]
