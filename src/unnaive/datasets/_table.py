"""What generators share: checks of parameters, and the columns as a pandas table."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from unnaive.common.checks import check_number


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
    check_number(SimpleNamespace(**{name: value}), name, least, whole=True)
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Refuse a probability outside 0 to 1."""
    check_number(SimpleNamespace(**{name: value}), name, 0, 1)
    return float(value)
