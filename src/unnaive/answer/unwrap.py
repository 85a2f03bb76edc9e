"""Classifiers of this library inside scikit-learn's meta-estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unnaive.answer.answer import Answer
from unnaive.answer.nodes import Ensemble
from unnaive.common.registry import find_estimator
from unnaive.common.sklearn_private import positive_label
from unnaive.table import Schema
from unnaive.table.schema import join_schemas


@dataclass(frozen=True, slots=True, eq=False)
class Unwrapped:
    """The classifier inside a fitted meta-estimator.

    Attributes
    ----------
    model : fitted classifier
        One of this library where there is one inside, else what was passed.
    transform : callable or None
        What a `Pipeline` does to a table before the model; None: nothing.
    steps : str
        The transformers, by name.
    """

    model: Any
    transform: Callable[[Any], Any] | None = None
    steps: str = ""

    def read(self, X: Any) -> Any:
        """Return a table as the model sees it."""
        return X if self.transform is None else self.transform(X)


def unwrap_classifier(model: Any, use: str) -> Any:
    """Return the classifier inside a meta-estimator, for a use that transformers rule out."""
    inside = unwrap(model)
    if inside.transform is not None:
        name = type(inside.model).__name__
        raise TypeError(
            f"a Pipeline with {inside.steps} cannot be {use}, because only its {name} can; fit "
            f"the {name} on the columns themselves, which need no scaling, filling or encoding."
        )
    return inside.model


def unwrap(model: Any) -> Unwrapped:
    """Return the classifier of this library inside one of scikit-learn's meta-estimators.

    A threshold becomes the decision of the classifier inside. A `BaggingClassifier` or
    `AdaBoostClassifier` becomes an `AnswerClassifier` with an ensemble of the members.
    """
    if _is_ours(model):
        return Unwrapped(model)
    # Only those who have one wait for these imports.
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        return _in_pipeline(model)
    if isinstance(model, FixedThresholdClassifier):
        threshold = 0.5 if model.threshold == "auto" else model.threshold
        inner = getattr(model, "estimator_", model.estimator)
        return _with_threshold(model, inner, threshold, model.pos_label)
    if isinstance(model, TunedThresholdClassifierCV):
        check_is_fitted(model)
        return _with_threshold(
            model, model.estimator_, model.best_threshold_, positive_label(model)
        )
    if isinstance(model, CalibratedClassifierCV):
        check_is_fitted(model)
        inner = unwrap(model.calibrated_classifiers_[0].estimator)
        if _is_ours(inner.model):
            name = type(inner.model).__name__
            calibrates = "calibration" in inner.model.get_params(deep=False)
            option = ", with calibration='slope'" if calibrates else ""
            raise TypeError(
                "CalibratedClassifierCV changes probabilities in a way that evidence cannot show; "
                f"use a {name} by itself{option}, or pass one of those inside it: "
                "model.calibrated_classifiers_[0].estimator."
            )
    if isinstance(model, BaggingClassifier):
        check_is_fitted(model)
        every = range(model.n_features_in_)
        some = any(not np.array_equal(columns, every) for columns in model.estimators_features_)
        return _in_ensemble(model, np.ones(len(model.estimators_)), some_columns=some)
    if isinstance(model, AdaBoostClassifier):
        check_is_fitted(model)
        # Its decision function is the mean vote, times this, but for a constant of the row.
        k, weights = len(model.classes_), model.estimator_weights_[: len(model.estimators_)]
        return _in_ensemble(model, k / (k - 1) ** 2 * weights / weights.sum())
    if isinstance(model, FrozenEstimator):
        return unwrap(model.estimator)
    best = getattr(model, "best_estimator_", None)  # of a search
    return Unwrapped(model) if best is None else unwrap(best)


def _is_ours(model: Any) -> bool:
    return isinstance(getattr(model, "answer_", None), Answer)


def _in_pipeline(model: Any) -> Unwrapped:
    inside = unwrap(model.steps[-1][1])
    before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    if not _is_ours(inside.model):
        return Unwrapped(model)
    if not before:
        return inside
    names = ", ".join(type(step).__name__ for step in before)
    steps = ", ".join(filter(None, (names, inside.steps)))
    return replace(inside, transform=lambda X: inside.read(model[:-1].transform(X)), steps=steps)


def _with_threshold(model: Any, inner: Any, threshold: float, positive: Any) -> Unwrapped:
    inside = unwrap(inner)
    if not _is_ours(inside.model):
        return Unwrapped(model)
    return replace(inside, model=inside.model.with_decision(float(threshold), positive=positive))


def _in_ensemble(model: Any, weights: Any, *, some_columns: bool = False) -> Unwrapped:
    """Return the members of a bagging or boosting classifier as one answer."""
    name, members = type(model).__name__, model.estimators_
    if not all(map(_is_ours, members)):
        return Unwrapped(model)
    if some_columns:
        raise TypeError(
            f"the members of this {name} have learned from different columns; fit it with "
            "max_features=1.0 and bootstrap_features=False."
        )
    bagging = name == "BaggingClassifier"
    for k, member in enumerate(members):  # bags know classes by their numbers
        known = model.classes_[member.classes_] if bagging else member.classes_
        missing = [label for label in model.classes_.tolist() if label not in known.tolist()]
        if missing:
            raise ValueError(
                f"member {k} of this {name} has no rows of class {missing[0]!r}, so the members "
                "cannot be combined; fit it on more rows of that class."
            )
    root = Ensemble(
        tuple(member.answer_.root for member in members),
        tuple(f"member {k}" for k in range(len(members))),
        np.asarray(weights, dtype=np.float64),
        np.zeros(len(model.classes_)),
        *(("probability", "mean") if bagging else ("vote", "softmax")),
    )
    answer = Answer(_shared_schema(model), model.classes_, root)
    return Unwrapped(find_estimator("AnswerClassifier").of(answer, members[0].n_jobs))


def _shared_schema(model: Any) -> Schema:
    """Return the columns that all members read, by the names that the ensemble knows."""
    schemas: Sequence[Schema] = [member.answer_.schema for member in model.estimators_]
    if len({tuple(schema.kinds) for schema in schemas}) > 1:
        raise ValueError(
            f"members of this {type(model).__name__} read a column as different kinds; say which "
            "columns are categories with categorical_features of its estimator."
        )
    schema = join_schemas(schemas)
    if not hasattr(model, "feature_names_in_"):  # members see an array, which has no names
        return schema
    named = zip(schema.columns, model.feature_names_in_.tolist(), strict=True)
    return Schema(tuple(replace(column, name=name) for column, name in named), named=True)
