"""Calibration of a mixture by rows that are each judged as if they had not been counted."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from unnaive.answer import Answer
from unnaive.bayes.calibrate import fit_visited
from unnaive.models._calibration import (
    CALIBRATING,
    JudgedRows,
    calibrate_answer,
    judged_visit,
    take_logs,
)
from unnaive.models.mixture.training import Counters, SlotRows, TrainingOptions, TrainingRows
from unnaive.table.storage import Storage


def calibrate_mixture(
    answer: Answer,
    counters: Counters,
    rows: TrainingRows,
    options: TrainingOptions,
    n_jobs: int | None = None,
) -> Answer:
    """The answer of trained counters, calibrated."""
    judge = partial(_judge, counters, options, rows.weight, rows.records.storage, n_jobs)
    rows.records.advance(judge, operator.add, CALIBRATING)
    visit = judged_visit(rows.records)
    return calibrate_answer(answer, fit_visited(visit, counters.shape.n_classes, n_jobs))


def _judge(
    counters: Counters,
    options: TrainingOptions,
    weight: float,
    storage: Storage,
    n_jobs: int | None,
    rows: SlotRows,
    _state: Any,
) -> tuple[JudgedRows, int]:
    """Log probabilities of rows, each as if it had not been counted."""
    scores = counters.answer_left_out(rows, options, weight, storage, n_jobs)
    take_logs(scores)
    return JudgedRows(scores, rows.groups, rows.weight), rows.n_rows
