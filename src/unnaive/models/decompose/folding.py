"""Probabilities of (class, cluster) pairs folded back to classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp


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
