"""Wang and Yuan's protocol: ten folds, the same for all methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.density import bayes_measure
from unnaive.discretize import Discretizer
from unnaive.models import FlexibleNBTreeClassifier, NBTreeClassifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.measures import NOTHING, by_set
from unnaive_papers.protocol import folds, held_out
from unnaive_papers.sets import Sample
from unnaive_papers.statistics import Estimate, rank_estimate
from unnaive_papers.study import Study

FOLDS = 10
RINGS = (-np.inf, 8, 10, np.inf)  # abalone in three classes of nearly the same size

# As `unnaive.papers` has it, for other readings of the paper's words.
_PAPER: dict[str, Any] = {
    "bandwidth": "cv",
    "alpha": 0,
    "significance": None,
    "calibration": "none",
}


def _cut_before(seed: Any) -> Any:
    """NBTree "learned from the data sets which were pre-discretized": intervals are categories."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Discretizer(encode="interval"), EXACT["wang"]["NBTree"](seed))


CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    **EXACT["wang"],
    "NBTree, default": lambda seed: NBTreeClassifier(random_state=seed),
    "Flexible NBTree, default": lambda seed: FlexibleNBTreeClassifier(random_state=seed),
    "NBTree, cut before": _cut_before,
    # "Exactly the same as Kohavi's NBTree" but for cuts and leaves: attributes by their utility.
    "Flexible NBTree, utility": lambda seed: FlexibleNBTreeClassifier(
        select="utility", random_state=seed, **_PAPER
    ),
    # The other reading of "less than 5 % and no more than 30 instances": larger nodes always split.
    "Flexible NBTree, and": lambda seed: FlexibleNBTreeClassifier(
        stop="and", random_state=seed, **_PAPER
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


def intervals(
    sample: Sample, _method: str, _seed: int, study: Study, _: dict[str, Any]
) -> dict[str, Any]:
    """Intervals of each number where the most probable class changes, and those that MDL leaves.

    ``kept`` is what naming each interval's most frequent class is right above the Bayes measure,
    in points, at the attribute where that is least.
    """
    y = target(sample, study.sets.get(sample.name, {}))
    numbers = sample.X.select_dtypes("number")
    cuts = Discretizer("bayes", bandwidth="cv").fit(numbers, y).cuts_
    before, after, kept = [], [], []
    for j, measure in enumerate(bayes_measure(numbers, y)):
        changes = np.flatnonzero(measure.classes[1:] != measure.classes[:-1])
        edges = (measure.values[changes] + measure.values[changes + 1]) / 2
        before.append(len(edges) + 1)
        left = cuts[j]
        after.append(1 if left is None else len(left) + 1)
        kept.append(100 * (_right(numbers.iloc[:, j], y, edges) - measure.delta))
    return {
        "before": float(np.mean(before)),
        "after": float(np.mean(after)),
        "most": max(before),
        "fewer": float(np.mean(before) - np.mean(after)),
        "kept": float(min(kept)),
        "attributes": len(before),
        "accuracy": 0.0,
    }


def _right(values: Any, y: NDArray[Any], edges: NDArray[np.float64]) -> float:
    """Share of the rows in the most frequent class of their interval, gaps an interval too."""
    import pandas as pd

    at = np.searchsorted(edges, values.to_numpy(float), side="left")
    at[values.isna().to_numpy()] = -1
    return float(pd.crosstab(at, y).max(axis=1).sum() / len(y))


def figure_1(
    _sample: None, _method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Figure 1 made: c1, c2, c3 and c1 again, side by side; how many boundaries are seen."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    n = options["rows"]
    middles = np.array([0.0, 3.0, 6.0, 9.0])
    part = rng.integers(0, 4, n)
    X = pd.DataFrame({"X": middles[part] + rng.normal(0, 0.7, n)})
    y = np.array(["c1", "c2", "c3", "c1"], dtype=object)[part]
    measure = bayes_measure(X, y)[0]
    inside = np.abs(measure.values - 4.5) < 6
    classes = measure.classes[inside]
    return {"boundaries": int((classes[1:] != classes[:-1]).sum()), "accuracy": 0.0}


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "accuracy": accuracy,
    "intervals": intervals,
    "figure_1": figure_1,
}


def gain_by_attributes(records: Any, method: str, beside: str) -> Estimate:
    """Whether the gain over sets grows with their continuous attributes: Spearman's."""
    wide = by_set(records)
    if method not in wide or beside not in wide:
        return NOTHING
    numbers = records.groupby("set")["continuous"].first()
    gaps = (wide[method] - wide[beside]).dropna()
    return rank_estimate(numbers.loc[gaps.index], gaps)


MEASURES: dict[str, Callable[..., Estimate]] = {"gain by attributes": gain_by_attributes}
