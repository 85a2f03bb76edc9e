"""Coded rows through a scorer: what a model under training says about its own rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import kernels
from unnaive.bayes.left_out_kernels import judge_left_out
from unnaive.bayes.scoring import Scorer, TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.coded import CodedRows
from unnaive.encode.joint import JointCodes
from unnaive.table.storage import Storage


def cell_logs(joint: JointCodes, scorer: Scorer) -> NDArray[np.float64]:
    """Evidence of every cell of the joint tables: cells x classes."""
    n_classes = len(scorer.log_prior)
    tables = []
    for run in joint.runs:
        table = np.zeros((1, n_classes))
        for j in run:
            term = scorer.terms[j]
            assert isinstance(term, TableTerm)
            # The slots of the next column vary fastest.
            logs = term.logs[joint.places[j]]
            table = (table[:, None] + logs).reshape(-1, n_classes)
        tables.append(table)
    return np.concatenate([*tables, np.empty((0, n_classes))])


def coded_scores(rows: CodedRows, scorer: Scorer, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Log P(class, row) of each row, to rounding: evidence is added run by run."""
    out = np.empty((rows.n_rows, len(scorer.log_prior)))
    logs, starts = cell_logs(rows.joint, scorer), rows.joint.starts

    def score(part: slice) -> None:
        out[part] = scorer.log_prior
        kernels.add_cells(rows.joint.codes[:, part], starts, logs, out[part])

    list(in_threads(score, rows.stretches(), n_jobs))
    return out


def own_probabilities(
    rows: CodedRows, scorer: Scorer, n_jobs: int | None = None, storage: Storage | None = None
) -> NDArray[np.float64]:
    """Probability of its own class for each row."""
    out = (storage or Storage()).empty(rows.n_rows, np.float64)
    logs, starts = cell_logs(rows.joint, scorer), rows.joint.starts

    def task(part: slice) -> None:
        groups = rows.groups[part]
        scores = np.tile(scorer.log_prior, (len(groups), 1))
        kernels.add_cells(rows.joint.codes[:, part], starts, logs, scores)
        out[part] = probabilities(scores)[np.arange(len(groups)), groups]

    list(in_threads(task, rows.stretches(), n_jobs))
    return out


def judge(
    rows: CodedRows,
    scorer: Scorer,
    n_jobs: int | None = None,
    storage: Storage | None = None,
    without: Scorer | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How rows fare: their margins, and whether their classes are found.

    The margin is the log probability of the row's own class above the mean over all classes.
    Scores that differ by rounding only are a tie, which goes to the first class. ``without`` has
    the evidence for each row's own class, if that is another.
    """
    room, n_classes, prior = storage or Storage(), len(scorer.log_prior), scorer.log_prior
    margin, hit = room.empty(rows.n_rows, np.float64), room.empty(rows.n_rows, np.bool_)
    logs, starts = cell_logs(rows.joint, scorer), rows.joint.starts
    true_logs = logs if without is None else cell_logs(rows.joint, without)
    if n_classes == 2:  # one number says it all
        true_logs = 0.5 * (true_logs - logs[:, ::-1])
        prior = prior - prior.mean()

    def task(part: slice) -> None:
        codes, groups = rows.joint.codes[:, part], rows.groups[part]
        if n_classes == 2:
            kernels.judge_two(codes, starts, true_logs, prior, groups, margin[part], hit[part])
        elif without is None:
            kernels.judge_many(codes, starts, logs, prior, groups, margin[part], hit[part])
        else:
            judge_left_out(codes, starts, logs, true_logs, prior, groups, margin[part], hit[part])

    list(in_threads(task, rows.stretches(), n_jobs))
    return margin, hit
