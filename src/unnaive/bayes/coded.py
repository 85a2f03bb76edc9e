"""Coded rows through a scorer: what a model under training says about its own rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import kernels
from unnaive.bayes.scoring import Scorer, TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.encoded_rows import CodedRows, JointCodes


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


def own_probabilities(rows: CodedRows, scorer: Scorer) -> Callable[[slice], NDArray[np.float64]]:
    """What says of a stretch of rows how probable their own classes are."""
    logs, starts = cell_logs(rows.joint, scorer), rows.joint.starts

    def say(part: slice) -> NDArray[np.float64]:
        groups = rows.groups[part]
        scores = np.tile(scorer.log_prior, (len(groups), 1))
        kernels.add_cells(rows.joint.codes[:, part], starts, logs, scores)
        own: NDArray[np.float64] = probabilities(scores)[np.arange(len(groups)), groups]
        return own

    return say


def judge(
    rows: CodedRows, scorer: Scorer
) -> Callable[[slice], tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Return what gives the margins of a stretch of rows, and whether their classes are found.

    The margin is the log probability of the row's own class above the mean over all classes.
    Scores that differ by rounding only are a tie, which goes to the first class.
    """
    n_classes, prior = len(scorer.log_prior), scorer.log_prior
    logs, starts = cell_logs(rows.joint, scorer), rows.joint.starts
    if n_classes == 2:  # one number says it all
        logs, prior = 0.5 * (logs - logs[:, ::-1]), prior - prior.mean()

    def say(part: slice) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        codes, groups = rows.joint.codes[:, part], rows.groups[part]
        margin, hit = np.empty(len(groups)), np.empty(len(groups), dtype=np.bool_)
        score = kernels.judge_two if n_classes == 2 else kernels.judge_many
        score(codes, starts, logs, prior, groups, margin, hit)
        return margin, hit

    return say
