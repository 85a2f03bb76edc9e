"""Rows to learn from, and rows that are held out to see when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unnaive.counts.coded import CodedRows
from unnaive.encode.draws import draw_uniform
from unnaive.models.ensemble.base import Start
from unnaive.table.records import Records
from unnaive.table.storage import Storage


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """The rows of a block: those to learn from, and those held out, if any are."""

    learning: CodedRows
    held_out: CodedRows | None = None

    @property
    def n_rows(self) -> int:
        return self.learning.n_rows + (0 if self.held_out is None else self.held_out.n_rows)


def learning_rows(record: SplitRows) -> CodedRows:
    """The rows that rounds learn from."""
    return record.learning


class Split(NamedTuple):
    """All rows, where they are; how many are learned from, what these weigh, and whether some are
    held out.
    """

    records: Records[SplitRows]
    n_learning: int
    weight: float
    holds_out: bool


def split_rows(start: Start, share: float) -> Split:
    """All rows, of which a share is held out; all learn where either would be none."""
    if share > 0.0:
        records, ((n_learning, weight), n_held_out) = start.records(
            partial(_hold_out, start.seed, share), _add_shares
        )
        if n_learning and n_held_out:
            return Split(records, n_learning, weight, True)
        records.release()
    records, (n_learning, weight) = start.records(_all_learn, add_pairs)
    return Split(records, n_learning, weight, False)


def add_pairs(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """Sum two pairs, each half by itself."""
    return a[0] + b[0], a[1] + b[1]


def _add_shares(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    return add_pairs(a[0], b[0]), a[1] + b[1]


def _all_learn(rows: CodedRows) -> tuple[SplitRows, tuple[int, float]]:
    return SplitRows(rows), _size(rows)


def _hold_out(
    seed: int, share: float, rows: CodedRows
) -> tuple[SplitRows, tuple[tuple[int, float], int]]:
    """The rows of a block parted by their numbers, and how many there are of both."""
    watch = draw_uniform(seed, rows.row_ids) < share
    learning, held_out = (rows.take(np.flatnonzero(part), Storage()) for part in (~watch, watch))
    return SplitRows(learning, held_out), (_size(learning), held_out.n_rows)


def _size(rows: CodedRows) -> tuple[int, float]:
    """How many rows there are, and what they weigh."""
    return rows.n_rows, float(rows.n_rows if rows.weight is None else rows.weight.sum())
