"""Wiering's protocol: 50 times, half of the rows to learn from and half to test on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.models import C45Classifier, HierarchicalMixtureClassifier, NBTreeClassifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive.papers import MIXTURE
from unnaive_papers.generators import make_parity
from unnaive_papers.measures import NOTHING, by_set
from unnaive_papers.numbers import Around
from unnaive_papers.protocol import halves, held_out
from unnaive_papers.sets import Sample
from unnaive_papers.statistics import Estimate, exactly
from unnaive_papers.study import Study
from unnaive_papers.wiering.gated import GatedExperts, GatedRounds, Neighbors


def _mixture(*layers: int, **params: Any) -> Callable[[Any], Any]:
    given = {"layers": layers, "calibration": "none", **MIXTURE, **params}
    return lambda seed: HierarchicalMixtureClassifier(random_state=seed, **given)


def _boosted(model: Any, **params: Any) -> Callable[[Any], Any]:
    return lambda seed: Around(partial(model, random_state=seed, **params), random_state=seed)


def _tree() -> C45Classifier:
    return C45Classifier(calibration="none")


def _gated(expert: Any) -> Callable[[Any], Any]:
    return lambda seed: GatedExperts(expert, EXACT["wiering"]["NB"](seed), random_state=seed)


# Sweeps and the counters' start of the loading experiments are ours: the paper names neither.
CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    **EXACT["wiering"],
    "1-8 HM": _mixture(8),
    "1-4 HM, Bernoulli": _mixture(4, likelihood="bernoulli"),
    "4-4 HM": _mixture(4, 4),
    "2-2-2 HM": _mixture(2, 2, 2),
    "grown HM": lambda seed: HierarchicalMixtureClassifier(
        layers="grow", calibration="none", random_state=seed, **MIXTURE
    ),
    "boosted 1-4 HM": _boosted(
        HierarchicalMixtureClassifier, layers=(4,), calibration="none", **MIXTURE
    ),
    "NBTree": lambda seed: NBTreeClassifier(random_state=seed),
    "boosted NBTree": _boosted(NBTreeClassifier),
    "gated boosting": lambda seed: GatedRounds(
        EXACT["wiering"]["boosting"](seed), EXACT["wiering"]["NB"](seed)
    ),
    "C4.5": lambda _: _tree(),
    "1-4 mixture of trees": _gated(_tree()),
    "neighbors": lambda _: Neighbors(),
    "1-4 mixture of neighbors": _gated(Neighbors()),
    "1-2 HM, exclusive or": _mixture(2, n_sweeps=20),
    "1-4 HM, exclusive or": _mixture(4, n_sweeps=20),
    "4 layers, parity": _mixture(*(2,) * 4, n_sweeps=1000, gamma=0.01),
    "6 layers, parity": _mixture(*(2,) * 6, n_sweeps=1000, gamma=0.01),
    "6 layers, parity, the paper's start": _mixture(*(2,) * 6, n_sweeps=1000),
    "7 layers, parity": _mixture(*(2,) * 7, n_sweeps=1000, gamma=0.01),
}


def sigma_classes(values: Any) -> NDArray[Any]:
    """A numeric target as classes: whole standard deviations from the mean."""
    cut = np.floor((values - values.mean()) / values.std(ddof=0)).astype(int)
    return np.asarray(cut.astype(str), dtype=object)


def prepare(sample: Sample, told: dict[str, Any]) -> tuple[Any, NDArray[Any]]:
    """His rows and classes: numeric targets are cut, segmentation has its 210 rows only."""
    X, target = sample.X, sample.target
    if told.get("rows") == "train" and sample.train is not None:
        X = X[sample.train].reset_index(drop=True)
        target = target[sample.train].reset_index(drop=True)
    if told.get("target") == "sigma":
        return X, sigma_classes(target)
    return X, np.asarray(target.astype(str).to_numpy(), dtype=object)


def half(sample: Sample, method: str, seed: int, study: Study, _: dict[str, Any]) -> dict[str, Any]:
    """Per cent right on the other half."""
    X, y = prepare(sample, study.sets.get(sample.name, {}))
    found = held_out(lambda: CONFIGURATIONS[method](seed), X, y, halves(len(y), seed))
    return {"accuracy": found["accuracy"], "nodes": found["nodes"]}


def training(
    sample: Sample, method: str, seed: int, study: Study, _: dict[str, Any]
) -> dict[str, Any]:
    """Per cent right on the half that was learned."""
    X, y = prepare(sample, study.sets.get(sample.name, {}))
    (rows, _test), *_rest = halves(len(y), seed)
    model = CONFIGURATIONS[method](seed).fit(X.iloc[rows], y[rows])
    return {"accuracy": 100 * float((model.predict(X.iloc[rows]) == y[rows]).mean())}


def loading(
    _sample: None, method: str, _seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """Of how many seeds the model learns every row of exclusive or, or of 4-bit parity."""
    X, y = make_parity(2 if "exclusive or" in method else 4)
    n = options["runs"]
    loaded = sum(CONFIGURATIONS[method](seed).fit(X, y).score(X, y) == 1 for seed in range(n))
    return {"loaded": 100 * loaded / n, "runs": n, "accuracy": 100 * loaded / n}


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "table": half,
    "beyond": half,
    "experts": half,
    "training": training,
    "loading": loading,
}


def never_behind(records: Any, method: str, beside: str) -> Estimate:
    """On how many sets the mean of one method is not below that of another."""
    wide = by_set(records)
    if method not in wide or beside not in wide:
        return NOTHING
    return exactly(int((wide[method] >= wide[beside]).sum()), len(wide))


MEASURES: dict[str, Callable[..., Estimate]] = {"never behind": never_behind}
