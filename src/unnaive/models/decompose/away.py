"""Classes decomposed where their rows are: what is known of a row follows from the row.

Rows are told apart by functions of a block, which travel, instead of by their numbers: those of a
class by its label, those of a pair by the clusters that the class's clusterer finds for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.answer import Answer
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of
from unnaive.models.decompose.relabel import Clustering, Subfit, fit_labels
from unnaive.table import Block, Source
from unnaive.table.picking import Chosen
from unnaive.table.reading import check_against
from unnaive.table.scan import Scan
from unnaive.table.source import keep_rows


def why_together(select: str, clusterer: Any, estimator: Any) -> str | None:
    """Why rows must be told apart by their numbers, on the driver; None where they need not."""
    if select == "accuracy":
        return "select='accuracy' holds out rows by their numbers"
    for part in (clusterer, estimator):
        name, why = type(part).__name__, getattr(part, "_brings_rows", None)
        if why is not None:
            return f"{name}: {why}"
        if not getattr(part, "_learns_unnumbered", False):
            return f"{name}, as it is set, asks for the numbers of rows"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """How the rows of one class are numbered among all pairs: plain data, which is sent to workers.

    Attributes
    ----------
    first : int
        Number of the class's first pair.
    place : array
        Place of each cluster of the clusterer among those that the class's rows have.
    answer : Answer or None
        The clusterer's; None where the class stays whole.
    """

    first: int
    place: NDArray[np.intp]
    answer: Answer | None = None


def decompose_away(
    clusterer: Any, scan: Scan, source: Source, labels: Labels, min_rows: int, subfit: Subfit
) -> tuple[list[Clustering], Chosen]:
    """Clusters of every class, and all rows with their pairs as labels.

    Clusterings have the numbers that rows have instead of those of each row.
    """
    n_rows = source.reduce(partial(_count_rows, labels), np.add, "reading classes")
    clusterings: list[Clustering] = []
    clusters: list[Clusters] = []
    for c, label in enumerate(labels.classes.tolist()):
        first = sum(clustering.n_clusters for clustering in clusterings)
        if n_rows[c] < min_rows:
            clusterings.append(Clustering(np.zeros(1, np.intp), 1))
            clusters.append(Clusters(first, np.zeros(1, np.intp)))
            continue
        rows = Chosen(partial(_of_class, labels, c), source.storage)
        of_class, fresh = replace(scan, picked=rows, check=source.check), clone(clusterer)
        with subfit(fresh, f"clusters of {label!r}"):
            row_clusters = fit_labels(fresh, of_class, int(n_rows[c]), label, None, {})
        used = np.unique(row_clusters)
        clusterings.append(Clustering(used, len(used), clusterer=fresh))
        place = np.searchsorted(used, np.arange(fresh.n_clusters_))
        clusters.append(Clusters(first, place, fresh.answer_))
    return clusterings, Chosen(partial(_pairs_of, labels, clusters), source.storage)


def _weighs(block: Block) -> NDArray[np.bool_]:
    """Rows that count; those of weight zero are the same as absent ones."""
    return np.ones(block.n_rows, bool) if block.weight is None else block.weight > 0.0


def _groups(labels: Labels, block: Block) -> NDArray[Any]:
    assert block.target is not None
    return groups_of(labels, block.target)


def _count_rows(labels: Labels, block: Block) -> NDArray[np.int64]:
    return np.bincount(_groups(labels, block), minlength=len(labels)).astype(np.int64)


def _of_class(labels: Labels, c: int, block: Block) -> tuple[NDArray[np.bool_], None]:
    return (_groups(labels, block) == c) & _weighs(block), None


def _pairs_of(
    labels: Labels, clusters: Sequence[Clusters], block: Block
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    groups, here = _groups(labels, block), _weighs(block)
    pairs = np.zeros(block.n_rows, np.intp)
    for c, of_class in enumerate(clusters):
        rows = (groups == c) & here
        pairs[rows] = of_class.first
        if of_class.answer is not None and rows.any():
            columns = keep_rows(block.columns, rows)
            schema = check_against(of_class.answer.schema, columns)
            part = Block(schema, columns, n_rows=int(rows.sum()))
            pairs[rows] += of_class.place[of_class.answer.joint(part).argmax(axis=1)]
    return here, pairs[here]
