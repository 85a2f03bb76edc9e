"""Rows made for measuring: a class, and attributes that tell something of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def make_rows(
    e: int, f: int, v: int, seed: int = 0, noise: float = 0.3
) -> tuple[Any, NDArray[np.int8]]:
    """So many examples over f attributes of v values each; the class is that of a hidden vote.

    The class depends on the sum of all attributes, seen through noise, so that boosting finds
    something to do in every round.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    codes = rng.integers(0, v, (f, e), dtype=np.int8 if v < 128 else np.int16)
    votes = (codes >= v // 2).sum(axis=0) + rng.normal(0, noise * np.sqrt(f), e)
    values = [str(k) for k in range(v)]
    table = {f"a{j}": pd.Categorical.from_codes(codes[j], values) for j in range(f)}
    return pd.DataFrame(table, copy=False), (votes > f / 2).astype(np.int8)
