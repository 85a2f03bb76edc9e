"""Kohavi's protocol: rows with missing values dropped, his training and test sizes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.discretize import Discretizer
from unnaive.models import NaiveBayesClassifier, NBTreeClassifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.growth import Shape, fit_times
from unnaive_papers.made import make_numbers, make_rows
from unnaive_papers.measures import NOTHING
from unnaive_papers.protocol import Split, drawn, folds, held_out, official
from unnaive_papers.sets import Sample
from unnaive_papers.statistics import Estimate, exactly, mean_estimate
from unnaive_papers.study import Study

CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    **EXACT["kohavi"],
    "NB, default": lambda _: NaiveBayesClassifier(),
    "NBTree, default": lambda seed: NBTreeClassifier(random_state=seed),
}


def prepare(sample: Sample, told: dict[str, Any]) -> Sample:
    """His rows: complete ones, except where a missing value is one of its own (the votes)."""
    X, y, train = sample.X, sample.target, sample.train
    if told.get("missing") == "value":
        X = X.astype(object).where(X.notna(), "?")
    else:
        whole = X.notna().all(axis=1).to_numpy()
        X, y = X[whole].reset_index(drop=True), y[whole].reset_index(drop=True)
        train = None if train is None else train[whole]
    return Sample(sample.name, X, y, train)


def splits(sample: Sample, told: dict[str, Any], seed: int) -> list[Split]:
    """Ten folds, the set's own test rows, its first rows, or so many drawn with the seed."""
    n = len(sample.X)
    if "train" not in told:
        return folds(sample.y, 10, seed)
    if sample.train is not None:
        return official(sample.train)
    if told.get("first"):
        return official(np.arange(n) < told["train"])
    # Mushroom's sizes cannot be: more rows than there are. One third is for testing then.
    fits = told["train"] + told["test"] <= n
    return drawn(sample.y, told["train"] if fits else n - n // 3, seed)


def accuracy(
    sample: Sample, method: str, seed: int, study: Study, _: dict[str, Any]
) -> dict[str, Any]:
    told = study.sets.get(sample.name, {})
    rows = prepare(sample, told)
    make = CONFIGURATIONS[method]
    return held_out(lambda: make(seed), rows.X, rows.y, splits(rows, told, seed))


def curve(
    sample: Sample, method: str, seed: int, study: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """One run of a learning curve: more and more of the rows, tested on all others."""
    rows = prepare(sample, study.sets.get(sample.name, {}))
    y, n = rows.y, len(rows.X)
    order = np.random.default_rng(seed).permutation(n)
    points = options["points"]
    sizes = [round(options["share"] * n * k / points) for k in range(1, points + 1)]
    right = []
    for size in sizes:
        train, test = order[:size], order[size:]
        model = CONFIGURATIONS[method](seed).fit(rows.X.iloc[train], y[train])
        right.append(100 * float((model.predict(rows.X.iloc[test]) == y[test]).mean()))
    return {"sizes": sizes, "accuracies": right, "accuracy": right[-1]}


def evidence(
    sample: Sample, method: str, _seed: int, study: Study, _: dict[str, Any]
) -> dict[str, Any]:
    """For each interval of each attribute: how much it speaks for each class against the rest."""
    rows = prepare(sample, study.sets.get(sample.name, {}))
    model = CONFIGURATIONS[method](0).fit(rows.X, rows.y)
    cuts = Discretizer("mdl").fit(rows.X, rows.y).cuts_
    attributes = {}
    for j, name in enumerate(rows.X.columns):
        own = cuts[j]
        edges = [-np.inf, *([] if own is None else own.tolist()), np.inf]
        inside = [_between(a, b) for a, b in pairwise(edges)]
        probe = rows.X.iloc[np.zeros(len(inside), int)].assign(**{str(name): inside})
        found = model.evidence(probe)
        attributes[str(name)] = {
            "cuts": edges[1:-1],
            "weights": against_rest(found.contributions[:, j], found.baseline[0]).tolist(),
        }
    return {"attributes": attributes, "classes": [str(c) for c in model.classes_], "accuracy": 0.0}


def _between(low: float, high: float) -> float:
    if np.isinf(low):
        return 0.0 if np.isinf(high) else high - 1
    return low + 1 if np.isinf(high) else (low + high) / 2


def against_rest(logs: NDArray[Any], prior: NDArray[Any]) -> NDArray[np.float64]:
    """Log P(value | class) - log P(value | rest), from values x classes of log P(value | class)."""
    from scipy.special import logsumexp

    out = np.empty_like(logs)
    for c in range(logs.shape[1]):
        rest = np.arange(logs.shape[1]) != c
        weight = prior[rest] - logsumexp(prior[rest])
        out[:, c] = logs[:, c] - logsumexp(logs[:, rest] + weight, axis=1)
    return out


def cost(
    _sample: None, method: str, _seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Seconds to choose one split: of discretized attributes, or of numbers."""
    kind, what = method.split(", ")

    def make(_: Shape) -> Any:
        return CONFIGURATIONS["NBTree"](0).set_params(max_depth=1)

    def rows(shape: Shape) -> tuple[Any, Any]:
        if kind == "split of numbers":
            return make_numbers(shape["rows"], shape["attributes"])
        return make_rows(shape["rows"], shape["attributes"], 4, classes=shape["labels"])

    return fit_times(make, rows, options["shape"], what, options["sizes"][what])


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "accuracy": accuracy,
    "cost": cost,
    "curves": curve,
    "evidence": evidence,
}


# ---------------------------------------------------------------------------------------------
# Measures
# ---------------------------------------------------------------------------------------------


def curves_ahead(records: Any, method: str, beside: str, sets: list[str]) -> Estimate:
    """On how many of these sets a method is ahead at the curve's end, beyond its interval."""
    ahead, there = 0, 0
    for name in sets:
        own = records[records["set"] == name].pivot_table("accuracy", "seed", "method")
        if method not in own or beside not in own:
            continue
        there += 1
        gap = mean_estimate((own[method] - own[beside]).dropna(), "seeds")
        ahead += gap.low > 0
    return exactly(ahead, there) if there else NOTHING


def curves_settled(records: Any, method: str, beside: str) -> Estimate:
    """On how many sets the two mean curves do not cross in their second half."""
    settled, there = 0, 0
    for _, rows in records.groupby("set"):
        means = {m: np.mean(r["accuracies"].tolist(), axis=0) for m, r in rows.groupby("method")}
        if method not in means or beside not in means:
            continue
        there += 1
        gap = (means[method] - means[beside])[len(means[method]) // 2 :]
        settled += bool((gap > 0).all() or (gap < 0).all())
    return exactly(settled, there) if there else NOTHING


def smaller_trees(records: Any, method: str, beside: str) -> Estimate:
    """On how many sets the trees of one method have fewer nodes."""
    wide = records.pivot_table("nodes", "set", "method")
    if method not in wide or beside not in wide:
        return NOTHING
    return exactly(int((wide[method] < wide[beside]).sum()), len(wide))


def cut_of(records: Any, attribute: int, which: int) -> Estimate:
    """A cut point of an attribute, both by position."""
    cuts = list(records["attributes"].iloc[0].values())[attribute]["cuts"]
    return exactly(cuts[which], 1) if which < len(cuts) else NOTHING


def strongest(records: Any, attribute: int, value: int | None = None) -> Estimate:
    """The most that a value speaks for or against a class; without a value, of the weakest."""
    weights = list(records["attributes"].iloc[0].values())[attribute]["weights"]
    most = np.abs(weights).max(axis=1)
    if value is not None and value >= len(most):
        return NOTHING
    return exactly(float(most.min() if value is None else most[value]), 1)


MEASURES: dict[str, Callable[..., Estimate]] = {
    "curves ahead": curves_ahead,
    "curves settled": curves_settled,
    "smaller trees": smaller_trees,
    "cut": cut_of,
    "strongest evidence": strongest,
}
