"""The rows that models are compared on, in memory or not, and their folds."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from unnaive.bayes.curves import ScoreCounts, ScoreCurve, score_curves
from unnaive.bayes.quality import NAN, Quality, QualitySums
from unnaive.common.sklearn_private import safe_indexing
from unnaive.encode import Labels
from unnaive.encode.draws import check_folds, deal_folds
from unnaive.encode.labels import groups_of, label_groups, read_target
from unnaive.table import Block, Schema, open_table
from unnaive.table.reading import as_frame
from unnaive.table.storage import Storage, stretches

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
RANKING_BYTES = 64  # that ranking takes for each row, in memory


@dataclass(frozen=True, eq=False)
class LabelledRows(ABC):
    """Rows whose class is known, each named by its place among those whose weight is not 0.

    Attributes
    ----------
    schema : Schema
        Names and kinds of the columns.
    labels : Labels
    groups : array of shape (rows,)
        The number of each row's class.
    weight : array of shape (rows,) or None
    row_ids : array of shape (rows,)
        Numbers of the rows in the whole table, rising.
    storage : Storage
        Where arrays of rows go.
    """

    schema: Schema
    labels: Labels
    groups: NDArray[Any]
    weight: NDArray[np.float64] | None
    row_ids: NDArray[np.int64]
    storage: Storage

    def __len__(self) -> int:
        return len(self.row_ids)

    @property
    def places(self) -> NDArray[np.intp]:
        """Of all rows."""
        places = self.storage.empty(len(self), np.intp)
        for part in stretches(len(self)):
            places[part] = np.arange(part.start, part.stop)
        return places

    @abstractmethod
    def fit(self, estimator: Any, rows: NDArray[np.intp]) -> Any:
        """A copy of the estimator, fitted on some rows."""

    @abstractmethod
    def predict_proba(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Probabilities of all classes; 0 and 1 where the model only predicts a class."""

    @abstractmethod
    def decided(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Class numbers that a model predicts, where they need not be the most probable ones."""

    @abstractmethod
    def sample(self, rows: NDArray[np.intp]) -> LabelledTable:
        """A few of the rows, in memory."""

    def pass_seconds(self, estimator: Any) -> float:  # noqa: ARG002
        """Seconds that a fit spends on reading rows from elsewhere."""
        return 0.0

    def units(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Weights of rows in units of rows: those of less than one on average are scaled to one."""
        if self.weight is None:
            units = self.storage.empty(len(rows), np.float64)
            units[:] = 1.0
            return units
        units = self.storage.take(self.weight, rows)
        units *= max(1.0, len(units) / units.sum())
        return units

    def quality(
        self, p: NDArray[np.float64], rows: NDArray[np.intp], model: Any = None
    ) -> tuple[QualitySums, Quality]:
        """Sums of the measures over rows with these probabilities, and all measures of them.

        A model of another library may choose classes in its own way, or know no probabilities.
        """
        weight = None if self.weight is None else self.storage.take(self.weight, rows)
        groups = self.storage.take(self.groups, rows)
        decided = None if model is None else self.decided(model, rows)

        def sums_of(part: slice) -> QualitySums:
            w = None if weight is None else weight[part]
            given = None if decided is None else decided[part]
            return QualitySums.of(p[part], groups[part], w, given)

        sums = reduce(operator.add, map(sums_of, stretches(len(rows))))
        if model is not None and not hasattr(model, "predict_proba"):
            quality = sums.quality
            return sums, Quality(quality.accuracy, NAN, NAN, NAN, quality.f1)
        return sums, sums.quality.ranked(self._curves(p, groups, weight))

    def _curves(
        self, p: NDArray[np.float64], groups: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> tuple[ScoreCurve, ...]:
        """The curve of every class: exact, or by a histogram where ranking has no room."""
        limit = self.storage.limit
        if limit is None or RANKING_BYTES * len(p) <= limit:
            return score_curves(p, groups, weight)
        parts = (
            ScoreCounts.of(p[part], groups[part], None if weight is None else weight[part])
            for part in stretches(len(p))
        )
        return reduce(operator.add, parts).curves


@dataclass(frozen=True, eq=False)
class LabelledTable(LabelledRows):
    """Rows of a table in memory.

    Attributes
    ----------
    X : table
        As it was given, also with rows of weight zero.
    target : array
        Labels of its rows, as given.
    """

    X: Any
    target: NDArray[Any]

    def _table(self, rows: NDArray[np.intp]) -> Any:
        return safe_indexing(self.X, self.row_ids[rows])

    def fit(self, estimator: Any, rows: NDArray[np.intp]) -> Any:
        weights = {}
        if self.weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise TypeError(f"{type(estimator).__name__} takes no sample_weight")
            weights["sample_weight"] = self.weight[rows]
        return clone(estimator).fit(self._table(rows), self.target[self.row_ids[rows]], **weights)

    def predict_proba(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        X = self._table(rows)
        if not hasattr(model, "predict_proba"):
            return np.eye(len(self.labels))[groups_of(self.labels, np.asarray(model.predict(X)))]
        p = np.zeros((len(rows), len(self.labels)))
        p[:, groups_of(self.labels, np.asarray(model.classes_))] = model.predict_proba(X)
        if not np.isfinite(p).all():
            raise ValueError("predict_proba returned values that are not finite")
        return p

    def decided(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
        if hasattr(model, "answer_"):
            return None
        return groups_of(self.labels, np.asarray(model.predict(self._table(rows))))

    def sample(self, rows: NDArray[np.intp]) -> LabelledTable:
        weight = None if self.weight is None else self.weight[rows]
        return LabelledTable(
            self.schema, self.labels, self.groups[rows], weight, self.row_ids[rows], self.storage,
            self.X, self.target,
        )  # fmt: skip


def read_table(X: Any, y: Any, sample_weight: Any, categorical_features: Any) -> LabelledTable:
    """A table in memory, checked."""
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
    kept = block.row_ids
    refuse_few(len(kept))
    labels, groups = label_groups(target[kept])
    return LabelledTable(
        block.schema, labels, groups, block.weight, kept, source.storage, X, target
    )


def refuse_few(n_rows: int) -> None:
    """Refuse less rows than can be cross-validated."""
    if n_rows < 2:
        raise ValueError(
            f"cross-validation needs 2 rows or more; got n_samples = {n_rows} (1 sample)."
        )


def make_splits(
    cv: Any, repeats: int, groups: Any, rows: LabelledRows, seed: int
) -> Sequence[Split]:
    """Places of the training and of the test rows of each fold.

    Folds are dealt by the numbers of rows. Splitters see the rows whose weight is not 0; ready
    positions are those in the table as it was given.
    """
    room, n = rows.storage, len(rows)
    if isinstance(cv, (int, np.integer)) and groups is None:
        check_folds(cv)
        n_folds = min(int(cv), n)
        deals = [
            deal_folds(seed + r, rows.row_ids, rows.groups, n_folds, room) for r in range(repeats)
        ]
        return [_parted(folds, k, room) for folds in deals for k in range(n_folds)]
    if repeats > 1:
        raise ValueError(
            "repeats needs cv to be a number of folds; use a splitter that repeats, such as "
            "RepeatedStratifiedKFold."
        )
    from sklearn.model_selection import check_cv

    if groups is not None:
        if not isinstance(rows, LabelledTable):
            raise TypeError(
                "groups are for tables in memory; of rows that are read block by block, give cv "
                "as ready (train, test) positions."
            )
        check_consistent_length(rows.target, groups)
        groups = safe_indexing(groups, rows.row_ids)
    splitter = check_cv(cv, rows.groups, classifier=True)
    every = splitter.split(np.zeros(n), rows.groups, groups)
    pairs = [(np.asarray(a, np.intp), np.asarray(b, np.intp)) for a, b in every]
    if hasattr(cv, "__iter__"):  # ready positions
        pairs = [(_places(a, rows), _places(b, rows)) for a, b in pairs]
    usable = [(a, b) for a, b in pairs if len(a) and len(b)]
    if not usable:
        raise ValueError("cv leaves no fold with both training and test rows.")
    return usable


def _parted(folds: NDArray[np.int64], k: int, room: Storage) -> Split:
    """Places of the rows outside and inside fold k."""
    return (
        room.where(lambda part: folds[part] != k, len(folds)),
        room.where(lambda part: folds[part] == k, len(folds)),
    )


def _places(positions: NDArray[np.intp], rows: LabelledRows) -> NDArray[np.intp]:
    """Places of rows by their numbers; of others, which have no weight, none."""
    if positions.dtype == bool:
        positions = np.flatnonzero(positions)
    at = np.minimum(np.searchsorted(rows.row_ids, positions), len(rows) - 1)
    return at[rows.row_ids[at] == positions]
