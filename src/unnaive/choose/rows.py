"""The labelled rows that models are compared on, and their folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from unnaive.bayes.metrics import NAN, Measures, MeasureSums, score_curves
from unnaive.common.sklearn_private import safe_indexing
from unnaive.encode import Labels
from unnaive.encode.hashing import check_folds, deal_folds
from unnaive.encode.labels import groups_of, label_groups, read_target
from unnaive.encode.sampling import sample_rows
from unnaive.estimator.base import need_target
from unnaive.models.base import leaves_answer
from unnaive.table import Block, Scan, Schema, open_table, scan_of
from unnaive.table.source import as_frame

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
MAX_ROWS = 1_000_000  # rows of a scan that are compared in memory


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of a table in memory whose class is known, those of weight zero left out.

    Attributes
    ----------
    X : table
        As it was given, also with rows of weight zero.
    target : array
        Labels of its rows, as given.
    schema : Schema
        Names and kinds of the columns.
    labels : Labels
    groups : array of shape (rows,)
        The number of each row's class.
    weight : array of shape (rows,) or None
    places : array of shape (rows,)
        Positions of the rows in X.
    row_ids : array of shape (rows,)
        Numbers of the rows, which folds are drawn by.
    scan : Scan or None
        All rows, where these are a sample of them.
    n_rows_of_scan : int or None
    """

    X: Any
    target: NDArray[Any]
    schema: Schema
    labels: Labels
    groups: NDArray[Any]
    weight: NDArray[np.float64] | None
    places: NDArray[np.intp]
    row_ids: NDArray[np.int64]
    scan: Scan | None = None
    n_rows_of_scan: int | None = None

    def __len__(self) -> int:
        return len(self.places)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self,
            groups=self.groups[rows],
            weight=weight,
            places=self.places[rows],
            row_ids=self.row_ids[rows],
        )

    def _table(self, rows: NDArray[np.intp]) -> Any:
        return safe_indexing(self.X, self.places[rows])

    def fit(self, estimator: Any, rows: NDArray[np.intp]) -> Any:
        """Return a copy of the estimator, fitted on some rows."""
        weights = {}
        if self.weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise TypeError(f"{type(estimator).__name__} takes no sample_weight")
            weights["sample_weight"] = self.weight[rows]
        return clone(estimator).fit(self._table(rows), self.target[self.places[rows]], **weights)

    def fit_all(self, estimator: Any) -> Any:
        """Return a copy of the estimator, fitted on all rows, also those beyond the sample."""
        if self.scan is not None:
            return clone(estimator).fit(self.scan)
        return self.fit(estimator, np.arange(len(self)))

    def predict_proba(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return probabilities of all classes; 0 and 1 where the model only predicts a class."""
        X = self._table(rows)
        if not hasattr(model, "predict_proba"):
            return np.eye(len(self.labels))[groups_of(self.labels, np.asarray(model.predict(X)))]
        p = np.zeros((len(rows), len(self.labels)))
        p[:, groups_of(self.labels, np.asarray(model.classes_))] = model.predict_proba(X)
        if not np.isfinite(p).all():
            raise ValueError("predict_proba returned values that are not finite")
        return p

    def row_weights(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return weights in units of rows; those of less than one on average have mean one."""
        if self.weight is None:
            return np.ones(len(rows))
        weight = self.weight[rows]
        return weight * max(1.0, len(weight) / weight.sum())

    def quality(
        self, p: NDArray[np.float64], rows: NDArray[np.intp], model: Any = None
    ) -> tuple[MeasureSums, Measures]:
        """Return sums of the measures over rows with these probabilities, and all measures.

        A model of another library may choose classes in its own way, or know no probabilities.
        """
        weight = None if self.weight is None else self.weight[rows]
        groups, decided = self.groups[rows], None
        if model is not None and not hasattr(model, "answer_"):
            decided = groups_of(self.labels, np.asarray(model.predict(self._table(rows))))
        sums = MeasureSums.of(p, groups, weight, decided)
        if model is not None and not hasattr(model, "predict_proba"):
            quality = sums.measures
            return sums, Measures(quality.accuracy, NAN, NAN, NAN, quality.f1)
        return sums, sums.measures.ranked(score_curves(p, groups, weight))


def read_rows(
    X: Any,
    y: Any,
    sample_weight: Any,
    categorical_features: Any,
    max_rows: int = MAX_ROWS,
    seed: int = 0,
) -> LabelledRows:
    """Return the rows that ``fit(X, y, sample_weight)`` means, or a sample of them, in memory."""
    scan = scan_of(X, y, sample_weight)
    if scan is None:
        return _read_table(X, y, sample_weight, categorical_features)
    need_target(scan)
    source = open_table(BaseEstimator(), scan, categorical_features=categorical_features)
    sample = sample_rows(source, max_rows, seed)
    rows = _read_table(sample.X, sample.y, sample.sample_weight, categorical_features)
    rows = replace(rows, row_ids=sample.row_ids)
    if len(rows) < sample.n_rows > max_rows:
        return replace(rows, scan=scan, n_rows_of_scan=sample.n_rows)
    return rows


def _read_table(X: Any, y: Any, sample_weight: Any, categorical_features: Any) -> LabelledRows:
    frame = as_frame(X)
    if frame is not None:
        X = frame.to_native()  # streams are read once
    elif not hasattr(X, "__getitem__"):
        X = np.asarray(X)
    target = read_target(y)
    # The checks of all estimators here; errors name what the user passed.
    source = open_table(
        BaseEstimator(), X, target, sample_weight, categorical_features=categorical_features
    )
    block: Block = source.map(lambda rows: rows)
    places = block.row_ids
    if len(places) < 2:
        raise ValueError(
            f"cross-validation needs 2 rows or more; got n_samples = {len(places)} (1 sample)."
        )
    labels, groups = label_groups(target[places])
    return LabelledRows(X, target, block.schema, labels, groups, block.weight, places, places)


def check_estimators(estimators: Mapping[str, Any], rows: LabelledRows) -> None:
    """Raise if an estimator of another library would have to read rows that are not in memory."""
    for name, estimator in estimators.items():
        if rows.scan is not None and not leaves_answer(estimator):
            raise TypeError(
                f"estimators has {name!r}, a {type(estimator).__name__} of another library, which "
                f"needs all {rows.n_rows_of_scan:,} rows in memory: read a sample of them first, "
                "or raise max_rows."
            )


def make_splits(
    cv: Any, repeats: int, groups: Any, rows: LabelledRows, seed: int
) -> Sequence[Split]:
    """Return the training and the test rows of each fold.

    Folds are dealt by the numbers of rows. Splitters see the rows whose weight is not 0; ready
    positions are those in the table as it was given.
    """
    n = len(rows)
    if isinstance(cv, (int, np.integer)) and groups is None:
        check_folds(cv)
        n_folds = min(int(cv), n)
        deals = (deal_folds(seed + r, rows.row_ids, rows.groups, n_folds) for r in range(repeats))
        return [
            (np.flatnonzero(folds != k), np.flatnonzero(folds == k))
            for folds in deals
            for k in range(n_folds)
        ]
    if repeats > 1:
        raise ValueError(
            "repeats needs cv to be a number of folds; use a splitter that repeats, such as "
            "RepeatedStratifiedKFold."
        )
    from sklearn.model_selection import check_cv

    if groups is not None:
        check_consistent_length(rows.target, groups)
        groups = safe_indexing(groups, rows.places)
    splitter = check_cv(cv, rows.groups, classifier=True)
    every = splitter.split(np.zeros(n), rows.groups, groups)
    pairs = [(np.asarray(a, np.intp), np.asarray(b, np.intp)) for a, b in every]
    if hasattr(cv, "__iter__"):  # ready positions
        if rows.scan is not None:
            raise ValueError(
                f"cv as (train, test) positions needs all {rows.n_rows_of_scan:,} rows in memory; "
                "raise max_rows, or give a number of folds."
            )
        pairs = [(_rows_at(a, rows), _rows_at(b, rows)) for a, b in pairs]
    usable = [(a, b) for a, b in pairs if len(a) and len(b)]
    if not usable:
        raise ValueError("cv leaves no fold with both training and test rows.")
    return usable


def _rows_at(positions: NDArray[np.intp], rows: LabelledRows) -> NDArray[np.intp]:
    """Return the rows with these numbers; rows without weight are left out."""
    if positions.dtype == bool:
        positions = np.flatnonzero(positions)
    at = np.minimum(np.searchsorted(rows.row_ids, positions), len(rows) - 1)
    return at[rows.row_ids[at] == positions]
