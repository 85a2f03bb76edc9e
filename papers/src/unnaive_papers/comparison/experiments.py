"""One split protocol for all sets and all classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive import NaiveBayesClassifier, PooledClassifier
from unnaive.choose import make_model
from unnaive.common.registry import family
from unnaive.datasets import make_loans
from unnaive_papers import weka
from unnaive_papers.comparison.peers import PEERS
from unnaive_papers.comparison.tuned import evaluate_tuned
from unnaive_papers.protocol import Split, drawn, evaluate, folds, official
from unnaive_papers.sets import Sample
from unnaive_papers.study import Study
from unnaive_papers.wang.experiments import target as thirds
from unnaive_papers.wiering.experiments import sigma_classes

POOL = "unnaive pool"
LARGE = 3000  # rows above which one third is held out instead of ten folds
WEKA = {
    "Weka NBTree": "weka.classifiers.trees.NBTree",
    "Weka J48": "weka.classifiers.trees.J48",
}


def _family(name: str) -> Callable[[Any], Any]:
    return partial(_one, name)


def _one(name: str, seed: Any) -> Any:
    return make_model(name, random_state=seed)


def _pool(seed: Any) -> Any:
    return PooledClassifier(random_state=seed)


def _calibrated(_: Any) -> Any:
    return NaiveBayesClassifier(calibration="columns", numeric="best")


CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    POOL: _pool,
    **{f"unnaive {name}": _family(name) for name in family()},
    "unnaive nb, calibrated": _calibrated,
    **PEERS,
}


def splits(y: NDArray[Any], train: NDArray[np.bool_] | None = None, seed: int = 0) -> list[Split]:
    """The set's own, else one third held out above 3,000 rows, else ten stratified folds."""
    if train is not None:
        return official(train)
    return drawn(y, 2 / 3, seed) if len(y) > LARGE else folds(y, 10, seed)


def classes(sample: Sample, told: dict[str, Any]) -> NDArray[Any]:
    """The classes; numeric targets are cut as in the papers that have them."""
    if told.get("target") == "sigma":
        return sigma_classes(sample.target)
    return thirds(sample, told)


@cache
def warm_up(method: str) -> None:
    """A fit that is not timed, once a process: kernels are compiled or loaded when first used."""
    sample = make_loans(300, random_state=0)
    CONFIGURATIONS[method](0).fit(*sample).predict_proba(sample[0])


def quality(
    sample: Sample, method: str, seed: int, study: Study, options: dict[str, Any]
) -> dict[str, Any]:
    X, y = sample.X, classes(sample, study.sets.get(sample.name, {}))
    parts, patience = splits(y, sample.train, seed), options["patience"]
    if method in WEKA:
        if weka.weka_jar() is None:
            raise FileNotFoundError("Weka or Java is not installed")
        return weka.test(WEKA[method], X, y, parts, patience)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of names, gaps and columns without values
        if method.startswith("unnaive "):
            warm_up(method)
        return dict(evaluate(lambda: CONFIGURATIONS[method](seed), X, y, parts, patience))


def tuned(
    sample: Sample, method: str, seed: int, study: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Peers tuned for as long as the pool takes, and our own models as they are."""
    X, y = sample.X, classes(sample, study.sets.get(sample.name, {}))
    parts = splits(y, sample.train, seed)[: options["parts"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up(POOL)
        if method not in PEERS:
            warm_up(method)
            make = partial(CONFIGURATIONS[method], seed)
            return dict(evaluate(make, X, y, parts, options["patience"]))
        pool = partial(CONFIGURATIONS[POOL], seed)
        return evaluate_tuned(method, pool, X, y, parts, seed, options)


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {"quality": quality, "tuned": tuned}
