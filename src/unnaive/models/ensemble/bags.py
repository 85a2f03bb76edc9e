"""Bags: Poisson draws of coded rows, counted and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.nodes import MemberOutput, outputs_of_scores
from unnaive.bayes import Scorer
from unnaive.bayes.base_rates import find_heard
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.coded import coded_scores
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.encoded_rows import CodedRows, add_lanes, add_marginals
from unnaive.encode.coders import AnyCoder, coder_sizes
from unnaive.encode.hashing import LANE_ROWS as ROWS
from unnaive.encode.hashing import draw_poisson, lane
from unnaive.models._calibration import take_logs
from unnaive.models._judged_rows import JudgedRows, rare_classes
from unnaive.models._row_draw import RowDraw
from unnaive.models.ensemble.left_out import draw_rows, empty_rows
from unnaive.table.storage import Storage, stretches


def count_bags(
    rows: CodedRows,
    coders: Sequence[AnyCoder],
    n_groups: int,
    seeds: NDArray[np.uint64],
    mean: float,
    n_jobs: int | None = None,
) -> list[CountTable]:
    """The table of each bag, all counted in one pass over rows."""
    tables = [CountTable.empty(n_groups, coder_sizes(coders)) for _ in seeds]

    def count(part: slice) -> NDArray[Any]:
        words = draw_poisson(seeds, rows.numbers_of(part), mean)
        if rows.weight is None:  # bags that share a word are counted together
            return np.stack([rows.count(part, n_groups, word) for word in words])
        given = rows.weight[part]
        each = [rows.count(part, n_groups, lane(words, b) * given) for b in range(len(seeds))]
        return np.stack(each)

    whole = np.zeros((len(seeds), rows.joint.starts[-1] * n_groups))
    for counts in in_threads(count, rows.stretches(ROWS), n_jobs):
        if rows.weight is None:
            add_lanes(counts, whole)
        else:
            whole += counts
    for table, cells in zip(tables, whole, strict=True):
        add_marginals(rows.joint, cells, table)
    return tables


@dataclass(frozen=True, slots=True, eq=False)
class BagVotes:
    """What bags say of the rows of a record: those that a row is not in, and all of them.

    Votes of the first are NaN where a row is in every bag, and those of all are None where nobody
    asks for them.
    """

    judged: JudgedRows
    everyone: JudgedRows | None

    def take(self, rows: NDArray[np.intp]) -> BagVotes:
        """The votes on some rows."""
        every = None if self.everyone is None else self.everyone.take(rows)
        return BagVotes(self.judged.take(rows), every)

    def as_logs(self, storage: Storage) -> BagVotes:
        """Both as a calibration takes them: logarithms, and no weight where no bag judges."""
        scores, weight = storage.copy(self.judged.scores), storage.copy(self.judged.weight)
        for part in stretches(len(weight)):
            in_all = np.isnan(scores[part, 0])
            scores[part][in_all], weight[part][in_all] = 1.0, 0.0
        take_logs(scores)
        everyone = self.everyone
        if everyone is not None:
            everyone = replace(everyone, scores=storage.copy(everyone.scores))
            take_logs(everyone.scores)
        return BagVotes(JudgedRows(scores, self.judged.groups, weight), everyone)


@dataclass(frozen=True, slots=True, eq=False)
class BagJudge:
    """Bags that judge the rows they do not hold; ``all_too`` asks for the votes of all bags,
    ``draw`` says which rows are judged, and ``matters`` which of these.
    """

    bags: Sequence[Scorer]
    seeds: NDArray[np.uint64]
    n_classes: int
    mean: float
    member_output: MemberOutput
    all_too: bool
    storage: Storage
    n_jobs: int | None
    draw: RowDraw | None = None
    matters: Callable[[CodedRows], NDArray[np.intp]] | None = None

    def __call__(self, rows: CodedRows, _state: Any) -> tuple[BagVotes, NDArray[np.float64]]:
        rows, drawn = draw_rows(self.draw, rows, self.n_classes, self.storage)
        if self.matters is not None:
            rows = rows.take(self.matters(rows), self.storage)
        judged, everyone = empty_rows(rows, self.n_classes, self.storage), None
        if self.all_too:
            everyone = empty_rows(rows, self.n_classes, self.storage)
            everyone.scores[:] = 0.0
        judged.scores[:] = out_of_bag(
            rows, self.bags, self.seeds, self.n_classes, self.mean,
            partial(outputs_of_scores, self.member_output), self.n_jobs,
            None if everyone is None else everyone.scores,
        )  # fmt: skip
        return BagVotes(judged, everyone), drawn


def rare_places(
    scorer: Scorer,
    calibration: Calibration,
    totals: NDArray[np.float64],
    n_jobs: int | None,
    rows: CodedRows,
) -> NDArray[np.intp]:
    """Places of rows in which rare classes, as ``totals`` says, may have a say by naive Bayes: it
    finds them nearly as likely as its bags do, and at once.
    """
    scores, shares = coded_scores(rows, scorer, n_jobs), totals / totals.sum()
    return find_heard(scores, rows.groups, calibration, shares, rare_classes(totals))


def votes_as_logs(
    storage: Storage, n_classes: int, draw: RowDraw | None, rows: CodedRows, votes: BagVotes
) -> tuple[BagVotes, NDArray[np.float64]]:
    """The step from votes to logarithms of them, or of those on rows that are drawn now."""
    some, drawn = draw_rows(draw, rows, n_classes, storage)
    if some.n_rows < len(votes.judged.groups):
        assert draw is not None
        votes = votes.take(draw.places_of(rows))
    return votes.as_logs(storage), drawn


def judged_by_some(_record: Any, votes: BagVotes) -> JudgedRows:
    """Rows as the bags judge them that do not hold them."""
    return votes.judged


def judged_by_all(_record: Any, votes: BagVotes) -> JudgedRows:
    """Rows as all bags judge them."""
    assert votes.everyone is not None
    return votes.everyone


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
