"""How many clusters each class should have, judged by held-out accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from unnaive.models.decompose.relabel import Clustering

# Clusters of the class (number) among these rows, in so many clusters (None: the clusterer's own).
MakeClusters = Callable[[int, NDArray[np.intp], int | None], Clustering]
Numbers = tuple[int, ...]


@dataclass(eq=False)
class Judge:
    """Held-out accuracy of a decomposition; clusters are found in training rows alone.

    Attributes
    ----------
    estimator : estimator
        What is trained on pairs of class and cluster.
    X, classes, weight : table and arrays
        Rows, their class numbers and weights.
    folds : array
        The fold that holds each row out.
    make : callable
    fold_pairs : callable
        From a fitted estimator, the class of each pair, and rows, to class numbers.
    params : dict
        For the estimator's ``fit``.
    """

    estimator: Any
    X: Any
    classes: NDArray[np.intp]
    weight: NDArray[np.float64]
    folds: NDArray[np.int64]
    make: MakeClusters
    fold_pairs: Callable[[Any, NDArray[np.intp], Any], NDArray[np.intp]]
    params: Any
    n_jobs: int | None
    scores: dict[Numbers, float] = field(default_factory=dict)
    clusters: dict[tuple[int, int, int], Clustering] = field(default_factory=dict)

    def score(self, numbers: Sequence[int]) -> float:
        """Weight of the rows classified rightly while held out."""
        key = tuple(numbers)
        if key not in self.scores:
            each = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._held_out)(fold, key) for fold in np.unique(self.folds)
            )
            self.scores[key] = float(np.sum(each))
        return self.scores[key]

    def _held_out(self, fold: int, numbers: Numbers) -> float:
        train = np.flatnonzero(self.folds != fold)
        test = np.flatnonzero(self.folds == fold)
        if not len(train):
            return 0.0
        pairs, owner = self._pairs(fold, train, numbers)
        X, params = self.X, self.params
        model = clone(self.estimator).fit(
            _safe_indexing(X, train), pairs, **_check_method_params(X, params, indices=train)
        )
        found = self.fold_pairs(model, owner, _safe_indexing(X, test))
        return float(self.weight[test][found == self.classes[test]].sum())

    def _pairs(
        self, fold: int, train: NDArray[np.intp], numbers: Numbers
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        pairs = np.empty(len(train), dtype=np.intp)
        owner: list[int] = []
        for c, number in enumerate(numbers):
            own = np.flatnonzero(self.classes[train] == c)
            if not len(own):
                continue
            key = (fold, c, number)
            if key not in self.clusters:
                self.clusters[key] = self.make(c, train[own], number)
            found = self.clusters[key]
            pairs[own] = len(owner) + found.labels
            owner += [c] * found.n_clusters
        return pairs, np.array(owner, dtype=np.intp)


def choose_numbers(judge: Judge, proposed: Sequence[int], can_grow: bool, most: int) -> list[int]:
    """Numbers of clusters that gain held-out accuracy, starting from the clusterer's proposal.

    The proposal as a whole must beat no decomposition. Then every class in turn, the largest first,
    is made whole again if that costs nothing, and otherwise gets one cluster more while that gains.
    """
    proposal = list(proposed)
    best = [1] * len(proposal)
    if judge.score(proposal) > judge.score(best):
        best = proposal
    sizes = np.bincount(judge.classes, judge.weight, minlength=len(best))
    for c in np.argsort(-sizes, kind="stable"):
        if proposal[c] == 1 and not can_grow:
            continue
        merged = [*best[:c], 1, *best[c + 1 :]]
        if best[c] > 1 and judge.score(merged) >= judge.score(best):
            best = merged
        while True:
            step = best[c] + 1 if can_grow else proposal[c]
            more = [*best[:c], step, *best[c + 1 :]]
            if step == best[c] or step > most or not judge.score(more) > judge.score(best):
                break
            best = more
    return best
