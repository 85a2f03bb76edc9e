"""Calibration of a mixture by rows that are each judged as if they had not been counted."""

from __future__ import annotations

from unnaive.answer import Answer
from unnaive.models._calibration import JudgedRows, calibrate_answer, take_logs
from unnaive.models.mixture.training import Counters, SlotRows, TrainingOptions


def calibrate_mixture(
    answer: Answer,
    counters: Counters,
    rows: SlotRows,
    options: TrainingOptions,
    n_jobs: int | None = None,
) -> Answer:
    """The answer of trained counters, calibrated."""
    scores = counters.answer_left_out(rows, options, n_jobs)
    take_logs(scores)
    return calibrate_answer(answer, JudgedRows(scores, rows.groups, rows.weight).fit(n_jobs))
