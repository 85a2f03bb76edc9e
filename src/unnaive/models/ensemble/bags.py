"""Bags: Poisson draws of coded rows, counted and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.coded import coded_scores
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.coded import CodedRows, add_lanes, add_marginals
from unnaive.encode.coding import AnyCoder, coder_sizes
from unnaive.encode.draws import LANE_ROWS as ROWS
from unnaive.encode.draws import draw_poisson, lane
from unnaive.estimator import Progress


def count_bags(
    blocks: Sequence[CodedRows],
    coders: Sequence[AnyCoder],
    n_groups: int,
    seeds: NDArray[np.uint64],
    mean: float,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[CountTable]:
    """The table of each bag, all counted in one pass over the rows; ``progress`` counts them."""
    tables = [CountTable.empty(n_groups, coder_sizes(coders)) for _ in seeds]
    for rows in blocks:

        def count(part: slice, rows: CodedRows = rows) -> NDArray[Any]:
            words = draw_poisson(seeds, rows.row_ids[part], mean)
            if rows.weight is None:  # bags that share a word are counted together
                return np.stack([rows.count(part, n_groups, word) for word in words])
            given = rows.weight[part]
            own = [rows.count(part, n_groups, lane(words, b) * given) for b in range(len(seeds))]
            return np.stack(own)

        whole = np.zeros((len(seeds), rows.joint.starts[-1] * n_groups))
        for found in in_threads(count, rows.stretches(ROWS), n_jobs):
            if rows.weight is None:
                add_lanes(found, whole)
            else:
                whole += found
        for table, own in zip(tables, whole, strict=True):
            add_marginals(rows.joint, own, table)
        if progress is not None:
            progress.add(rows.n_rows)
    return tables


def out_of_bag(
    rows: CodedRows,
    bags: Sequence[Scorer],
    seeds: NDArray[np.uint64],
    n_classes: int,
    mean: float,
    vote: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    n_jobs: int | None = None,
    everyone: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Mean vote on each row of the bags that did not draw it; NaN where all did.

    ``everyone`` (OUT, rows x classes) gets the mean vote of all bags.
    """
    words = draw_poisson(seeds, rows.row_ids, mean)
    total = np.zeros((rows.n_rows, n_classes))
    n = np.zeros((rows.n_rows, 1))
    for b, scorer in enumerate(bags):
        out = (lane(words, b) == 0)[:, None]
        votes = vote(coded_scores(rows, scorer, n_jobs))
        if everyone is not None:
            everyone += votes / len(bags)
        total += np.where(out, votes, 0.0)
        n += out
    return np.where(n > 0, total, np.nan) / np.maximum(n, 1)
