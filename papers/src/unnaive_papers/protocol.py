"""How a model is tested: parts of the rows, and what is measured on them."""

from __future__ import annotations

import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.metrics import MeasureSums

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def folds(y: NDArray[Any], n: int, seed: int = 0) -> list[Split]:
    """Stratified folds; classes with fewer rows than folds are spread as far as they go."""
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def official(train: NDArray[np.bool_]) -> list[Split]:
    return [(np.flatnonzero(train), np.flatnonzero(~train))]


def drawn(y: NDArray[Any], train: int | float, seed: int) -> list[Split]:
    """So many rows (or such a share) to learn from, the rest to test, by class where possible."""
    from sklearn.model_selection import train_test_split

    stratify = y if np.unique(y, return_counts=True)[1].min() > 1 else None
    rows = np.arange(len(y))
    return [tuple(train_test_split(rows, train_size=train, random_state=seed, stratify=stratify))]


def halves(n_rows: int, seed: int) -> list[Split]:
    """One half to learn from and one to test, at random."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return [(order[: n_rows // 2], order[n_rows // 2 :])]


def busy() -> float:
    """Seconds that this process and those it has waited for were at work."""
    return sum(os.times()[:4])


def within_patience(parts: Iterable[Split], patience: float) -> Iterator[Split]:
    """Parts one after the other; none is begun after so many seconds of work."""
    begun = busy()
    for part in parts:
        yield part
        if busy() - begun >= patience:
            return


def held_out(
    make: Callable[[], Any], X: Any, y: NDArray[Any], parts: list[Split]
) -> dict[str, Any]:
    """Per cent right on each part's test rows and on all of them, and the nodes of trees."""
    right, nodes, clusters = [], [], []
    for train, test in parts:
        model = make().fit(X.iloc[train], y[train])
        right.append(int((model.predict(X.iloc[test]) == y[test]).sum()))
        nodes.append(n_nodes(model))
        clusters.append([int(n) for n in getattr(model, "n_clusters_", [1])])
    tested = [len(test) for _, test in parts]
    return {
        "accuracy": 100 * sum(right) / sum(tested),
        "folds": [100 * r / n for r, n in zip(right, tested, strict=True)],
        "nodes": float(np.mean(nodes)),
        "clusters": [float(np.mean([f(c) for c in clusters])) for f in (np.mean, min, max)],
        "tested": sum(tested),
    }


def n_nodes(model: Any) -> int:
    """Nodes of a tree, as its authors count them, also at a pipeline's end; 1 for others."""
    model = getattr(model, "steps", [("", model)])[-1][1]
    tree = getattr(model, "tree_", None)
    if tree is None:
        return 1
    return c45_size(tree) if type(model).__name__ == "C45Classifier" else int(tree.n_nodes)


def c45_size(tree: Any) -> int:
    """Nodes as C4.5 counts them: with a leaf for every value that no row of a node has."""
    empty = sum(
        tree.coders[j].size - len(tree.children(node))
        for node, j in enumerate(tree.attribute.tolist())
        if j >= 0 and not tree.numeric[j]
    )
    return int(tree.n_nodes) + int(empty)


# ---------------------------------------------------------------------------------------------
# With probabilities
# ---------------------------------------------------------------------------------------------


def evaluate(
    make: Callable[[], Any],
    X: Any,
    y: NDArray[Any],
    parts: list[Split],
    patience: float = float("inf"),
) -> dict[str, Any]:
    """Quality over all test rows, processor seconds of all work, bytes of the first model.

    Where patience ends before the parts do, ``fits`` says how many were done; seconds are those
    that all would take. ``so_far`` has accuracy and log loss after each part, so that methods can
    be compared on as many parts as both have done.
    """
    classes = np.unique(y)
    fit = predict = 0.0
    sums: MeasureSums | None = None
    so_far: list[tuple[float, float]] = []
    size = 0
    for train, test in within_patience(parts, patience):
        start = time.process_time()
        model = make().fit(X.iloc[train], y[train])
        fit += time.process_time() - start
        start = time.process_time()
        given = model.predict_proba(X.iloc[test])
        predict += time.process_time() - start
        p = np.zeros((len(test), len(classes)))
        p[:, np.searchsorted(classes, model.classes_)] = given
        new = MeasureSums.of(p, np.searchsorted(classes, y[test]))
        sums = new if sums is None else sums + new
        so_far.append((sums.measures.accuracy, sums.measures.log_loss))
        size = size or len(pickle.dumps(model))
    assert sums is not None
    done = len(so_far)
    times = {"fit_s": fit * len(parts) / done, "predict_s": predict * len(parts) / done}
    fits = {"fits": done, "parts": len(parts), "so_far": so_far}
    return {**asdict(sums.measures), **times, "bytes": size, **fits}
