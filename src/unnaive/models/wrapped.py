"""Classifiers of this library inside scikit-learn's meta-estimators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import Answer, Ensemble
from unnaive.common.registry import find_estimator
from unnaive.common.sklearn_private import positive_label
from unnaive.table import Schema
from unnaive.table.schema import join_schemas


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """What is inside a fitted classifier.

    Attributes
    ----------
    model : fitted classifier
        One of this library where there is one inside, else what was passed.
    transform : callable or None
        What happens to a table before the model sees it, in a `Pipeline`; None: nothing.
    steps : str
        The transformers, by name.
    """

    model: Any
    transform: Callable[[Any], Any] | None = None
    steps: str = ""

    def read(self, X: Any) -> Any:
        """A table as the model sees it."""
        return X if self.transform is None else self.transform(X)

    def alone(self, use: str) -> Any:
        """The model, for a use in which nothing may happen to a table before."""
        if self.transform is not None:
            name = type(self.model).__name__
            raise TypeError(
                f"a Pipeline with {self.steps} cannot be {use}, because only its {name} can; fit "
                f"the {name} on the columns themselves, which need no scaling, filling or encoding."
            )
        return self.model


def look_inside(model: Any) -> Inside:
    """Return the classifier of this library inside one of scikit-learn's meta-estimators.

    A threshold becomes the decision of the model inside, so that it answers as the wrapper does;
    a `BaggingClassifier` becomes a pool of its members.
    """
    if _is_ours(model):
        return Inside(model)
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
        inner = look_inside(model.calibrated_classifiers_[0].estimator)
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
        return _in_bagging(model)
    if isinstance(model, AdaBoostClassifier):
        check_is_fitted(model)
        if all(map(_is_ours, model.estimators_)):
            raise TypeError(
                "AdaBoostClassifier adds the votes of its members, which cannot be shown as "
                "evidence, saved or written as SQL; use a BoostedNaiveBayesClassifier, or pass one "
                "of the members: model.estimators_[0]."
            )
    if isinstance(model, FrozenEstimator):
        return look_inside(model.estimator)
    best = getattr(model, "best_estimator_", None)  # of a search
    return Inside(model) if best is None else look_inside(best)


def _is_ours(model: Any) -> bool:
    return isinstance(getattr(model, "answer_", None), Answer)


def _in_pipeline(model: Any) -> Inside:
    inside = look_inside(model.steps[-1][1])
    before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    if not _is_ours(inside.model):
        return Inside(model)
    if not before:
        return inside
    names = ", ".join(type(step).__name__ for step in before)
    steps = ", ".join(filter(None, (names, inside.steps)))
    return replace(inside, transform=lambda X: inside.read(model[:-1].transform(X)), steps=steps)


def _in_bagging(model: Any) -> Inside:
    """Return the members of a fitted `BaggingClassifier` as a pool that averages probabilities."""
    check_is_fitted(model)
    members = model.estimators_
    if not all(map(_is_ours, members)):
        return Inside(model)
    if any(not np.array_equal(f, range(model.n_features_in_)) for f in model.estimators_features_):
        raise TypeError(
            "the members of this BaggingClassifier have learned from different columns; fit it "
            "with max_features=1.0 and bootstrap_features=False."
        )
    for k, member in enumerate(members):
        missing = np.delete(model.classes_, member.classes_).tolist()
        if missing:
            raise ValueError(
                f"member {k} of this BaggingClassifier has no rows of class {missing[0]!r}, so the "
                "members cannot be pooled; fit it on more rows of that class."
            )
    schemas = [member.answer_.schema for member in members]
    if len({tuple(schema.kinds) for schema in schemas}) > 1:
        raise ValueError(
            "members of this BaggingClassifier read a column as different kinds; say which columns "
            "are categories with categorical_features of its estimator."
        )
    schema = join_schemas(schemas)
    if hasattr(model, "feature_names_in_"):  # members see an array, which has no names
        names = model.feature_names_in_.tolist()
        columns = zip(schema.columns, names, strict=True)
        schema = Schema(tuple(replace(column, name=name) for column, name in columns), named=True)
    names = tuple(f"member {k}" for k in range(len(members)))
    weights = np.full(len(members), 1.0 / len(members))
    roots = tuple(member.answer_.root for member in members)
    no_shift = np.zeros(len(model.classes_))
    root = Ensemble(roots, names, weights, no_shift, "probability", "mean")
    pooled = [(name, clone(member)) for name, member in zip(names, members, strict=True)]
    pool = find_estimator("PooledClassifier")(pooled, weights="equal", n_jobs=members[0].n_jobs)
    pool.names_, pool.weights_, pool.held_out_loss_ = list(names), weights, math.nan
    pool._set_answer(Answer(schema, model.classes_, root))
    return Inside(pool)


def _with_threshold(model: Any, inner: Any, threshold: float, positive: Any) -> Inside:
    inside = look_inside(inner)
    if not _is_ours(inside.model):
        return Inside(model)
    return replace(inside, model=inside.model.with_decision(float(threshold), positive=positive))
