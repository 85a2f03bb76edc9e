"""Tables of many attributes at once, a row left out, are those of each attribute alone."""

from __future__ import annotations

import numpy as np
import pytest

from unnaive.bayes.estimate import log_likelihood, log_likelihood_without_one, tables_without_one


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
    alone = [log_likelihood_without_one(table, table, alpha, missing) for table in tables]
    assert np.array_equal(together, np.concatenate(alone))
