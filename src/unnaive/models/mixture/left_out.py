"""Calibration of a mixture by rows that are each judged as if they had not been counted."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer
from unnaive.bayes.calibrate import fit_visited
from unnaive.models._calibration import calibrate_answer, take_logs
from unnaive.models._judged_rows import (
    CALIBRATING,
    JudgedRows,
    counted_rows,
    has_rare,
    judged_visit,
    match_rare,
)
from unnaive.models.mixture.training import Counters, SlotRows, TrainingOptions, TrainingRows
from unnaive.table.storage import Storage


def calibrate_mixture(
    answer: Answer,
    counters: Counters,
    rows: TrainingRows,
    options: TrainingOptions,
    totals: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Answer:
    """The answer of trained counters, calibrated; ``totals`` says how many rows classes have."""
    n_classes, rare = counters.shape.n_classes, has_rare(totals)
    judge = partial(_judge, counters, options, rows.weight, rows.records.storage, n_jobs, rare)
    rows.records.advance(judge, operator.add, CALIBRATING)
    found = fit_visited(judged_visit(rows.records), n_classes, n_jobs)
    if rare:
        found = match_rare(rows.records, counted_rows, found, totals, n_jobs)
    return calibrate_answer(answer, found)


def _judge(
    counters: Counters,
    options: TrainingOptions,
    weight: float,
    storage: Storage,
    n_jobs: int | None,
    rare: bool,
    rows: SlotRows,
    _state: Any,
) -> tuple[JudgedRows, int]:
    """Log probabilities of rows, each as if it had not been counted."""
    given = (rows, options, weight, storage, n_jobs)
    scores, counted = counters.answer_left_out(*given, counted_too=rare)
    for votes in (scores, counted):
        if votes is not None:
            take_logs(votes)
    return JudgedRows(scores, rows.groups, rows.weight, counted=counted), rows.n_rows
