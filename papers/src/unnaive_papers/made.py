"""Rows made for measuring: a class, and attributes that tell something of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def make_rows(
    e: int, f: int, v: int, seed: int = 0, noise: float = 0.3, classes: int = 2
) -> tuple[Any, NDArray[np.int8]]:
    """So many examples over f attributes of v values each; the class is that of a hidden vote.

    The class depends on the sum of all attributes, seen through noise, so that boosting finds
    something to do in every round. Of more than two classes, all have the same share.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    codes = rng.integers(0, v, (f, e), dtype=np.int8 if v < 128 else np.int16)
    votes = (codes >= v // 2).sum(axis=0) + rng.normal(0, noise * np.sqrt(f), e)
    values = [str(k) for k in range(v)]
    table = {f"a{j}": pd.Categorical.from_codes(codes[j], values) for j in range(f)}
    if classes > 2:
        cuts = np.quantile(votes, np.arange(1, classes) / classes)
        return pd.DataFrame(table, copy=False), np.searchsorted(cuts, votes).astype(np.int8)
    return pd.DataFrame(table, copy=False), (votes > f / 2).astype(np.int8)


def make_numbers(e: int, f: int, seed: int = 0) -> tuple[Any, NDArray[np.int8]]:
    """So many examples over f numbers; the class is whether their sum, with noise, is above 0."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    values = rng.normal(size=(e, f))
    y = values.sum(axis=1) + rng.normal(0, 0.3 * np.sqrt(f), e) > 0
    return pd.DataFrame(values, columns=[f"a{j}" for j in range(f)]), y.astype(np.int8)
