"""Drift between two samples of rows, from their counts in common bins."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.special import xlogy

from unnaive.answer import Answer
from unnaive.answer.nodes import GroupedClasses
from unnaive.bayes.metrics import log_losses
from unnaive.common.checks import check_level
from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.counts import CountTable, Summary
from unnaive.counts.counting import summarize_block
from unnaive.counts.summary import Wanted, row_factor
from unnaive.discretize.intervals import interval_words
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.categories import merge_categories
from unnaive.encode.coders import AnyCoder, coder_sizes, slots_in
from unnaive.encode.labels import known_groups, merge_labels, refuse_mixed
from unnaive.living.distances import (
    PSEUDO,
    g_test,
    holm,
    interaction_test,
    stability_index,
    with_margins,
)
from unnaive.table import Block, Column, Schema, Source, open_table, scan_of
from unnaive.table.records import COUNTING

MIN_INDEX = 0.1  # below this, a population stability index is commonly called no change
MIN_LOSS = 0.03  # nats of log loss that a change of evidence must cost each row
FAVOURS = 0.1  # nats by which a value must favour a class to count as evidence for it
LEAST_EXPECTED = 5  # rows of a value in either sample, or chi-squared does not describe its chance
OTHERS = "others"  # rare categories together
NAN = math.nan


@dataclass(frozen=True, slots=True, repr=False)
class ColumnDrift(Facts):
    """Changes in one column, or in the base rates; as a table, a row for each value or bin.

    Attributes
    ----------
    column : str
    values : tuple of str
        Bins and categories in words, "missing" first; of base rates, the classes.
    before, after : tuple of float
        Fraction of the rows with each value.
    favours_before, favours_after : tuple of str
        The class that each value is evidence for; empty where it favours none.
    predicted : tuple of float
        Of base rates, the mean probability of each class in the new rows.
    index : float
        Population stability index of the values, missing ones included.
    distance : float
        Jensen-Shannon distance, 0 to 1.
    p_value : float
        P-value of a G-test of equal distributions, corrected for all tests of the comparison.
    new, vanished : tuple
        Categories of one of the samples only.
    evidence_loss : float
        Log loss, in nats for each row of the new sample, that the old evidence of this column costs
        where the new evidence would be right, less what chance is expected to cost; NaN without
        labels.
    evidence_p_value : float
        P-value of a test of equal evidence, corrected likewise.
    turned : str
        The value that costs most among those that now favour another class; empty if none does.
    drifted : bool
        Whether values or evidence moved by more than chance explains, and by enough to matter.
    """

    column: str
    values: tuple[str, ...] = ()
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    favours_before: tuple[str, ...] = ()
    favours_after: tuple[str, ...] = ()
    predicted: tuple[float, ...] = ()
    index: float = NAN
    distance: float = NAN
    p_value: float = NAN
    missing_before: float = NAN
    missing_after: float = NAN
    new: tuple[Any, ...] = ()
    vanished: tuple[Any, ...] = ()
    evidence_loss: float = NAN
    evidence_p_value: float = NAN
    turned: str = ""
    drifted: bool = False

    def _columns(self) -> Columns:
        names = ("before", "after", "favours_before", "favours_after", "predicted")
        table: Columns = {"value": self.values}
        return table | {name: getattr(self, name) for name in names if getattr(self, name)}

    def _title(self) -> str:
        if math.isnan(self.index):
            return f"{self.column}: not compared"
        return f"{self.column}: stability index {self.index:.3g}, p {self.p_value:.2g}"

    def _facts(self) -> dict[str, Any]:
        """Return all facts as plain data, a record for each value."""
        table = self._columns()
        rows = zip(*table.values(), strict=True)
        facts = {name: _plain(getattr(self, name)) for name in _COLUMN_FACTS}
        lists = {"new": [str(v) for v in self.new], "vanished": [str(v) for v in self.vanished]}
        records = [dict(zip(table, map(_plain, row), strict=True)) for row in rows]
        return facts | lists | {"values": records}


_COLUMN_FACTS = (
    "column", "index", "distance", "p_value", "missing_before", "missing_after", "evidence_loss",
    "evidence_p_value", "turned", "drifted",
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Drift(Facts):
    """Changes from one sample of rows to another; as a table, a row for each column.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        Those that changed most first. ``drift["age"]`` is the one of that name.
    classes : ColumnDrift
        Base rates.
    rows_before, rows_after : int
    level : float
    log_loss, expected_log_loss : float
        Log loss of the model on the new rows, and the one that its own probabilities lead to
        expect; NaN where there are no new rows, or no labels.
    """

    columns: tuple[ColumnDrift, ...]
    classes: ColumnDrift
    rows_before: int
    rows_after: int
    level: float
    log_loss: float = NAN
    expected_log_loss: float = NAN

    @property
    def drifted(self) -> list[str]:
        """Names of the columns that have drifted."""
        return [column.column for column in self.columns if column.drifted]

    @property
    def alarm(self) -> bool:
        """Whether a column or the base rates have drifted."""
        return self.classes.drifted or bool(self.drifted)

    def __getitem__(self, name: str) -> ColumnDrift:
        """Return the drift of one column."""
        for column in self.columns:
            if column.column == name:
                return column
        raise KeyError(f"no column {name!r} was compared.")

    def _columns(self) -> Columns:
        names = (*_COLUMN_FACTS[:6], "new", "vanished", *_COLUMN_FACTS[6:])
        return {name: [getattr(c, name) for c in self.columns] for name in names}

    def _title(self) -> str:
        rows = f"{self.rows_before:,} rows before, {self.rows_after:,} after"
        if not self.alarm:
            return f"no drift: {rows}"
        what = [counted(len(self.drifted), "column")] if self.drifted else []
        what += ["the base rates"] if self.classes.drifted else []
        return f"drift of {' and '.join(what)}: {rows}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts as plain data, for JSON; NaN becomes None.

        Returns
        -------
        dict
        """
        names = ("alarm", "drifted", "level", "rows_before", "rows_after")
        losses = {name: _plain(getattr(self, name)) for name in ("log_loss", "expected_log_loss")}
        columns = [column._facts() for column in self.columns]
        facts = {name: getattr(self, name) for name in names}
        return facts | losses | {"classes": self.classes._facts(), "columns": columns}


@dataclass(frozen=True, slots=True, repr=False)
class DriftOverTime(Facts):
    """Drift of each period; as a table, one row for each period and column.

    Attributes
    ----------
    periods : tuple
    drifts : tuple of Drift
        The changes in each of them.
    """

    periods: tuple[Any, ...]
    drifts: tuple[Drift, ...]

    @property
    def alarms(self) -> list[Any]:
        """The periods with an alarm, in order."""
        return [p for p, drift in zip(self.periods, self.drifts, strict=True) if drift.alarm]

    @property
    def names(self) -> list[str]:
        """The columns, those that changed most in any period first."""
        known = sorted(column.column for column in self.drifts[0].columns)
        most = np.nan_to_num(self.matrix(known)).max(axis=1, initial=0.0)
        return [known[k] for k in np.argsort(-most, kind="stable")]

    def matrix(self, columns: list[str], fact: str = "index") -> NDArray[np.float64]:
        """Return one fact of some columns in every period, columns x periods."""
        values = [[float(getattr(d[name], fact)) for d in self.drifts] for name in columns]
        return np.array(values, dtype=np.float64).reshape(len(columns), len(self.periods))

    def _columns(self) -> Columns:
        rows = [(p, c) for p, d in zip(self.periods, self.drifts, strict=True) for c in d.columns]
        facts = ("column", "index", "p_value", "evidence_loss", "evidence_p_value", "drifted")
        columns: Columns = {"period": [period for period, _ in rows]}
        return columns | {name: [getattr(c, name) for _, c in rows] for name in facts}

    def _title(self) -> str:
        alarms = self.alarms
        words = f"{counted(len(alarms), 'alarm')} in {counted(len(self.periods), 'period')}"
        return f"{words}, the first in {alarms[0]}" if alarms else words


def drift(
    reference: Any,
    current: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    level: float = 0.01,
    min_index: float = MIN_INDEX,
    min_loss: float = MIN_LOSS,
    n_bins: int = 10,
) -> Drift:
    """Compare new rows with those that a model learned from, or the sums of two samples.

    Parameters
    ----------
    reference : fitted model or Summary
        A classifier that keeps counts: naive Bayes, `UnnaiveBayesClassifier`, boosting, bagging and
        trees with naive Bayes. Sums of a window (``timeline.summary(...)``) where ``current``
        are sums as well.
    current : table, path, `scan`, Summary or model that keeps sums
        New rows, with the columns that the model knows; or the sums of later rows.
    y : array-like, name of a column, or None, default=None
        Labels of the new rows. Without them values are compared, and what the model predicts; with
        them also base rates, evidence and log loss.
    sample_weight : array-like, name of a column, or None, default=None
    level : float, default=0.01
        Probability of a false alarm when nothing has changed: tests of all columns, of evidence
        and of base rates are corrected together, by Holm's rule.
    min_index : float, default=0.1
        Population stability index from which a change of values, or of base rates, matters.
    min_loss : float, default=0.03
        Log loss, in nats for each row, from which a change of evidence matters.
    n_bins : int, default=10
        Number of bins of numeric columns, equally frequent in the reference.

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
    check_level(level)
    if n_bins < 2:
        raise ValueError(f"n_bins must be 2 or more; got {n_bins!r}.")
    before, after = reference_counts(reference), _summed(current)
    labelled, rows = True, None
    if after is None:
        if not hasattr(reference, "answer_"):
            raise TypeError(
                f"sums can be compared with sums, or with models that keep them; got "
                f"{type(current).__name__}."
            )
        source, labelled = _open(reference, current, y, sample_weight)
        read = partial(_read_block, reference.answer_, reference.n_jobs, labelled)
        rows = source.reduce(read, _NewRows.__add__, COUNTING)
        after = _of_summary(rows.counts)
    found = _compare(before, after, labelled, (level, min_index, min_loss), n_bins)
    return found if rows is None else _with_predictions(found, rows, reference.classes_)


# Counts of rows, wherever they come from ----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Counts of a sample by class and value, in units of rows."""

    schema: Schema
    labels: Labels
    coders: tuple[AnyCoder, ...]
    counts: CountTable
    n_rows: int


def reference_counts(model: Any) -> _Counted:
    """Return the counts of the rows that a model, or sums, were made of.

    Sums have a cell for each distinct number; else these are the counts of a model in its own bins.
    """
    made = _summed(model)
    if made is None and isinstance(getattr(model, "answer_", None), Answer):
        made = _of_answer(model.answer_)
    if made is None:
        raise TypeError(
            f"drift compares new rows with the counts that a model keeps, and "
            f"{type(model).__name__} keeps none; NaiveBayesClassifier (nb) does."
        )
    return made


def _summed(part: Any) -> _Counted | None:
    summary = part if isinstance(part, Summary) else getattr(part, "summary_", None)
    return _of_summary(summary) if isinstance(summary, Summary) else None


def _of_summary(summary: Summary) -> _Counted:
    counts = summary.counts.scale_groups(row_factor(summary))
    return _Counted(summary.schema, summary.labels, summary.coders, counts, summary.n_rows)


def _of_answer(answer: Answer) -> _Counted | None:
    """Return the counts of the columns by class, of a tree those of its root; None without them."""
    core: Any = getattr(answer.core, "stack", None) or answer.core
    if hasattr(core, "node_counts"):
        coders, counts = core.coders, core.node_counts(0)
    elif getattr(core, "counts", None) is not None:
        coders, counts = [getattr(term, "coder", None) for term in core.scorer.terms], core.counts
    else:
        return None
    for node in answer.walk():
        if isinstance(node, GroupedClasses):
            if counts.n_groups != len(node.class_index):
                return None
            counts = counts.sum_groups(node.class_index, node.n_outputs)
    if counts.n_groups != len(answer.classes):
        return None
    n_rows = round(float(counts.totals.sum()))
    return _Counted(answer.schema, Labels(answer.classes), tuple(coders), counts, n_rows)


# New rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _NewRows:
    """Counts of new rows, and sums over the predictions for them.

    ``sums`` are those of the probability of each class, of the expected and the actual log loss, of
    all weights and of the weights of rows with a known label.
    """

    counts: Summary
    sums: NDArray[np.float64]

    def __add__(self, other: _NewRows) -> _NewRows:
        return _NewRows(self.counts + other.counts, self.sums + other.sums)


def _open(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Source, bool]:
    """Return the source of new rows, and whether these have labels."""
    scan = scan_of(X, y, sample_weight)
    labelled = y is not None if scan is None else scan.target is not None
    if labelled:
        return copy(model)._open_to_learn(X, y, sample_weight, model.schema_), True
    if scan is not None:
        return open_table(model, scan, fitted=model.schema_), False
    return open_table(model, X, None, sample_weight, fitted=model.schema_), False


def _read_block(answer: Answer, n_jobs: int | None, labelled: bool, block: Block) -> _NewRows:
    """Count and predict the rows of a block; a plain function, which may be sent to workers."""
    numeric = (j for j, column in enumerate(block.schema) if column.kind == "numeric")
    counts = summarize_block(block, Wanted(frozenset(numeric)), n_jobs=n_jobs)
    p = answer.probabilities(block, n_jobs)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    expected, loss, known_weight = -float(weight @ xlogy(p, p).sum(axis=1)), 0.0, 0.0
    if labelled:
        assert block.target is not None
        groups = known_groups(Labels(answer.classes), block.target)
        known = groups < len(answer.classes)
        loss = float(weight[known] @ log_losses(p[known], groups[known]))
        known_weight = float(weight[known].sum())
    return _NewRows(counts, np.array([*(weight @ p), expected, loss, weight.sum(), known_weight]))


def _with_predictions(found: Drift, rows: _NewRows, classes: NDArray[Any]) -> Drift:
    *predicted, expected, loss, weight, known = rows.sums.tolist()
    mean = {str(c): p / weight for c, p in zip(classes.tolist(), predicted, strict=True)}
    means = tuple(mean.get(name, 0.0) for name in found.classes.values)
    return replace(
        found,
        classes=replace(found.classes, predicted=means),
        log_loss=loss / known if known else NAN,
        expected_log_loss=expected / weight,
    )


# Common bins --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Classes x bins of one column in two samples; bins in words."""

    words: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def merge(self, place: NDArray[np.intp], words: tuple[str, ...]) -> _Bins:
        """Add bins together: bin b becomes part of ``place[b]``."""
        select = np.eye(len(words))[place]
        return _Bins(words, self.before @ select, self.after @ select)

    def group_rare(self, keep: NDArray[np.bool_]) -> _Bins:
        """Add the categories that are not to be kept together."""
        place = np.where(keep, np.cumsum(keep) - 1, keep.sum())
        words = tuple(w for w, is_kept in zip(self.words, keep, strict=True) if is_kept)
        return self.merge(place, words if keep.all() else (*words, OTHERS))


def _equal_frequency(weight: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each cell, so that bins have about equal weight.

    Fewer bins are made of few rows: bins that are laid around single rows differ from any other
    sample.
    """
    n_bins = max(2, min(n_bins, int(weight.sum() / LEAST_EXPECTED)))
    middle = (np.cumsum(weight) - weight / 2) / max(weight.sum(), 1e-300)
    wanted = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    return np.unique(wanted, return_inverse=True)[1].astype(np.intp)


def _cuts(coder: Any, place: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cuts between cells of a grid, or bins, that go to different bins."""
    ends = np.flatnonzero(np.diff(place))
    if isinstance(coder, Bins):
        return coder.cuts[ends]
    return np.asarray(coder.high[ends] + (coder.low[ends + 1] - coder.high[ends]) / 2)


def _common_coder(
    before: _Counted, after: _Counted, j: int, n_bins: int
) -> tuple[AnyCoder, list[NDArray[np.intp]]]:
    """Return the bins of a column, and the place of the slots of both samples in them."""
    first, second = before.coders[j], after.coders[j]
    gaps = before.counts.attribute(j)[:, 0].sum()
    if isinstance(first or second, Categories):
        parts = [c if isinstance(c, Categories) else Categories(()) for c in (first, second)]
        return merge_categories(parts, before.schema[j].order)
    if first is None and gaps < before.counts.totals.sum():  # its values were not counted
        return None, [
            np.append(0, np.ones(1 if c is None else c.size + 1, np.intp)) for c in (first, second)
        ]
    bins = Bins(np.empty(0))
    if first is not None and first.size:
        weight = before.counts.values(j).sum(axis=0)
        bins = Bins(_cuts(first, _equal_frequency(weight, n_bins)))
    return bins, [_numeric_place(bins, coder) for coder in (first, second)]


def _numeric_place(bins: Bins, coder: Any) -> NDArray[np.intp]:
    if coder is None:
        return np.array([0, bins.size + 1])
    place = bins.place(coder.low) if isinstance(coder, Grid) else slots_in(bins, coder)
    return place.astype(np.intp)


# Comparison ---------------------------------------------------------------------------------------


def _compare(
    before: _Counted,
    after: _Counted,
    labelled: bool,
    limits: tuple[float, float, float],
    n_bins: int,
) -> Drift:
    level, min_index, min_loss = limits
    schema = before.schema + after.schema
    common = [_common_coder(before, after, j, n_bins) for j in range(len(schema))]
    coders = [coder for coder, _ in common]
    tables = [
        part.counts.coarsen([places[k] for _, places in common], coder_sizes(coders))
        for k, part in enumerate((before, after))
    ]
    classes = before.labels.classes
    rates = [_shares(before.counts.totals), np.full(len(classes), NAN)]
    base = ColumnDrift("base rates")
    if labelled:
        refuse_mixed(before.labels, after.labels)
        labels, groups = merge_labels([before.labels, after.labels])
        tables = [t.sum_groups(g, len(labels)) for t, g in zip(tables, groups, strict=True)]
        classes, totals = labels.classes, [table.totals for table in tables]
        rates = [_shares(side) for side in totals]
        base = replace(base, index=stability_index(*totals), p_value=g_test(*totals).p_value)
    base = replace(
        base,
        values=tuple(map(str, classes.tolist())),
        before=tuple(rates[0].tolist()),
        after=tuple(rates[1].tolist()),
    )
    columns = [
        _column(tables, j, coder, before.schema, n_bins, classes if labelled else None)
        for j, coder in enumerate(coders)
    ]
    tests = np.array([base.p_value, *(p for c in columns for p in (c.p_value, c.evidence_p_value))])
    usable = np.flatnonzero(~np.isnan(tests))
    tests[usable] = holm(tests[usable].tolist())
    p_values = tests.tolist()
    moved = p_values[0] < level and base.index >= min_index
    columns = [
        _corrected(c, p_values[2 * k + 1 : 2 * k + 3], limits) for k, c in enumerate(columns)
    ]
    columns.sort(key=lambda c: -_size(c, min_index, min_loss))
    base = replace(base, p_value=p_values[0], drifted=bool(moved))
    return Drift(tuple(columns), base, before.n_rows, after.n_rows, level)


def _shares(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weight / weight.sum())


def _size(column: ColumnDrift, min_index: float, min_loss: float) -> float:
    """Return how much has changed, in units of what matters; drifted columns first."""
    sizes = [column.index / max(min_index, 1e-9), column.evidence_loss / max(min_loss, 1e-9)]
    return max((s for s in sizes if not math.isnan(s)), default=0.0) + 1e6 * column.drifted


def _corrected(
    column: ColumnDrift, p_values: list[float], limits: tuple[float, float, float]
) -> ColumnDrift:
    """Return a column with corrected p-values, and whether it has drifted by these."""
    level, min_index, min_loss = limits
    moved = p_values[0] < level and column.index >= min_index
    turned = p_values[1] < level and column.evidence_loss >= min_loss
    return replace(
        column,
        p_value=p_values[0],
        evidence_p_value=p_values[1],
        turned=column.turned if turned else "",
        drifted=bool(moved or turned),
    )


def _column(
    tables: list[CountTable],
    j: int,
    coder: AnyCoder,
    schema: Schema,
    n_bins: int,
    classes: NDArray[Any] | None,
) -> ColumnDrift:
    """Return the drift of one column, whose p-values are not corrected yet."""
    gaps = [table.attribute(j)[:, 0] for table in tables]
    missing = [float(g.sum() / t.totals.sum()) for g, t in zip(gaps, tables, strict=True)]
    column, name = schema[j], schema.label(j)
    drift = ColumnDrift(name, missing_before=missing[0], missing_after=missing[1])
    if coder is None or isinstance(coder, Grid):
        return drift
    first, second = (table.values(j) for table in tables)
    fine = _Bins(tuple(_words(coder, column)), first, second)
    bins = fine
    if isinstance(coder, Categories):
        there = [side.sum(axis=0) > 0 for side in (first, second)]
        values = list(zip(coder.values, *there, strict=True))
        drift = replace(
            drift,
            new=tuple(v for v, was, now in values if now and not was),
            vanished=tuple(v for v, was, now in values if was and not now),
        )
        sizes = [first.sum(), second.sum()]
        expected = (first + second).sum(axis=0) * min(sizes) / max(sum(sizes), 1.0)
        if (expected < LEAST_EXPECTED).sum() > 1:
            bins = fine.group_rare(expected >= LEAST_EXPECTED)
    sides = [
        np.column_stack((gap, side))
        for gap, side in zip(gaps, (bins.before, bins.after), strict=True)
    ]
    old, new = (side.sum(axis=0) for side in sides)
    drift = replace(
        drift,
        values=("missing", *bins.words),
        before=tuple(_shares(old).tolist()),
        after=tuple(_shares(new).tolist()),
        index=stability_index(old, new),
        distance=float(jensenshannon(old, new, base=2)),
        p_value=g_test(old, new).p_value,
    )
    if classes is None:
        return drift
    favours = [_favoured(side, classes) for side in sides]
    drift = replace(drift, favours_before=favours[0], favours_after=favours[1])
    totals = np.minimum(*(table.totals for table in tables))
    frequent = totals >= 4 * LEAST_EXPECTED  # enough rows to tell how evidence has changed
    if frequent.sum() < 2:
        return drift
    bins = _evidence_bins(_Bins(fine.words, first[frequent], second[frequent]), coder, column,
                          n_bins, float(totals[frequent].min()))  # fmt: skip
    loss, turned = _evidence_change(bins, classes[frequent])
    p_value = interaction_test(bins.before, bins.after).p_value
    return replace(drift, evidence_loss=loss, turned=turned, evidence_p_value=p_value)


def _words(coder: Bins | Categories, column: Column) -> list[str]:
    if isinstance(coder, Categories):
        return list(map(str, coder.values))
    return interval_words(coder.cuts, column)


def _evidence_bins(
    fine: _Bins, coder: Bins | Categories, column: Column, n_bins: int, rows: float
) -> _Bins:
    """Return bins in which every class has rows enough; ``rows`` are those of the rarest class."""
    if isinstance(coder, Bins):
        n = max(2, min(n_bins, int(rows / (2 * LEAST_EXPECTED))))
        place = _equal_frequency(fine.before.sum(axis=0), n)
        return fine.merge(place, tuple(interval_words(_cuts(coder, place), column)))
    both = (fine.before + fine.after).sum(axis=0)
    return fine.group_rare(rows * both / max(both.sum(), 1.0) >= LEAST_EXPECTED)


def _log_given_class(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log probability of each bin given the class, smoothed: classes x bins."""
    smoothed = counts + PSEUDO
    return np.asarray(np.log(smoothed / smoothed.sum(axis=1, keepdims=True)))


def _evidence_change(bins: _Bins, classes: NDArray[Any]) -> tuple[float, str]:
    """Return what the old evidence costs in the new rows, and the costliest value that turned.

    Old evidence are the old odds ratios between values and classes. They are given the new shares
    of values and of classes, so that changes of these alone cost nothing. What chance is expected
    to cost is taken off: half a nat for each degree of freedom, over the rows of either side.
    """
    new = bins.after + PSEUDO / bins.after.size
    old = with_margins(bins.before + PSEUDO, new)
    costs = (new * np.log(new / old)).sum(axis=0) / new.sum()
    logs = [_log_given_class(side) for side in (bins.before, bins.after)]
    first, second = (side.argmax(axis=0) for side in logs)
    strong = np.array([np.ptp(side, axis=0) >= FAVOURS for side in logs]).all(axis=0)
    turned = np.flatnonzero((first != second) & strong & (costs > 0))
    n_values = int(((bins.before + bins.after).sum(axis=0) > 0).sum())
    freedom = (len(bins.before) - 1) * max(0, n_values - 1)
    chance = freedom / 2 * sum(1 / max(side.sum(), 1.0) for side in (bins.before, bins.after))
    loss = max(0.0, float(costs.sum() - chance))
    if not len(turned):
        return loss, ""
    b = int(turned[np.argmax(costs[turned])])
    return loss, f"{bins.words[b]}: {classes[first[b]]} -> {classes[second[b]]}"


def _favoured(counts: NDArray[np.float64], classes: NDArray[Any]) -> tuple[str, ...]:
    """Return the class that each bin is evidence for; empty where it favours none."""
    logs = _log_given_class(counts)
    strong = (np.ptp(logs, axis=0) >= FAVOURS) & (counts.sum(axis=0) > 0)
    best = classes[logs.argmax(axis=0)].tolist()
    return tuple(str(c) if is_strong else "" for c, is_strong in zip(best, strong, strict=True))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
