"""What generators share: checks of parameters, and the columns as a pandas table."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np


def as_table(columns: Mapping[str, Any], target: Any, name: str) -> tuple[Any, Any]:
    """Columns and labels as a pandas table and a named series."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "sample tables need pandas; install it with: pip install 'unnaive[data]'"
        ) from error
    return pd.DataFrame(dict(columns)), pd.Series(target, name=name)


def check_count(name: str, value: Any, least: int) -> int:
    """Refuse a number of rows or columns that is not a whole number in its range."""
    right = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not right or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more; got {value!r}.")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Refuse a probability outside 0 to 1."""
    right = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not right or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1; got {value!r}.")
    return float(value)
