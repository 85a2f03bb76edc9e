"""Probabilities of (class, cluster) pairs folded back to classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from unnaive.models._base import TableClassifier


@dataclass(frozen=True, slots=True, eq=False)
class Folding:
    """What an estimator fitted on pairs says of classes.

    Attributes
    ----------
    model : classifier
        Fitted on pairs, numbered from 0.
    owner : array
        Class number of each pair; pairs stand class by class.
    fold : str
        How the pairs of a class become one: "sum" or "max".
    """

    model: Any
    owner: NDArray[np.intp]
    fold: str

    def predict(self, X: Any, classes: NDArray[Any], name: str) -> Any:
        """The most probable class of each row, out of all classes by number."""
        if not hasattr(self.model, "predict_proba"):
            return classes[self.owner[self.model.predict(X)]]
        owner, fold = self.owner, self.fold
        return _answers(self.model, X, lambda p: most_probable(p, owner, fold, classes), [name])

    def predict_proba(self, X: Any, names: list[str]) -> Any:
        """Probability of each class for each row."""
        owner, fold = self.owner, self.fold
        return _answers(self.model, X, lambda pairs: fold_probabilities(pairs, owner, fold), names)

    def predict_log_proba(self, X: Any, names: list[str]) -> Any:
        """Its logarithm, also where the probability itself is 0."""
        owner, fold = self.owner, self.fold
        return _answers(self.model, X, lambda p: fold_logs(p, owner, fold), names, logs=True)


def _answers(
    model: Any,
    X: Any,
    fold: Callable[[NDArray[np.float64]], NDArray[Any]],
    names: list[str],
    logs: bool = False,
) -> Any:
    """An estimator's probabilities of pairs, folded where the rows are if it is one of ours."""
    if not isinstance(model, TableClassifier):
        return fold(model.predict_log_proba(X) if logs else model.predict_proba(X))
    own = model._sent._log_probabilities if logs else model._sent._probabilities
    return model._open(X).map(lambda block: fold(own(block)), names)


def fold_probabilities(
    pairs: NDArray[np.float64], owner: NDArray[np.intp], fold: str
) -> NDArray[np.float64]:
    """Rows x pairs to rows x the classes that own a pair, in their order.

    "sum" adds the pairs of a class; "max" takes the best and makes the classes sum to 1.
    """
    first = _first_pairs(owner)
    if fold == "sum":
        return np.add.reduceat(pairs, first, axis=1)
    best = np.maximum.reduceat(pairs, first, axis=1)
    return best / best.sum(axis=1, keepdims=True)


def most_probable(
    pairs: NDArray[np.float64], owner: NDArray[np.intp], fold: str, classes: NDArray[Any]
) -> NDArray[Any]:
    """The class of each row, given its probabilities of pairs."""
    best = fold_probabilities(pairs, owner, fold).argmax(axis=1)
    found: NDArray[Any] = classes[np.unique(owner)][best]
    return found


def fold_logs(
    pairs: NDArray[np.float64], owner: NDArray[np.intp], fold: str
) -> NDArray[np.float64]:
    """The same for log probabilities."""
    first = _first_pairs(owner)
    if fold == "sum":
        parts = np.split(pairs, first[1:], axis=1)
        return np.column_stack([logsumexp(part, axis=1) for part in parts])
    best = np.maximum.reduceat(pairs, first, axis=1)
    return best - logsumexp(best, axis=1, keepdims=True)


def _first_pairs(owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """Pairs stand class by class: where each class begins."""
    return np.flatnonzero(np.diff(owner, prepend=-1))
