"""Elkan's statements about cost, measured; his identity, checked."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.discretize import Discretizer
from unnaive.models import C45Classifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.elkan.reduction import reduce_in_tree, work_together
from unnaive_papers.growth import Shape, fit_times
from unnaive_papers.made import make_rows
from unnaive_papers.numbers import Numbers
from unnaive_papers.protocol import drawn, folds, held_out
from unnaive_papers.sets import Sample
from unnaive_papers.study import Study


def _network(seed: Any) -> Any:
    """Backpropagation: scikit-learn's network with its defaults, on scaled numbers."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Numbers("columns", scale=True), MLPClassifier(random_state=seed))


ROUNDS = (1, 3, 10, 30)  # one is naive Bayes


def _rounds_chosen(seed: Any) -> Any:
    """As many rounds as are right most often in five folds of the training rows, if they are so
    beyond chance: the paper does not say how many it takes.
    """
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    parts = StratifiedKFold(5, shuffle=True, random_state=seed)
    boosted = EXACT["elkan"]["boosted NB"](seed)
    return GridSearchCV(boosted, {"n_estimators": ROUNDS}, cv=parts, refit=best_beyond_chance)


def best_beyond_chance(results: dict[str, Any]) -> int:
    """The best of the candidates, the first of equals; the first of all, naive Bayes, where the
    best is not ahead of it by more than a standard error of their differences, fold by fold.
    """
    scores = [v for k, v in results.items() if k.startswith("split") and k.endswith("test_score")]
    ahead = np.array(scores)  # folds x candidates
    ahead = ahead - ahead[:, :1]
    best = int(np.argmax(ahead.mean(axis=0)))
    error = ahead[:, best].std(ddof=1) / np.sqrt(len(ahead))
    return best if ahead[:, best].mean() > error else 0


CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    **EXACT["elkan"],
    "boosted NB, rounds chosen": _rounds_chosen,
    # AdaBoost.M1, whose hypotheses are classes and not probabilities.
    "boosted NB by classes": lambda seed: EXACT["elkan"]["boosted NB"](seed).set_params(
        algorithm="m1"
    ),
    "unpruned tree": lambda _: C45Classifier(prune=False, alpha=0, calibration="none"),
    "neural network": _network,
}


# ---------------------------------------------------------------------------------------------
# Time
# ---------------------------------------------------------------------------------------------


def seconds(
    _sample: None, method: str, _seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Seconds to fit, by one size while the others stay."""
    name, what = method.split(", ")
    fixed = {**options["shape"], **options.get("shapes", {}).get(what, {})}

    def make(shape: Shape) -> Any:
        model = CONFIGURATIONS[name](0)
        return model.set_params(n_estimators=shape["rounds"]) if name == "boosted NB" else model

    def rows(shape: Shape) -> tuple[Any, Any]:
        return make_rows(shape["rows"], shape["attributes"], shape["values"])

    return fit_times(make, rows, fixed, what, options["sizes"][what])


# ---------------------------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------------------------


def memory(
    _sample: None, method: str, _seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Most bytes at once while rows stream by in chunks, or bytes of what was learned."""
    name, what = method.split(", ")
    found = []
    for size in options["sizes"][what]:
        shape = {**options["shape"], what: size}
        X, y = make_rows(options["chunk"], shape["attributes"], shape["values"])
        if what == "rows":
            found.append(_peak(CONFIGURATIONS[name](0), X, y, size // options["chunk"]))
            continue
        model = CONFIGURATIONS[name](0)
        if what == "rounds":
            model.set_params(n_estimators=size)
        model.fit(X, y)
        found.append(len(pickle.dumps(model)))
    return {"size": list(options["sizes"][what]), "bytes": found, "accuracy": 0.0}


def _peak(model: Any, X: Any, y: Any, chunks: int) -> int:
    """The same chunk again and again: only its counts may stay."""
    peak = 0
    for n in (2, chunks):  # the first: whatever is compiled or imported is not learning
        learner = type(model)(**model.get_params())
        tracemalloc.start()
        for _ in range(n):
            learner.partial_fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


# ---------------------------------------------------------------------------------------------
# Identity
# ---------------------------------------------------------------------------------------------


def identity(
    sample: Sample, _method: str, _seed: int, _: Study, _options: dict[str, Any]
) -> dict[str, Any]:
    """Naive Bayes of two classes beside logistic regression with Elkan's weights (equation 2).

    The weights are counted here, without the library: one indicator for each value of each
    attribute, its weight the log ratio of the two frequencies.
    """
    whole = sample.X.notna().all(axis=1).to_numpy()
    X, y = sample.X[whole].reset_index(drop=True), sample.y[whole]
    model = CONFIGURATIONS["NB"](0).fit(X, y)
    one = y == model.classes_[1]
    log_odds = np.full(len(X), np.log(one.sum()) - np.log((~one).sum()))
    n_weights = 1
    for codes in _codes(X, y):
        weights = _weights(codes, one)
        n_weights += len(weights)
        log_odds += weights[codes]
    logistic = 1 / (1 + np.exp(-log_odds))
    gap = float(np.abs(logistic - model.predict_proba(X)[:, 1]).max())
    return {"gap": gap, "weights": n_weights, "rows": len(X), "accuracy": 0.0}


def _codes(X: Any, y: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Each attribute as whole numbers: categories, or bins of equal width."""
    import pandas as pd

    bins = CONFIGURATIONS["NB"](0).n_bins
    numeric = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
    cuts = dict(
        zip(numeric, Discretizer("width", n_bins=bins).fit(X[numeric], y).cuts_, strict=True)
        if numeric
        else []
    )
    return [
        np.searchsorted(cuts[c], X[c].to_numpy(float), side="left")
        if c in cuts
        else pd.Categorical(X[c]).codes.astype(np.intp)
        for c in X
    ]


def _weights(codes: NDArray[np.intp], one: NDArray[np.bool_]) -> NDArray[np.float64]:
    v = int(codes.max()) + 1
    counts = [np.bincount(codes[part], minlength=v) + 1.0 for part in (one, ~one)]
    return np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())


def midpoints(
    sample: Sample, _method: str, _seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """How near constants over M intervals come to the linear terms of logistic regression.

    The constant of an interval is the coefficient times its midpoint (the paper's last formula of
    section 3, without its misprint).
    """
    from sklearn.linear_model import LogisticRegression

    values = sample.X.select_dtypes("number").dropna(axis=1).to_numpy(float)
    span = np.ptp(values, axis=0)
    values = (values - values.min(axis=0))[:, span > 0] / span[span > 0]
    coefficients = LogisticRegression(max_iter=1000).fit(values, sample.y).coef_[0]
    gaps = []
    for bins in options["bins"]:
        middle = (np.minimum(np.floor(values * bins), bins - 1) + 0.5) / bins
        gaps.append(float(np.abs((middle - values) @ coefficients).mean()))
    return {"size": list(options["bins"]), "gap": gaps, "accuracy": 0.0}


# ---------------------------------------------------------------------------------------------
# Accuracy, and workers
# ---------------------------------------------------------------------------------------------


def accuracy(
    sample: Sample, method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    parts = folds(sample.y, options.get("folds", 10), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that stop before they converge
        return held_out(lambda: CONFIGURATIONS[method](seed), sample.X, sample.y, parts)


def rounds(
    sample: Sample, method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Per cent right on one third of the rows after each number of rounds."""
    X, y = sample.X, sample.y
    found = []
    for n in options["rounds"]:
        model = CONFIGURATIONS[method](seed).set_params(n_estimators=n)
        found.append(held_out(partial(clone, model), X, y, drawn(y, 2 / 3, seed))["accuracy"])
    return {"rounds": list(options["rounds"]), "accuracies": found, "accuracy": found[-1]}


def workers(
    _sample: None, method: str, _seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    if method == "simulated":
        return reduce_in_tree(options["rows"], options["attributes"], options["workers"])
    return work_together(options["rows_each"], options["attributes"])


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "time": seconds,
    "trees": seconds,
    "memory": memory,
    "identity": identity,
    "midpoints": midpoints,
    "accuracy": accuracy,
    "rounds": rounds,
    "workers": workers,
}
