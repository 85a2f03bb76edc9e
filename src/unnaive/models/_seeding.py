"""Seeds of estimators, and of estimators inside other estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state


def draw_seed(random_state: Any) -> int:
    """The seed of all random choices of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """A copy whose random choices are settled: drawn here where the user left them open."""
    copy = clone(estimator)
    given = copy.get_params(deep=True)
    drawn = {
        name: int(rng.randint(2**31 - 1))
        for name in sorted(given)
        if name.split("__")[-1] == "random_state" and given[name] is None
    }
    return copy.set_params(**drawn)
