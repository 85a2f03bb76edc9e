"""One model of several, as if it had seen all their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from unnaive.estimator import AdditiveEstimator
from unnaive.estimator.about import About


def merge(models: Iterable[Any]) -> Any:
    """Merge fitted models of the same kind into the model of all their rows together.

    Categories, classes and value ranges that only one of them has seen are joined.

    Parameters
    ----------
    models : iterable of estimators
        Fitted, with equal parameters, and not made compact.

    Returns
    -------
    estimator
        A new model; the given ones stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier, merge
    >>> X, y = load_iris(return_X_y=True)
    >>> first = NaiveBayesClassifier().fit(X[:80], y[:80])
    >>> second = NaiveBayesClassifier().fit(X[80:], y[80:])
    >>> whole = NaiveBayesClassifier().fit(X, y)
    >>> np.array_equal(merge([first, second]).predict_proba(X), whole.predict_proba(X))
    True
    """
    models = list(models)
    if not models:
        raise ValueError("merge needs at least one model; got none.")
    first = models[0]
    for model in models:
        if not isinstance(model, AdditiveEstimator):
            raise TypeError(
                f"{type(model).__name__} cannot be merged: only models that learn from sums "
                "alone can, such as NaiveBayesClassifier and Discretizer."
            )
        if type(model) is not type(first):
            raise TypeError(f"cannot merge {type(first).__name__} with {type(model).__name__}.")
        _check_same_parameters(first, model)
    merged = clone(first)._merge(models)
    merged._about = About(first._about.target)
    return merged


def _check_same_parameters(a: Any, b: Any) -> None:
    other = b.get_params()
    for name, value in a.get_params().items():
        same = repr(value) == repr(other[name]) or (
            isinstance(value, Mapping) and value == other[name]
        )
        if name != "n_jobs" and not same:
            raise ValueError(
                f"the models differ in {name}: {value!r} and {other[name]!r}; "
                "only models with equal parameters can be merged."
            )
