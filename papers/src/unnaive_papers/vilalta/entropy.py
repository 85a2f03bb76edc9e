"""Section 3 of Vilalta and Rish, runnable: naive Bayes is the flattest of all approximations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.models import ClassDecompositionClassifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.sets import Sample
from unnaive_papers.study import Study

Distribution = NDArray[np.float64]  # classes x values of one attribute x values of another
ROUNDS = 200  # of fitting a distribution to given components


def entropy(p: Distribution) -> float:
    """Equation 6, in nats."""
    some = p[p > 0]
    return float(-(some * np.log(some)).sum())


def information(p: Distribution) -> float:
    """Definition 2: how much less than the flat distribution's the entropy is."""
    return float(np.log(p.size) - entropy(p))


def product(p: Distribution) -> Distribution:
    """Naive Bayes' approximation from the components P(y), P(a | y), P(b | y)."""
    y = p.sum(axis=(1, 2), keepdims=True)
    with np.errstate(invalid="ignore"):
        out = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True) / y
    return np.nan_to_num(out)


def another(p: Distribution, rng: np.random.Generator) -> Distribution:
    """A random distribution with the same components: a random start, fitted to them in turn."""
    q = rng.gamma(0.5, size=p.shape) + 1e-9
    for _ in range(ROUNDS):
        for axis in (2, 1):
            with np.errstate(invalid="ignore", divide="ignore"):
                q = np.nan_to_num(q * p.sum(axis=axis, keepdims=True) / q.sum(axis, keepdims=True))
    return q


def maximum_entropy(
    sample: Sample, _method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Least information above naive Bayes', of the true distribution and of random others.

    For every pair of neighbouring categorical attributes, beside their class.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = sample.X.select_dtypes(exclude="number").astype(object).fillna("missing")
    labels = pd.Categorical(sample.y).codes
    codes = [pd.Categorical(X[c]).codes for c in X]
    true, random, pairs = [], [], 0
    for a, b in pairwise(codes):
        p = np.zeros((labels.max() + 1, a.max() + 1, b.max() + 1))
        np.add.at(p, (labels, a, b), 1 / len(labels))
        flat = information(product(p))
        true.append(information(p) - flat)
        random += [information(another(p, rng)) - flat for _ in range(options["others"])]
        pairs += 1
    return {
        "least": min(*true, *random),
        "true_mean": float(np.mean(true)),
        "others_mean": float(np.mean(random)),
        "pairs": pairs,
        "accuracy": 0.0,
    }


def figure_1(
    _sample: None, method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Figure 1: three cells of each class, so that naive Bayes sees the second attribute alone.

    ``positive`` is the probability of the positive class at x = (2, 1), which is positive.
    """
    import pandas as pd

    cells = [(1, 2, "+"), (3, 2, "+"), (2, 1, "+"), (1, 1, "-"), (3, 1, "-"), (2, 2, "-")]
    rows = pd.DataFrame(cells * options["copies"], columns=["A1", "A2", "y"]).astype(str)
    X, y = rows[["A1", "A2"]], rows["y"].to_numpy()
    if method == "NB":
        model = EXACT["vilalta"]["NB"](seed)
    else:
        model = ClassDecompositionClassifier(fold="max", calibration="none", random_state=seed)
    model.fit(X, y)
    x = pd.DataFrame({"A1": ["2"], "A2": ["1"]})
    return {
        "positive": float(model.predict_proba(x)[0, list(model.classes_).index("+")]),
        "accuracy": 100 * float((model.predict(X) == y).mean()),
    }
