"""A fold for every row, from whatever a ``cv`` parameter holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import draw_folds
from unnaive.table import Block


def fold_numbers(cv: Any, block: Block, seed: int) -> tuple[NDArray[np.int64], int]:
    """The fold in which each row is held out, and how many folds there are.

    A number draws folds from the seed and the row ids; a scikit-learn splitter, or ready (train,
    test) positions in the table as it was given, must put every row into one test set.
    """
    if isinstance(cv, (int, np.integer)):
        if cv < 2:
            raise ValueError(f"cv must be 2 folds or more; got {cv!r}.")
        return draw_folds(seed, block.row_ids, int(cv)), int(cv)
    if hasattr(cv, "split"):
        splits = list(cv.split(np.zeros(block.n_rows), block.target))
        ids = np.arange(block.n_rows)
    else:
        splits, ids = list(cv), block.row_ids
    found = np.full(max(block.n_rows, int(ids.max()) + 1), -1, dtype=np.int64)
    for k, (_, test) in enumerate(splits):
        if (found[test] >= 0).any():
            raise ValueError("cv puts a row into two test sets; use a splitter that does not.")
        found[test] = k
    if (found[ids] < 0).any():
        raise ValueError("cv leaves rows out of every test set; each must be in one.")
    return found[ids], len(splits)
