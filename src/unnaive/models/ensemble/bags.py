"""Bags: Poisson draws of coded rows, counted and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer, coded_scores
from unnaive.counts import CodedRows, CountTable, add_marginals
from unnaive.encode import AnyCoder, coder_sizes, draw_poisson, lane
from unnaive.table import in_threads


def count_bags(
    blocks: Sequence[CodedRows],
    coders: Sequence[AnyCoder],
    n_groups: int,
    seeds: NDArray[np.uint64],
    mean: float,
    n_jobs: int | None = None,
) -> list[CountTable]:
    """The table of each bag, all counted in one pass over the rows."""
    tables = [CountTable.empty(n_groups, coder_sizes(coders)) for _ in seeds]
    for rows in blocks:

        def count(part: slice, rows: CodedRows = rows) -> list[NDArray[np.float64]]:
            words = draw_poisson(seeds, rows.row_ids[part], mean)
            if rows.weight is None:  # bags that share a word are counted together
                found = np.stack([rows.count(part, n_groups, word) for word in words])
                return [lane(found, b).astype(np.float64) for b in range(len(seeds))]
            given = rows.weight[part]
            return [rows.count(part, n_groups, lane(words, b) * given) for b in range(len(seeds))]

        sums = [np.zeros(1)] * len(seeds)
        for found in in_threads(count, rows.stretches(), n_jobs):
            sums = [whole + own for whole, own in zip(sums, found, strict=True)]
        for table, whole in zip(tables, sums, strict=True):
            add_marginals(rows.joint, whole, table)
    return tables


def out_of_bag(
    rows: CodedRows,
    bags: Sequence[Scorer],
    seeds: NDArray[np.uint64],
    mean: float,
    vote: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Mean vote on each row of the bags that did not draw it; NaN where all did."""
    words = draw_poisson(seeds, rows.row_ids, mean)
    total = np.zeros((rows.n_rows, len(bags[0].log_prior)))
    n = np.zeros((rows.n_rows, 1))
    for b, scorer in enumerate(bags):
        out = (lane(words, b) == 0)[:, None]
        total += np.where(out, vote(coded_scores(rows, scorer, n_jobs)), 0.0)
        n += out
    return np.where(n > 0, total, np.nan) / np.maximum(n, 1)
