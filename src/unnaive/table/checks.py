"""Checks of parameters, with one wording."""

from __future__ import annotations

import math
import numbers
from typing import Any


def check_number(
    estimator: Any, name: str, low: float, high: float | None = None, *, whole: bool = False
) -> None:
    """Refuse a parameter that is not a number in its range."""
    value = getattr(estimator, name)
    kind = numbers.Integral if whole else numbers.Real
    right = isinstance(value, kind) and not isinstance(value, bool)
    inside = right and low <= value < math.inf and (high is None or value <= high)
    if not inside:
        what = "a whole number" if whole else "a number"
        span = f"{low:g} or more" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be {what}, {span}; got {value!r}.")


def check_word(estimator: Any, name: str, *words: str) -> None:
    """Refuse a parameter that is not one of a few words."""
    value = getattr(estimator, name)
    if value not in words:
        choices = " or ".join(repr(word) for word in words)
        raise ValueError(f"{name} must be {choices}; got {value!r}.")
