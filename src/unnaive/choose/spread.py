"""How far figures of folds spread, and whether two models differ by more than that."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

LEVEL = 0.05  # of the test


def spread(figures: Sequence[float]) -> float:
    """Standard deviation over folds; NaN of one fold."""
    values = [value for value in figures if value == value]
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def differ(first: Sequence[float], second: Sequence[float], test_to_train: float) -> bool:
    """Whether figures of the same folds differ: a paired t-test, corrected by Nadeau and Bengio.

    Folds share training rows, so their variance is too small by the ratio of test to training
    rows, which is added to it (C. Nadeau and Y. Bengio. Inference for the Generalization Error.
    Machine Learning 52, 2003).
    """
    gaps = np.asarray(first) - np.asarray(second)
    gaps = gaps[~np.isnan(gaps)]
    n = len(gaps)
    if n < 2:
        return False
    mean, variance = float(gaps.mean()), float(gaps.var(ddof=1))
    if variance <= (1e-12 * abs(mean)) ** 2:
        return mean != 0.0
    t = abs(mean) / math.sqrt((1.0 / n + test_to_train) * variance)
    return 2.0 * float(stdtr(n - 1, -t)) < LEVEL
