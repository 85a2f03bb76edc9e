"""Rows of a class to clusters, with any clusterer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from unnaive.common.sklearn_private import check_method_params
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of
from unnaive.table import Block
from unnaive.table.picking import take_rows
from unnaive.table.scan import Scan
from unnaive.table.storage import Storage, stretches

Subfit: TypeAlias = Callable[[Any, str], AbstractContextManager[None]]  # a fit, and its name
NUMBER_NAMES = ("n_clusters", "n_components")


@dataclass(frozen=True, slots=True, eq=False)
class RowLabels:
    """What must be known of all rows: their classes, weights and numbers."""

    PER_ROW: ClassVar = {"groups": 0, "weight": 0, "row_ids": 0}

    groups: NDArray[Any]
    weight: NDArray[np.float64] | None
    row_ids: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block, labels: Labels) -> Self:
        assert block.target is not None
        return cls(groups_of(labels, block.target), block.weight, block.row_ids)


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """Clusters of one class.

    Attributes
    ----------
    labels : array
        Cluster of each row, from 0 on; rows that the clusterer calls noise have the last number.
    n_clusters : int
    noise : bool
        Whether the last cluster is noise.
    clusterer : estimator or None
        The fitted clusterer; None where the class was left whole.
    """

    labels: NDArray[np.intp]
    n_clusters: int
    noise: bool = False
    clusterer: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows whose classes are to be clustered, each class for itself.

    Attributes
    ----------
    clusterer : clusterer
    X : table
    groups : array
        Class number of each row.
    labels : array
        The classes by their numbers.
    min_rows : int
        Classes with fewer rows stay whole.
    params : dict
        For the clusterer's ``fit``.
    storage : Storage
        Where more arrays of rows go.
    """

    clusterer: Any
    X: Any
    groups: NDArray[np.intp]
    labels: NDArray[Any]
    min_rows: int
    params: Any
    storage: Storage

    def rows_of(self, c: int, among: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """Positions of the rows of class number c, among all or some rows."""
        room, groups = self.storage, self.groups
        if among is None:
            return room.where(lambda part: groups[part] == c, len(groups))
        places = room.where(lambda part: groups[among[part]] == c, len(among))
        return room.take(among, places)

    def n_jobs(self, wanted: int | None) -> int | None:
        """Threads that may read the rows, of so many wanted."""
        return 1 if isinstance(self.X, Scan) and not self.X.concurrent else wanted

    def cluster(
        self, c: int, rows: NDArray[np.intp], number: int | None, subfit: Subfit | None = None
    ) -> Clustering:
        """Clusters of rows of class number c: so many, or as the clusterer itself says.

        ``subfit`` makes a task of it that callbacks hear of.
        """
        if number == 1 or len(rows) < self.min_rows:
            return Clustering(self.storage.zeros(len(rows), np.intp), 1)
        label = self.labels[c : c + 1].tolist()[0]
        clusterer = clone(self.clusterer)
        with nullcontext() if subfit is None else subfit(clusterer, f"clusters of {label!r}"):
            return cluster(clusterer, self.X, rows, label, number, self.params, self.storage)

    def cluster_each(
        self,
        numbers: Mapping[int, int | None],
        n_jobs: int | None,
        subfit: Subfit | None = None,
    ) -> list[Clustering]:
        """Clusters of all rows of some classes."""
        clusterings = Parallel(n_jobs=self.n_jobs(n_jobs), prefer="threads")(
            delayed(self.cluster)(c, self.rows_of(c), number, subfit)
            for c, number in numbers.items()
        )
        return list(clusterings)


def join(
    parts: Sequence[tuple[int, NDArray[np.intp], Clustering]], n_rows: int, storage: Storage
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers for (class, cluster) pairs: of each row, and the class of each pair.

    Parts are a class number, the places of its rows, and their clusters; pairs are numbered class
    by class.
    """
    pairs = storage.empty(n_rows, np.intp)
    owner: list[int] = []
    for c, places, clustering in parts:
        for part in stretches(len(places)):
            pairs[places[part]] = len(owner) + clustering.labels[part]
        owner += [c] * clustering.n_clusters
    return pairs, np.array(owner, dtype=np.intp)


def number_parameter(clusterer: Any) -> str | None:
    """The parameter that says how many clusters, also inside a pipeline; None if there is none.

    Its own comes first; then the last step's, which clusters: steps before it, such as a PCA, may
    have a number of components too.
    """
    names = [n for n in clusterer.get_params(deep=True) if n.split("__")[-1] in NUMBER_NAMES]
    outer = [name for name in names if "__" not in name]
    return str((outer or names[-1:])[0]) if names else None


def cluster(
    clusterer: Any,
    X: Any,
    rows: NDArray[np.intp],
    label: Any,
    number: int | None,
    params: Any,
    storage: Storage,
) -> Clustering:
    """Cluster some rows of a table with a fresh clusterer.

    ``number`` replaces the clusterer's own number of clusters; ``params`` go to its ``fit``, those
    with one entry per row cut to the rows.
    """
    part = take_rows(X, rows)
    given = check_method_params(X, params, indices=rows)
    numbers = fit_labels(clusterer, part, len(rows), label, number, given)
    names = np.unique(np.concatenate([np.unique(numbers[part]) for part in stretches(len(rows))]))
    noise = bool(names[0] == -1)
    labels = storage.empty(len(rows), np.intp)
    for part in stretches(len(rows)):
        labels[part] = np.searchsorted(names, numbers[part])
        if noise:  # rows that belong nowhere are a cluster of their own, the last
            labels[part] = (labels[part] - 1) % len(names)
    return Clustering(labels, len(names), noise, clusterer)


def fit_labels(
    clusterer: Any, X: Any, n_rows: int, label: Any, number: int | None, params: Any
) -> NDArray[Any]:
    """Fit a clusterer on the rows of a class, at most so many clusters as rows; their labels."""
    name = number_parameter(clusterer)
    if name is not None:
        n_clusters = clusterer.get_params()[name] if number is None else number
        if isinstance(n_clusters, (int, np.integer)):
            clusterer.set_params(**{name: min(int(n_clusters), n_rows)})
    try:
        return np.asarray(_labels(clusterer, X, params))
    except ValueError as error:
        raise ValueError(
            f"{type(clusterer).__name__} could not cluster the {n_rows} rows of the class "
            f"{label!r}: {str(error).rstrip('.')}. Other libraries' clusterers may need numbers "
            "without gaps: put a preprocessing step before it in a pipeline. If the class is too "
            "small, pass a larger min_rows=."
        ) from error


def _labels(clusterer: Any, X: Any, params: Any) -> Any:
    """Labels of the rows that a clusterer is fitted on, however it tells them."""
    if not hasattr(clusterer, "predict"):
        # Clusterers that cannot predict, alone or at the end of a pipeline.
        return clusterer.fit_predict(X, **params)
    clusterer.fit(X, **params)
    return clusterer.labels_ if hasattr(clusterer, "labels_") else clusterer.predict(X)
