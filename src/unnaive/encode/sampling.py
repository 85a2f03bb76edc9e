"""Rows of a source, or a random sample of them, as a table in memory."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.encode.hashing import draw_uniform
from unnaive.encode.labels import Labels, label_groups, merge_labels, refuse_mixed
from unnaive.table import Block, Source
from unnaive.table.source import join_answers

LEAST_OF_CLASS = 256  # rows of a class, expected in a sample


class RowSample(NamedTuple):
    """Rows in memory, in the order of their numbers.

    Attributes
    ----------
    X : table
    y : array of shape (rows,)
    sample_weight : array of shape (rows,) or None
    row_ids : array of shape (rows,)
        Numbers of the rows in the source.
    n_rows : int
        How many rows the source has.
    """

    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    row_ids: NDArray[np.int64]
    n_rows: int


class _Classes(NamedTuple):
    """The classes of some rows, and how many rows each has."""

    labels: Labels
    n_rows: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block) -> _Classes:
        assert block.target is not None
        labels, groups = label_groups(block.target)
        return cls(labels, np.bincount(groups, minlength=len(labels)))

    def __add__(self, other: _Classes) -> _Classes:  # type: ignore[override]
        refuse_mixed(self.labels, other.labels)
        labels, places = merge_labels([self.labels, other.labels])
        n_rows = np.zeros(len(labels), np.int64)
        for place, part in zip(places, (self, other), strict=True):
            n_rows[place] += part.n_rows
        return _Classes(labels, n_rows)


def sample_rows(source: Source, max_rows: int, seed: int) -> RowSample:
    """Return all rows of a source, or about ``max_rows`` of them if it has more.

    Rows are drawn by a hash of the seed and their number. Every class is in the sample: of rare
    classes a larger share is drawn.
    """
    n_rows: int | None = getattr(source, "n_rows", None)
    labels, share = Labels(np.zeros(0)), np.ones(0)
    if n_rows is None or n_rows > max_rows:
        labels, n_of_class = source.reduce(_Classes.of, _Classes.__add__, "counting classes")
        n_rows = int(n_of_class.sum())
        if n_rows > max_rows:
            share = np.maximum(max_rows / n_rows, LEAST_OF_CLASS / n_of_class)
    draw = partial(_draw, labels, share if len(share) else None, seed)
    tables, parts, weights, ids = zip(*source.each(draw, "reading rows"), strict=True)
    for part, _ in parts:
        refuse_mixed(parts[0][0], part)
    merged, places = merge_labels([part for part, _ in parts])
    pairs = zip(places, (groups for _, groups in parts), strict=True)
    y = merged.classes[np.concatenate([place[groups] for place, groups in pairs])]
    row_ids = np.concatenate(ids)
    order = np.argsort(row_ids, kind="stable")
    X = nw.from_native(join_answers(t for t in tables if len(t)), eager_only=True)
    coded = source.reader.coded if hasattr(source, "reader") else ()
    X = X.with_columns(*(nw.col(name).cast(nw.String) for name in coded if name in X.columns))
    weight = None if weights[0] is None else np.concatenate(weights)[order]
    return RowSample(X[order].to_native(), y[order], weight, row_ids[order], n_rows)


def _draw(labels: Labels, share: NDArray[np.float64] | None, seed: int, block: Block) -> Any:
    """Return the drawn rows of a block: table, labels, weights and numbers."""
    assert block.target is not None
    if share is not None:
        present, groups = label_groups(block.target)
        _, (place, own) = merge_labels([labels, present])
        of_class = np.zeros(len(place) + len(own))  # a class that is new in this pass has no share
        of_class[place] = share
        drawn = draw_uniform(seed, block.row_ids) < of_class[own[groups]]
        block = block.take(np.flatnonzero(drawn))
    assert block.target is not None
    if not block.n_rows:
        return block.native(), (labels, np.zeros(0, np.intp)), block.weight, block.row_ids
    return block.native(), label_groups(block.target), block.weight, block.row_ids
