"""The classifiers by short names, and others beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.estimator.registry import family
from unnaive.models._seeding import seeded


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
        One of those that `compare` knows.
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
    members = family()
    if name not in members:
        raise ValueError(f"there is no model {name!r}; choose among {', '.join(members)}.")
    has = members[name].make().get_params()
    common = ("random_state", "n_jobs")
    return members[name].make(**{k: v for k, v in params.items() if k in has or k not in common})


def candidates(
    models: Iterable[str] | None,
    estimators: Any,
    rng: np.random.RandomState,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> list[Candidate]:
    """The chosen members of the family, cheapest first, then the estimators passed."""
    members = family()
    names = list(members) if models is None else _names(models, members)
    own = {
        name: make_model(name, n_jobs=n_jobs)._declare_categories(categorical_features)
        for name in members
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


def _names(models: Iterable[str], members: Mapping[str, Any]) -> list[str]:
    names = [models] if isinstance(models, str) else list(models)
    for name in names:
        if name not in members:
            raise ValueError(f"models holds {name!r}; choose among {', '.join(members)}.")
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
