"""Small tools that several tests use."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from unnaive import Discretizer, NaiveBayesClassifier
from unnaive.counts.summary import Summary
from unnaive.store.estimators import STORED
from unnaive.store.plain import ArrayWriter


def learned(model: Any) -> dict[str, Any]:
    """Return everything a fitted estimator has learned, as arrays and plain values by name."""
    found: dict[str, Any] = {}
    for name, value in sorted(vars(model).items()):
        if name.endswith("_"):
            _flatten(name, value, found)
    return found


def _flatten(name: str, value: Any, found: dict[str, Any]) -> None:
    if isinstance(value, np.ndarray) and value.dtype != object:
        found[name] = value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if not field.compare:  # times, which no two fits have in common
                continue
            _flatten(f"{name}.{field.name}", getattr(value, field.name), found)
    elif isinstance(value, (list, tuple, np.ndarray)):
        found[name] = len(value)
        for i, item in enumerate(value):
            _flatten(f"{name}[{i}]", item, found)
    elif isinstance(value, dict):
        _flatten(name, sorted(value.items(), key=repr), found)
    elif hasattr(value, "get_params"):
        found |= {f"{name}.{inner}": own for inner, own in learned(value).items()}
    elif isinstance(value, float):
        found[name] = np.array(value)
    else:
        found[name] = repr(value)


def is_exact(model: Any) -> bool:
    """Return whether a model is made of counts alone, for which promise 1 of the design holds."""
    params = model.get_params(deep=False)
    counting = isinstance(model, (NaiveBayesClassifier, Discretizer))
    summary = getattr(model, "summary_", None)
    has_moments = isinstance(summary, Summary) and bool(summary.moments.columns)
    return counting and not has_moments and params.get("calibration", "none") == "none"


def assert_same_model(a: Any, b: Any) -> None:
    """Check that two fits agree: bitwise if all is counted, else numbers to 1e-9."""
    assert_same_learned(learned(a), learned(b), exact=is_exact(a))


def assert_same_learned(first: dict[str, Any], second: dict[str, Any], exact: bool = False) -> None:
    """Check that what two models have learned agrees."""
    differing = [n for n in first.keys() | second.keys() if not _same(first, second, n, exact)]
    assert not differing, f"learned differently: {sorted(differing)[:5]}"


def _same(first: dict[str, Any], second: dict[str, Any], name: str, exact: bool) -> bool:
    if name not in first or name not in second:
        return False
    x, y = first[name], second[name]
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return bool(type(x) is type(y) and x == y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if exact or x.dtype.kind != "f":
        return x.tobytes() == y.tobytes()
    return np.allclose(x, y, rtol=1e-9, atol=1e-9, equal_nan=True)


def mixed_table(n: int, seed: int = 0, classes: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with ties, floats without, text, categories, gaps: what real tables look like."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n) + 5 * y,
            "income": np.exp(rng.normal(10 + 0.4 * y, 1, n)),
            "ratio": rng.normal(0, 1, n) / 3,
            "city": rng.choice(["Rome", "Oslo", "Lima", "Bonn"], n),
            "plan": pd.Categorical(np.array(["a", "b", "c"])[(y + rng.integers(0, 2, n)) % 3]),
            "member": rng.random(n) < 0.3 + 0.1 * y,
        }
    )
    for name in ("age", "income", "city"):
        table[name] = table[name].where(rng.random(n) > 0.1)
    return table, np.array(["no", "maybe", "yes", "never"])[y]


def interactions(seed: int):
    """Interactions that naive Bayes alone misses: parities of halves of numbers and of values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(120, 260))
    shape = ("numeric", "nominal", "mixed")[seed % 3]
    a, b, c = rng.random((3, n)).round(2)
    p, q, r = rng.integers(0, 3, (3, n))
    flips = rng.random(n) < 0.08
    if shape == "numeric":
        y = ((a > 0.5) ^ (b > 0.4)) * (1 + (c > 0.6)) ^ flips
        X = pd.DataFrame({"a": a, "b": b, "c": c, "noise": rng.normal(size=n).round(1)})
    elif shape == "nominal":
        y = ((p + q + (r > 1)) % 3).astype(int) ^ flips
        X = pd.DataFrame({"p": p, "q": q, "r": r}).astype(str)
    else:
        y = ((p > 1) ^ (a > 0.5) ^ (q == 0)).astype(int) + flips
        X = pd.DataFrame({"p": p.astype(str), "a": a, "q": q.astype(str), "b": b})
    if seed % 2:
        X = X.mask(rng.random(X.shape) < 0.06)
    weights = rng.integers(1, 4, n) if seed % 4 > 1 else np.ones(n, dtype=int)
    return X, y.astype(int), weights


def folds_and_splits(n, k, seed):
    folds = np.random.default_rng(seed).permutation(np.arange(n) % k)
    return folds, splits_of(folds)


def splits_of(folds):
    every = range(int(folds.max()) + 1)
    return [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in every]


def grow_twin(twin, X, y, weights, folds, **params):
    """Return the tree that a slow twin (a class of trees) grows of the same rows."""
    kinds = ["numeric" if pd.api.types.is_numeric_dtype(X[c]) else "nominal" for c in X]
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    domains = [sorted({r[j] for r in rows if r[j] is not None}) for j in range(X.shape[1])]
    grower = twin(kinds, domains, sorted(set(y.tolist())), int(folds.max()) + 1, **params)
    return grower.grow(list(zip(rows, y.tolist(), weights.tolist(), folds.tolist(), strict=True)))


def assert_is_twin(tree, node, expected, rtol=0.0):
    """The same node as the twin's, and then its children."""
    assert tree.weight[node] == expected["rows"]
    assert tree.utility[node] == pytest.approx(expected["utility"], abs=1e-12)
    considered = {j: u for j, u in enumerate(tree.candidates[node]) if not np.isnan(u)}
    assert considered.keys() == expected["candidates"].keys()
    for j, utility in considered.items():
        assert utility == pytest.approx(expected["candidates"][j], abs=1e-12)
    if expected["attribute"] is None:
        assert tree.attribute[node] == -1
        return
    assert tree.attribute[node] == expected["attribute"]
    if expected["threshold"] is not None:
        cuts = np.atleast_1d(expected["threshold"])
        np.testing.assert_allclose(tree.cuts(node), cuts, rtol=rtol)
    children = tree.children(node)
    assert len(children) == len(expected["children"])
    for child, other in zip(children, expected["children"], strict=True):
        assert_is_twin(tree, child, other, rtol)


def assert_order_and_repetition_do_not_matter(tree, seed):
    """Rows keep their folds when they are shuffled, or repeated as often as they weigh."""
    X, y, weights = interactions(seed)
    folds, splits = folds_and_splits(len(y), 4, seed)
    tree = clone(tree).set_params(calibration="none")
    model = clone(tree).set_params(cv=splits).fit(X, y, weights)
    shuffled = np.random.default_rng(seed).permutation(len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    for rows, own in ((shuffled, weights[shuffled]), (repeated, None)):
        again = clone(tree).set_params(cv=splits_of(folds[rows]))
        assert_same_model(model, again.fit(X.iloc[rows], y[rows], own))


def nominal_table(
    seed: int, n: int = 60, classes: int = 2
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Categories with gaps, labels that depend on pairs of them, whole weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, 4))
    y = ((codes[:, 0] > 0) ^ (codes[:, 1] == 2)).astype(int) + (codes[:, 2] == 0) * (classes > 2)
    y = np.where(rng.random(n) < 0.15, rng.integers(0, classes, n), y)
    cells = np.array([["a", "b", None], ["x", "y", "z"], ["q", "r", "s"], ["m", None, "m"]])
    values = [[cells[j][c] for j, c in enumerate(row)] for row in codes]
    X = pd.DataFrame(values, columns=list("pqrs"), dtype=object)
    return X, y, rng.integers(1, 4, n)


def plain_summary(summary: Summary) -> Any:
    """Return all of a summary as plain data that compares."""
    writer = ArrayWriter()
    return writer.encode(STORED.pack(summary, Summary)), [a.tobytes() for a in writer.arrays]
