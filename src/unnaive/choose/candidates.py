"""Models by short name, and other classifiers beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from unnaive.common.registry import family
from unnaive.models.base import seeded


def make_model(name: str, **params: Any) -> Any:
    """Create a model of the family by its short name.

    Parameters
    ----------
    name : str
        One of those of `unnaive.compare`.
    **params : dict
        Parameters of the classifier. ``random_state`` and ``n_jobs`` are ignored by models that
        do not have them.

    Returns
    -------
    classifier

    Examples
    --------
    >>> from unnaive.choose import make_model
    >>> make_model("nbtree", min_node_size=50, random_state=0)
    NBTreeClassifier(min_node_size=50, random_state=0)
    """
    members = family()
    if name not in members:
        raise ValueError(f"there is no model {name!r}; choose one of {', '.join(members)}.")
    missing = {"random_state", "n_jobs"} - members[name].make().get_params().keys()
    return members[name].make(**{k: v for k, v in params.items() if k not in missing})


def candidates(
    models: Iterable[str] | None,
    estimators: Any,
    rng: np.random.RandomState,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """The models named, cheapest first, then the estimators passed; their random state is fixed."""
    members = family()
    names = list(members) if models is None else _check_names(models, members)
    chosen = {
        name: make_model(name, n_jobs=n_jobs)._declare_categories(categorical_features)
        for name in members
        if name in names
    }
    others = name_estimators(estimators)
    for name in others:
        if name in chosen:
            raise ValueError(f"estimators has {name!r}, which is the name of a model; rename it.")
    if not chosen and not others:
        raise ValueError("there is nothing to compare: models and estimators are both empty.")
    return {name: seeded(model, rng) for name, model in {**chosen, **others}.items()}


def keep_readable(competitors: Mapping[str, Any]) -> dict[str, Any]:
    """Models whose evidence is one bar per column or pair of columns."""
    kept = {name: m for name, m in competitors.items() if getattr(m, "_adds_up", False)}
    if not kept:
        raise ValueError("readable=True leaves nothing to compare: no model has bars that add up.")
    return kept


def _check_names(models: Iterable[str], members: Mapping[str, Any]) -> list[str]:
    names = [models] if isinstance(models, str) else list(models)
    for name in names:
        if name not in members:
            raise ValueError(f"models contains {name!r}; choose from {', '.join(members)}.")
    return names


def name_estimators(estimators: Any) -> dict[str, Any]:
    """Estimators by unique names."""
    if estimators is None:
        return {}
    if hasattr(estimators, "fit"):
        estimators = [estimators]
    named: dict[str, Any] = {}
    items = estimators.items() if isinstance(estimators, Mapping) else map(_pair, estimators)
    for name, estimator in items:
        if not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
            raise TypeError(
                f"estimators contains {estimator!r}, which is not a classifier: it needs fit, "
                "predict and get_params, as in scikit-learn."
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
