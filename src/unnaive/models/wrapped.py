"""Classifiers of this library inside scikit-learn's meta-estimators, answering as those do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from unnaive.answer import Answer
from unnaive.common.sklearn_private import positive_label


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
    """The classifier of this library inside pipelines, searches and classifiers with a threshold.

    A threshold becomes the decision of the model inside, so that it answers as the wrapper does.
    """
    if _is_ours(model):
        return Inside(model)
    # Only those who have one wait for these imports.
    from sklearn.calibration import CalibratedClassifierCV
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


def _with_threshold(model: Any, inner: Any, threshold: float, positive: Any) -> Inside:
    inside = look_inside(inner)
    if not _is_ours(inside.model):
        return Inside(model)
    return replace(inside, model=inside.model.with_decision(float(threshold), positive=positive))
