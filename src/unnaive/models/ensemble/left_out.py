"""Coded rows judged by an ensemble in which they were not counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unnaive.bayes import Scorer
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.scoring import probabilities
from unnaive.counts.coded import CodedRows
from unnaive.models._calibration import JudgedRows, replace_own, take_logs
from unnaive.models.ensemble.rounds import class_scores, joined_logs
from unnaive.table.storage import Storage


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
