"""Wang and Yuan's protocol: ten folds, the same for all methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.models import FlexibleNBTreeClassifier, NBTreeClassifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.measures import NOTHING, by_set
from unnaive_papers.protocol import folds, held_out
from unnaive_papers.sets import Sample
from unnaive_papers.statistics import Estimate, rank_estimate
from unnaive_papers.study import Study

FOLDS = 10
RINGS = (-np.inf, 8, 10, np.inf)  # abalone in three classes of nearly the same size

CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    **EXACT["wang"],
    "NBTree, default": lambda seed: NBTreeClassifier(random_state=seed),
    "Flexible NBTree, default": lambda seed: FlexibleNBTreeClassifier(random_state=seed),
    "Flexible NBTree, utility": lambda seed: FlexibleNBTreeClassifier(
        select="utility", random_state=seed
    ),
    # The other reading of "less than 5 % and no more than 30 instances": larger nodes always split.
    "Flexible NBTree, and": lambda seed: FlexibleNBTreeClassifier(
        bandwidth="cv",
        stop="and",
        alpha=0,
        significance=None,
        calibration="none",
        random_state=seed,
    ),
}


def target(sample: Sample, told: dict[str, Any]) -> NDArray[Any]:
    """The classes; those of abalone are three ranges of rings."""
    import pandas as pd

    if told.get("target") != "thirds":
        return sample.y
    cut = pd.cut(sample.target, RINGS, labels=["young", "middle", "old"])
    return np.asarray(cut.astype(str).to_numpy(), dtype=object)


def accuracy(
    sample: Sample, method: str, seed: int, study: Study, options: dict[str, Any]
) -> dict[str, Any]:
    y = target(sample, study.sets.get(sample.name, {}))
    parts = folds(y, options.get("folds", FOLDS), seed)
    found = held_out(lambda: CONFIGURATIONS[method](seed), sample.X, y, parts)
    continuous = study.sets.get(sample.name, {}).get("continuous", 0)
    return {**found, "continuous": continuous}


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {"accuracy": accuracy}


def gain_by_attributes(records: Any, method: str, beside: str) -> Estimate:
    """Whether the gain over sets grows with their continuous attributes: Spearman's."""
    wide = by_set(records)
    if method not in wide or beside not in wide:
        return NOTHING
    numbers = records.groupby("set")["continuous"].first()
    gaps = (wide[method] - wide[beside]).dropna()
    return rank_estimate(numbers.loc[gaps.index], gaps)


MEASURES: dict[str, Callable[..., Estimate]] = {"gain by attributes": gain_by_attributes}
