"""The classifiers by short names, and others beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
)
from unnaive.models._seeding import seeded

# From the cheapest to the dearest on most tables.
FAMILY: dict[str, Callable[..., Any]] = {
    "nb": NaiveBayesClassifier,
    "gaussian": partial(NaiveBayesClassifier, numeric="gaussian"),
    "boosted": BoostedNaiveBayesClassifier,
    "bagged": BaggedNaiveBayesClassifier,
    "kernel": partial(NaiveBayesClassifier, numeric="kernel"),
    "c45": C45Classifier,
    "mixture": HierarchicalMixtureClassifier,
    "nbtree": NBTreeClassifier,
    "flexible": FlexibleNBTreeClassifier,
    "decomposition": ClassDecompositionClassifier,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An estimator under its name, its random choices settled."""

    name: str
    estimator: Any


def make_model(name: str, **params: Any) -> Any:
    """One of the family by its short name.

    Parameters
    ----------
    name : str
        A key of ``FAMILY``.
    **params : dict
        Parameters of the classifier. ``random_state`` and ``n_jobs`` may be given to all; a model
        that has no such parameter does without.

    Returns
    -------
    classifier

    Examples
    --------
    >>> from unnaive.choose import make_model
    >>> make_model("nbtree", min_node_size=50, random_state=0)
    NBTreeClassifier(min_node_size=50, random_state=0)
    """
    if name not in FAMILY:
        raise ValueError(f"there is no model {name!r}; choose among {', '.join(FAMILY)}.")
    has = FAMILY[name]().get_params()
    common = ("random_state", "n_jobs")
    return FAMILY[name](**{k: v for k, v in params.items() if k in has or k not in common})


def declare_categories(model: Any, categorical_features: Any) -> Any:
    """Tell a model of the family which columns are categories."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return model
    own = {"categorical_features": categorical_features}
    if isinstance(model, ClassDecompositionClassifier):  # leaves columns to those it is made of
        parts = {"estimator": model._estimator(), "clusterer": model._clusterer()}
        return model.set_params(**{k: part.set_params(**own) for k, part in parts.items()})
    return model.set_params(**own)


def candidates(
    models: Iterable[str] | None,
    estimators: Any,
    rng: np.random.RandomState,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> list[Candidate]:
    """The chosen members of the family, cheapest first, then the estimators passed."""
    names = list(FAMILY) if models is None else _names(models)
    own = {
        name: declare_categories(make_model(name, n_jobs=n_jobs), categorical_features)
        for name in FAMILY
        if name in names
    }
    others = _named(estimators)
    for name in others:
        if name in own:
            raise ValueError(f"estimators names one {name!r}, as the family does; rename it.")
    found = [Candidate(name, seeded(model, rng)) for name, model in {**own, **others}.items()]
    if not found:
        raise ValueError("there is nothing to compare: models and estimators are both empty.")
    return found


def _names(models: Iterable[str]) -> list[str]:
    names = [models] if isinstance(models, str) else list(models)
    for name in names:
        if name not in FAMILY:
            raise ValueError(f"models holds {name!r}; choose among {', '.join(FAMILY)}.")
    return names


def _named(estimators: Any) -> dict[str, Any]:
    if estimators is None:
        return {}
    if hasattr(estimators, "fit"):
        estimators = [estimators]
    named: dict[str, Any] = {}
    items = estimators.items() if isinstance(estimators, Mapping) else map(_pair, estimators)
    for name, estimator in items:
        if not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
            raise TypeError(
                f"estimators holds {estimator!r}, which is no classifier: it must have fit, "
                "predict and get_params, as scikit-learn's have."
            )
        unique, k = str(name), 1
        while unique in named:
            k += 1
            unique = f"{name}-{k}"
        named[unique] = estimator
    return named


def _pair(item: Any) -> tuple[str, Any]:
    """A (name, estimator) pair; an estimator alone is named after its class."""
    if isinstance(item, tuple) and len(item) == 2:
        return item
    return type(item).__name__, item
