"""Rows that are not in memory, to compare and to pool models on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from unnaive.choose.reading import LabelledRows, LabelledTable, read_table, refuse_few
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of, label_groups, merge_labels, refuse_mixed
from unnaive.estimator.base import need_target
from unnaive.models.base import leaves_answer
from unnaive.models.decompose.relabel import RowLabels
from unnaive.table import Block, Schema, Source, open_table, scan_of
from unnaive.table.passes import ANSWERING, changed_rows
from unnaive.table.picking import Picked, take_rows
from unnaive.table.scan import CLUSTERS, Scan, kind_of
from unnaive.table.source import join_answers
from unnaive.table.storage import Storage, join, stretches

SOME_PASSES = 4  # that a fit takes over the rows, where a model does not say how many


class _Kinds(NamedTuple):
    """What must be known of all rows before their classes can be numbered."""

    n_rows: int
    labels: Labels
    schema: Schema

    @classmethod
    def of(cls, block: Block) -> _Kinds:
        assert block.target is not None
        return cls(block.n_rows, label_groups(block.target)[0], block.schema)

    def join(self, other: _Kinds) -> _Kinds:
        refuse_mixed(self.labels, other.labels)
        labels, _ = merge_labels([self.labels, other.labels])
        return _Kinds(self.n_rows + other.n_rows, labels, self.schema + other.schema)


@dataclass(frozen=True, eq=False)
class ScannedRows(LabelledRows):
    """Rows of files or of another engine, read by every model for itself.

    Attributes
    ----------
    scan : Scan
        Has picked the rows, in the order of their numbers, and keeps the checksums of the first
        pass.
    n_jobs : int or None
        Threads of the answers.
    seconds : float
        That one pass over the rows took.
    stays : bool
        Whether all rows together may stay on the workers of a cluster: their numbers are places.
    """

    scan: Scan
    n_jobs: int | None
    seconds: float
    stays: bool

    def fit(self, estimator: Any, rows: NDArray[np.intp]) -> Any:
        every = self.stays and len(rows) == len(self) and np.array_equal(rows, self.places)
        scan = replace(self.scan, picked=None) if every else take_rows(self.scan, rows)
        return clone(estimator).fit(scan)

    def predict_proba(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        answer, n_jobs = model.answer_, self.n_jobs
        columns = groups_of(self.labels, np.asarray(model.classes_))

        def ask(block: Block) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
            return block.row_ids, answer.probabilities(block, n_jobs)

        p, n_rows = self.storage.zeros((len(rows), len(self.labels))), 0
        for places, each in model._open(take_rows(self.scan, rows)).each(ask, ANSWERING):
            p[np.ix_(places, columns)] = each
            n_rows += len(places)
        if n_rows != len(rows):
            raise changed_rows(f"{len(rows):,} rows were picked, and {n_rows:,} of them are there")
        return p

    def decided(self, model: Any, rows: NDArray[np.intp]) -> None:  # noqa: ARG002
        return None

    def sample(self, rows: NDArray[np.intp]) -> LabelledTable:
        scan = take_rows(replace(self.scan.unlabelled, weight=None), rows)
        source = open_table(BaseEstimator(), scan, fitted=self.schema)
        pieces = list(source.each(lambda block: (block.row_ids, block.native()), ANSWERING))
        X = join_answers(piece for _, piece in pieces)
        rows = rows[np.concatenate([places for places, _ in pieces])]  # as they came
        weight = None if self.weight is None else self.weight[rows]
        categories = [c.name for c in self.schema if c.kind == "categorical"]
        return read_table(X, self.labels.classes[self.groups[rows]], weight, categories)

    def pass_seconds(self, estimator: Any) -> float:
        return self.seconds * (getattr(estimator, "_n_passes", None) or SOME_PASSES)


def read_labelled(
    X: Any, y: Any, sample_weight: Any, categorical_features: Any, n_jobs: int | None = None
) -> LabelledRows:
    """The rows that ``fit(X, y, sample_weight)`` means, in memory or not, checked."""
    scan = scan_of(X, y, sample_weight)
    if scan is None:
        return read_table(X, y, sample_weight, categorical_features)
    return read_scan(scan, categorical_features, n_jobs)


def refuse_foreign(estimators: Mapping[str, Any]) -> None:
    """Only models of this library read rows that are not in memory."""
    for name, estimator in estimators.items():
        if not leaves_answer(estimator):
            raise TypeError(
                f"estimators has {name!r}, a {type(estimator).__name__} of another library, which "
                "needs all rows in memory: read them, or a sample of them, first."
            )


def read_scan(scan: Scan, categorical_features: Any, n_jobs: int | None) -> ScannedRows:
    """Numbers, classes and weights of the rows of a scan, in two passes."""
    need_target(scan)
    source = open_table(BaseEstimator(), scan, categorical_features=categorical_features)
    kinds = source.reduce(_Kinds.of, _Kinds.join, "looking at classes")
    refuse_few(kinds.n_rows)
    start = time.perf_counter()
    labels = kinds.labels
    number = partial(RowLabels.of, labels=labels)
    rows = _sorted(join(source, number, kinds.n_rows, "reading classes"), source.storage)
    seconds = time.perf_counter() - start
    n, ids = kinds.n_rows, rows.row_ids  # ascending
    places = len(ids) == n and (ids[0], ids[-1]) == (0, n - 1)
    return ScannedRows(
        kinds.schema, labels, rows.groups, rows.weight, rows.row_ids, source.storage,
        _picked(scan, source, rows.row_ids), n_jobs, seconds,
        places and scan.picked is None and kind_of(scan.data) in CLUSTERS,
    )  # fmt: skip


def _sorted(rows: RowLabels, room: Storage) -> RowLabels:
    """In the order of their numbers."""
    ids = rows.row_ids
    if all((np.diff(ids[part.start : part.stop + 1]) > 0).all() for part in stretches(len(ids))):
        return rows
    order = room.argsort(ids)
    weight = None if rows.weight is None else room.take(rows.weight, order)
    return RowLabels(room.take(rows.groups, order), weight, room.take(ids, order))


def _picked(scan: Scan, source: Source, row_ids: NDArray[np.int64]) -> Scan:
    """The scan with its rows in the order of their numbers."""
    if scan.picked is None:
        return replace(scan, picked=Picked(row_ids, source.storage, keep_labels=True))
    return replace(scan, picked=scan.picked.take(row_ids))  # in an ensemble: places in its own list
