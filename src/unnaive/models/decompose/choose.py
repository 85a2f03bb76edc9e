"""How many clusters each class should have, judged by held-out accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from unnaive.answer import Answer, Folded
from unnaive.answer.nodes import Foreign
from unnaive.common.sklearn_private import check_method_params
from unnaive.models.decompose.relabel import ClassRows, Clustering, join, number_parameter
from unnaive.table.picking import take_rows
from unnaive.table.storage import stretches

Numbers = tuple[int, ...]


@dataclass(eq=False)
class Judge:
    """Held-out accuracy of a decomposition; clusters are found in training rows alone.

    Attributes
    ----------
    rows : ClassRows
    estimator : estimator
        What is trained on pairs of class and cluster.
    params : dict
        For the estimator's ``fit``.
    weight, folds : arrays
        The weight of each row, and the fold that holds it out.
    fold : str
        How pairs become classes again.
    """

    rows: ClassRows
    estimator: Any
    params: Any
    weight: NDArray[np.float64]
    folds: NDArray[np.int64]
    fold: Literal["sum", "max"]
    n_jobs: int | None
    scores: dict[Numbers, float] = field(default_factory=dict)
    clusters: dict[tuple[int, int, int], Clustering] = field(default_factory=dict)

    def score(self, numbers: Sequence[int]) -> float:
        """Weight of the rows classified rightly while held out."""
        key = tuple(numbers)
        if key not in self.scores:
            each = Parallel(n_jobs=self.rows.n_jobs(self.n_jobs), prefer="threads")(
                delayed(self._held_out)(fold, key) for fold in np.unique(self.folds)
            )
            self.scores[key] = float(np.sum(each))
        return self.scores[key]

    def _held_out(self, fold: int, numbers: Numbers) -> float:
        folds, room = self.folds, self.rows.storage
        train = room.where(lambda part: folds[part] != fold, len(folds))
        test = room.where(lambda part: folds[part] == fold, len(folds))
        if not len(train):
            return 0.0
        pairs, owner = self._pairs(fold, train, numbers)
        X, groups = self.rows.X, self.rows.groups
        model = clone(self.estimator).fit(
            take_rows(X, train), pairs, **check_method_params(X, self.params, indices=train)
        )
        predicted = self._predict(model, owner, take_rows(X, test))
        right = room.where(lambda part: predicted[part] == groups[test[part]], len(test))
        return float(room.take(self.weight, room.take(test, right)).sum())

    def _predict(self, model: Any, owner: NDArray[np.intp], X: Any) -> NDArray[np.intp]:
        """The number of each row's class; classes without training rows are never answered."""
        present, owner = np.unique(owner, return_inverse=True)
        inner = Answer.of(model, None)
        node = Folded(owner, self.fold, inner.root)
        if isinstance(inner.root, Foreign):  # rows are in memory
            if not hasattr(model, "predict_proba"):
                return present[owner[model.predict(X)]]
            return present[node.group(model.predict_proba(X)).argmax(axis=1)]
        answer = Answer(inner.schema, present, node)
        classes: NDArray[np.intp] = model._open(X).map(answer.predict, ["class"])
        return classes

    def _pairs(
        self, fold: int, train: NDArray[np.intp], numbers: Numbers
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        parts = []
        for c, number in enumerate(numbers):
            rows = self.rows.rows_of(c, train)
            if len(rows):
                key = (fold, c, number)
                if key not in self.clusters:  # the clusterer itself is not needed again
                    clustering = self.rows.cluster(c, rows, number)
                    self.clusters[key] = replace(clustering, clusterer=None)
                parts.append((c, self._places(train, rows), self.clusters[key]))
        return join(parts, len(train), self.rows.storage)

    def _places(self, train: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where some of the training rows stand among them."""
        places = self.rows.storage.empty(len(rows), np.intp)
        for part in stretches(len(rows)):
            places[part] = np.searchsorted(train, rows[part])
        return places


def choose_clusters(judge: Judge, clusterings: list[Clustering], most: int) -> None:
    """Put other clusterings in place where held-out accuracy says so."""
    proposed = [clusters.n_clusters for clusters in clusterings]
    can_grow = number_parameter(judge.rows.clusterer) is not None
    chosen = choose_numbers(judge, proposed, can_grow, most)
    changed = {c: number for c, number in enumerate(chosen) if number != proposed[c]}
    for c, clusters in zip(changed, judge.rows.cluster_each(changed, judge.n_jobs), strict=True):
        clusterings[c] = clusters


def choose_numbers(judge: Judge, proposed: Sequence[int], can_grow: bool, most: int) -> list[int]:
    """Numbers of clusters that gain held-out accuracy, starting from the clusterer's proposal.

    The proposal as a whole must beat no decomposition. Then every class in turn, the largest first,
    is made whole again if that costs nothing, and otherwise gets one cluster more while that gains.
    """
    proposal = list(proposed)
    best = [1] * len(proposal)
    if judge.score(proposal) > judge.score(best):
        best = proposal
    sizes = np.bincount(judge.rows.groups, judge.weight, minlength=len(best))
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
