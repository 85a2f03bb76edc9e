"""Fitted models that tests of explanations share; none of them changes one."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.base import clone

from helpers import mixed_table
from registry import CHOOSERS, CLASSIFIERS, META

EVERY = [*CLASSIFIERS, *META, CHOOSERS[1]]
X, Y = mixed_table(240)
# Gaps, a category never seen, a number far away.
ROWS = X.head(30).astype({"member": object}).reset_index(drop=True)
ROWS.loc[3, "city"] = "Paris"
ROWS.loc[4, "age"] = 1e6
ROWS = ROWS.mask(np.repeat(np.arange(30)[:, None] == 5, X.shape[1], axis=1))


@cache
def fitted(k):
    """Model number k of EVERY, fitted on the mixed table."""
    return clone(EVERY[k]).fit(X, Y)
