"""The table that models are compared on, and its folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from unnaive.bayes.curves import score_curves
from unnaive.bayes.quality import NAN, Quality, QualitySums
from unnaive.common.sklearn_private import safe_indexing
from unnaive.encode import Labels
from unnaive.encode.draws import deal_folds
from unnaive.encode.labels import groups_of, label_groups, read_target
from unnaive.table import Block, open_table
from unnaive.table.reading import as_frame
from unnaive.table.scan import is_scanned

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """The table that is compared on: labels as given and as numbers, weights or None."""

    X: Any
    target: NDArray[Any]
    labels: Labels
    groups: NDArray[Any]
    weight: NDArray[np.float64] | None

    def fit(self, estimator: Any, rows: NDArray[np.intp]) -> Any:
        """A copy of the estimator, fitted on some rows."""
        weights = {}
        if self.weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise TypeError(f"{type(estimator).__name__} takes no sample_weight")
            weights["sample_weight"] = self.weight[rows]
        return clone(estimator).fit(safe_indexing(self.X, rows), self.target[rows], **weights)

    def predict_proba(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Probabilities of all classes; 0 and 1 where the model only predicts a class."""
        X = safe_indexing(self.X, rows)
        if not hasattr(model, "predict_proba"):
            return np.eye(len(self.labels))[groups_of(self.labels, np.asarray(model.predict(X)))]
        p = np.zeros((len(rows), len(self.labels)))
        p[:, groups_of(self.labels, np.asarray(model.classes_))] = model.predict_proba(X)
        if not np.isfinite(p).all():
            raise ValueError("predict_proba returned values that are not finite")
        return p

    def units(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Weights of rows in units of rows: those of less than one on average are scaled to one."""
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        return weight * max(1.0, len(weight) / weight.sum())

    def quality(
        self, p: NDArray[np.float64], rows: NDArray[np.intp], model: Any = None
    ) -> tuple[QualitySums, Quality]:
        """Sums of the measures over rows with these probabilities, and all measures of them.

        A model of another library may choose classes in its own way, or know no probabilities.
        """
        weight = None if self.weight is None else self.weight[rows]
        groups, decided = self.groups[rows], None
        if model is not None and not hasattr(model, "answer_"):
            labels = np.asarray(model.predict(safe_indexing(self.X, rows)))
            decided = groups_of(self.labels, labels)
        sums = QualitySums.of(p, groups, weight, decided)
        if model is not None and not hasattr(model, "predict_proba"):
            quality = sums.quality
            return sums, Quality(quality.accuracy, NAN, NAN, NAN, quality.f1)
        return sums, sums.quality.ranked(score_curves(p, groups, weight))


def read_labelled(
    X: Any, y: Any, sample_weight: Any, categorical_features: Any
) -> tuple[LabelledTable, NDArray[np.intp], Any]:
    """The table, checked, the rows whose weight is not 0, and the schema."""
    if is_scanned(X):
        raise TypeError(
            f"models are compared on tables in memory; got {type(X).__name__}. Read the rows, or a "
            "sample of them, first."
        )
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
    if len(kept) < 2:
        raise ValueError(
            f"cross-validation needs 2 rows or more; got n_samples = {len(kept)} (1 sample)."
        )
    weight = None
    if block.weight is not None:
        weight = np.zeros(len(target))
        weight[kept] = block.weight
    groups = np.zeros(len(target), dtype=np.intp)
    labels, groups[kept] = label_groups(target[kept])
    return LabelledTable(X, target, labels, groups, weight), kept, block.schema


def make_splits(
    cv: Any, repeats: int, groups: Any, rows: LabelledTable, kept: NDArray[np.intp], seed: int
) -> Sequence[Split]:
    """Training and test rows of each fold; rows of weight zero are in neither."""
    if isinstance(cv, (int, np.integer)) and groups is None:
        if cv < 2:
            raise ValueError(f"cv must be 2 folds or more; got {cv!r}.")
        n_folds = min(int(cv), len(kept))
        deals = [deal_folds(seed + r, kept, rows.groups[kept], n_folds) for r in range(repeats)]
        return [(kept[f != k], kept[f == k]) for f in deals for k in range(n_folds)]
    if repeats > 1:
        raise ValueError(
            "repeats needs cv to be a number of folds; use a splitter that repeats, such as "
            "RepeatedStratifiedKFold."
        )
    from sklearn.model_selection import check_cv

    if groups is not None:
        check_consistent_length(rows.target, groups)
    counts = np.zeros(len(rows.target), dtype=bool)
    counts[kept] = True
    splitter = check_cv(cv, rows.groups, classifier=True)
    every = splitter.split(np.zeros(len(counts)), rows.groups, groups)
    pairs = [(np.asarray(a, np.intp), np.asarray(b, np.intp)) for a, b in every]
    weighted = [(a[counts[a]], b[counts[b]]) for a, b in pairs]
    usable = [(a, b) for a, b in weighted if len(a) and len(b)]
    if not usable:
        raise ValueError("cv leaves no fold with both training and test rows.")
    return usable
