"""Coded rows judged by an ensemble in which they were not counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate_kernels import fill_evidence, replace_own_evidence
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.estimate import first_value
from unnaive.bayes.scoring import TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.coded import CodedRows
from unnaive.encode.draws import draw_uniform
from unnaive.models._calibration import MOST_NUMBERS, JudgedRows, replace_own, take_logs
from unnaive.models.ensemble.rounds import Boosted, class_scores, joined_logs
from unnaive.table.storage import Storage, join_records


def empty_rows(blocks: Sequence[CodedRows], n_classes: int, storage: Storage) -> JudgedRows:
    """The classes and weights of all rows, and room for their scores."""
    n_rows = sum(rows.n_rows for rows in blocks)
    groups, weight = storage.empty(n_rows, np.intp), storage.empty(n_rows, np.float64)
    at = 0
    for rows in blocks:
        here = slice(at, at + rows.n_rows)
        groups[here], weight[here] = rows.groups, 1.0 if rows.weight is None else rows.weight
        at = here.stop
    return JudgedRows(storage.empty((n_rows, n_classes), np.float64), groups, weight)


def draw_calibrating(
    blocks: Sequence[CodedRows], n_numbers: int, storage: Storage
) -> list[NDArray[np.intp]]:
    """Places of the rows of each block that calibrate, where each takes so many numbers.

    All of them; of large tables some, drawn by the rows' numbers.
    """
    n_rows = sum(rows.n_rows for rows in blocks)
    share = MOST_NUMBERS / (n_rows * n_numbers)

    def drawn(rows: CodedRows) -> NDArray[np.intp]:
        if share >= 1.0:
            return np.arange(rows.n_rows)
        ids = rows.row_ids
        return storage.where(lambda part: draw_uniform(0, ids[part]) < share, rows.n_rows)

    return [drawn(rows) for rows in blocks]


def judge_columns(
    blocks: Sequence[CodedRows],
    watched: Sequence[NDArray[np.intp]],
    boosted: Boosted,
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
    storage: Storage,
    n_jobs: int | None = None,
) -> JudgedRows:
    """What each column says of the rows that are watched, by rounds of boosting that add up.

    Each row is left out of every round with the weight that it has there.

    Parameters
    ----------
    boosted : Boosted
        Rounds of the same vote, each with the weights of these rows.
    scorers : tuple of two Scorer
        The evidence of all rounds; and that for a row of the mean weight of its slot that was not
        counted, which serves where nothing is left of a count.
    """
    n_classes, n_columns = len(scorers[0].log_prior), len(scorers[0].terms)

    def judge(k: int, rows: CodedRows) -> JudgedRows:
        units = np.ones((rows.n_rows, len(boosted.made)))
        for r, made in enumerate(boosted.made):
            if made.units:
                units[:, r] = made.units[k]
        scores = storage.empty((rows.n_rows, 1 + n_columns, n_classes), np.float64)
        scores[:, 0], scores[:, 1:] = scorers[0].log_prior, 0.0

        def fill(cells: tuple[int, NDArray[np.uint16], int]) -> None:
            _fill_column(rows, cells, units, boosted, scorers, smoothing, scores[:, 1 + cells[0]])

        in_threads(fill, list(_columns(rows)), n_jobs)
        weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
        return JudgedRows(scores, rows.groups, weight)

    drawn = [rows.take(places, storage) for rows, places in zip(blocks, watched, strict=True)]
    judged = join_records([judge(k, rows) for k, rows in enumerate(drawn)])
    if sum(rows.n_rows for rows in drawn) == sum(rows.n_rows for rows in blocks):
        return judged
    totals = np.zeros(n_classes)
    for rows in blocks:
        totals += np.bincount(rows.groups, rows.weight, n_classes)
    return judged.weigh_classes(totals)


def _columns(rows: CodedRows) -> Iterator[tuple[int, NDArray[np.uint16], int]]:
    """Each column of coded rows: the cells it is in, and the stride of its values among them."""
    for run, codes in zip(rows.joint.runs, rows.joint.codes, strict=True):
        stride = 1
        for j in reversed(run):
            yield j, codes, stride
            stride *= len(rows.joint.places[j])


def _fill_column(
    rows: CodedRows,
    cells: tuple[int, NDArray[np.uint16], int],
    units: NDArray[np.float64],
    boosted: Boosted,
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
    scores: NDArray[np.float64],
) -> None:
    """The evidence of one column (OUT, rows x classes)."""
    j, codes, stride = cells
    term, without = (scorer.terms[j] for scorer in scorers)
    assert isinstance(term, TableTerm)
    assert isinstance(without, TableTerm)
    slots = np.empty(rows.n_rows, dtype=np.intp)
    places, logs = rows.joint.places[j], (term.logs, without.logs)
    fill_evidence(codes, stride, places, rows.groups, *logs, scores, slots)
    counts = np.stack([made.counts.attribute(j) for made in boosted.made], axis=2)
    first = first_value(counts[:, :, 0], smoothing.missing)
    pseudo, n_values = float(smoothing.alpha), counts.shape[1] - 1 - first
    totals = counts[:, first:-1].sum(axis=1)
    given = (counts, totals, pseudo, pseudo * n_values, boosted.votes[0], first)
    replace_own_evidence(slots, rows.groups, units, *given, scores)


def judge_rounds(
    blocks: Sequence[CodedRows],
    rounds: Sequence[tuple[Scorer, Scorer, float]],
    algorithm: str,
    storage: Storage,
    n_jobs: int | None = None,
) -> JudgedRows:
    """Scores of all rows by rounds of boosting.

    Each round is its scorer, the evidence for a row of each class that was not counted, and its
    vote.
    """
    n_classes = len(rounds[0][0].log_prior)
    blocks = [rows.distinct(n_classes) for rows in blocks]
    judged = empty_rows(blocks, n_classes, storage)
    at = 0
    for rows in blocks:
        total = judged.scores[at : at + rows.n_rows]
        total[:] = 0.0
        for scorer, without, vote in rounds:
            scores = coded_scores(rows, scorer, n_jobs)
            replace_own(scores, coded_scores(rows, without, n_jobs), rows.groups)
            total += class_scores(algorithm, scores, vote)
        if algorithm == "probability":
            total[:] = joined_logs(algorithm, total, [vote for _, _, vote in rounds])
        elif algorithm != "real":  # as the calibrated vote will see them
            total[:] = probabilities(total, n_jobs)
            take_logs(total)
        at += rows.n_rows
    return judged
