"""One model of several, as if it had seen all their rows; and the inverse of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from unnaive.estimator import AdditiveEstimator
from unnaive.estimator.base import About


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
    _check_models(models, "merged")
    merged = clone(models[0])._merge(models)
    merged._about = About(models[0]._about.target)
    return merged


def subtract(model: Any, part: Any) -> Any:
    """Take the rows of one fitted model out of another: the inverse of `merge`.

    Parameters
    ----------
    model : estimator
        Fitted, and not made compact.
    part : estimator
        Fitted, with equal parameters, on some of the rows of ``model``. A part that has counted
        what ``model`` has not is refused.

    Returns
    -------
    estimator
        A new model, as if fitted on the other rows; the given ones stay as they are. See the
        method ``forget`` for what is exact.

    See Also
    --------
    merge : The model of all rows of several.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier, subtract
    >>> X, y = load_iris(return_X_y=True)
    >>> whole = NaiveBayesClassifier().fit(X, y)
    >>> part = NaiveBayesClassifier().fit(X[120:], y[120:])
    >>> rest = NaiveBayesClassifier().fit(X[:120], y[:120])
    >>> np.array_equal(subtract(whole, part).predict_proba(X), rest.predict_proba(X))
    True
    """
    _check_models([model, part], "subtracted")
    rest = clone(model)._subtract(model, part)
    rest._about = About(model._about.target)
    return rest


def learns_from_sums(model: Any) -> bool:
    """Whether an estimator learns from sums alone, so that it can be updated and merged."""
    return isinstance(model, AdditiveEstimator)


def _check_models(models: list[Any], verb: str) -> None:
    first = models[0]
    for model in models:
        if not learns_from_sums(model):
            raise TypeError(
                f"{type(model).__name__} cannot be {verb}: only models that learn from sums "
                "alone can, such as NaiveBayesClassifier and Discretizer."
            )
        if type(model) is not type(first):
            both = f"{type(first).__name__} with {type(model).__name__}"
            raise TypeError(f"{both} cannot be {verb}.")
        _check_same_parameters(first, model, verb)


def _check_same_parameters(a: Any, b: Any, verb: str) -> None:
    other = b.get_params()
    for name, value in a.get_params().items():
        same = repr(value) == repr(other[name]) or (
            isinstance(value, Mapping) and value == other[name]
        )
        if name != "n_jobs" and not same:
            raise ValueError(
                f"the models differ in {name}: {value!r} and {other[name]!r}; "
                f"only models with equal parameters can be {verb}."
            )
