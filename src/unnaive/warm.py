"""``python -m unnaive.warm`` compiles the kernels of all models, for an image or a shared cache.

Machine code is kept beside the installed library, or under ``NUMBA_CACHE_DIR``; fits of later
processes on the same kind of processor find it there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

MANY = 70_000  # distinct numbers, more than a grid has cells: they take other kernels


def tables() -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]]:
    """Small tables of numbers, text and gaps, with two and three classes, and weights."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        y = rng.integers(0, n_classes, 400)
        X = np.empty((400, 6), dtype=object)
        X[:, 0] = rng.normal(y, 1)
        X[:, 1] = rng.integers(0, 9, 400) + y
        X[:, 2] = rng.normal(size=400)
        X[::10, 2] = None
        for j in (3, 4, 5):
            X[:, j] = np.array(list("abcd"))[(y + rng.integers(0, 3, 400)) % 4]
        yield X, y, rng.random(400) + 0.5


def works() -> dict[str, Callable[[], None]]:
    """What is done to have everything compiled, by what it is for."""
    from unnaive.choose import AutoClassifier
    from unnaive.estimator.registry import estimators, family

    makers: dict[str, Callable[[], Any]] = {name: member.make for name, member in family().items()}
    listed = {AutoClassifier, *(member.estimator for member in family().values())}
    makers |= {name: cls for name, cls in estimators().items() if cls not in listed}
    return {**{name: partial(_use, make) for name, make in makers.items()}, "many": _use_many}


def _use(make: Callable[[], Any]) -> None:
    for X, y, weight in tables():
        for weights in (None, weight):
            model = make().fit(X, y, sample_weight=weights)
            for method in ("predict_proba", "predict", "evidence", "transform"):
                if hasattr(model, method):
                    getattr(model, method)(X)


def _use_many() -> None:
    from unnaive import NaiveBayesClassifier

    X = np.random.default_rng(0).normal(size=(MANY, 2))
    y = (X[:, 0] > 0).astype(int)
    for numeric in ("mdl", "gaussian", "kernel"):
        NaiveBayesClassifier(numeric=numeric).fit(X, y).predict_proba(X)


def main(arguments: list[str] | None = None) -> None:
    """Compile all, and say how far it is."""
    parser = argparse.ArgumentParser(prog="python -m unnaive.warm", description=__doc__)
    parser.add_argument("models", nargs="*", help="names of some models; all without one")
    chosen = parser.parse_args(arguments).models
    every = works()
    unknown = [name for name in chosen if name not in every]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(every)}")
    for k, name in enumerate(chosen or every, 1):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of such small tables
            every[name]()
        taken = time.perf_counter() - start
        print(f"{k}/{len(chosen or every)} {name}: {taken:.1f} s", flush=True)


if __name__ == "__main__":
    main()
