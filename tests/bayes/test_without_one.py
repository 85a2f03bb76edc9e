"""Tables of many attributes at once, a row left out, are those of each attribute alone."""

from __future__ import annotations

import numpy as np
import pytest

from unnaive.bayes.estimate import log_likelihood, tables_without_one
from unnaive.bayes.kernels import IMPOSSIBLE


def without_one(counts, rows, alpha, missing):
    """The definition, slot by slot: counts less what one of the rows behind them has there."""
    logs = log_likelihood(counts, alpha, missing)
    first = 0 if missing == "value" and counts[:, 0].any() else 1
    values = slice(first, counts.shape[1] - 1)
    for c in range(len(counts)):
        total, behind = counts[c, values].sum(), rows[c, values].sum()
        whole = total * (1.0 - 1.0 / max(behind, 1.0)) + alpha * (values.stop - first)
        for v in range(first, values.stop):
            if counts[c, v] > 0.0 and whole > 0.0:
                left = counts[c, v] * (1.0 - 1.0 / max(rows[c, v], 1.0)) + alpha
                logs[v, c] = np.log(left / whole) if left > 0.0 else IMPOSSIBLE
    return logs


@pytest.mark.parametrize("missing", ["skip", "value"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_tables_of_many_attributes_are_those_of_each(alpha, missing):
    rng = np.random.default_rng(3)
    sizes = [2, 3, 7, 2, 4, 5]  # missing, values, unseen; some attributes have no values
    tables = [rng.integers(0, 4, (3, n)).astype(float) for n in sizes]
    for table in tables:
        table[:, -1] = 0.0  # unseen
    tables[2][:, 0] = 0.0  # nothing is missing
    tables[5][1] = 0.0  # a class that has no rows
    logs = [log_likelihood(table, alpha, missing) for table in tables]
    starts = np.cumsum([0, *sizes[:-1]])
    counts = np.concatenate([table.T for table in tables])
    together = tables_without_one(counts, np.concatenate(logs), starts, alpha, missing)
    alone = [without_one(table, table, alpha, missing) for table in tables]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-14)
    given = (0.7 * counts, np.concatenate(logs), starts, alpha, missing, counts)
    lighter = [without_one(0.7 * table, table, alpha, missing) for table in tables]
    present = np.concatenate(lighter)[counts > 0.0]
    np.testing.assert_allclose(tables_without_one(*given)[counts > 0.0], present, rtol=1e-14)
