"""The models that `compare`, the command, model files and the documentation know.

Models of the library are listed here by name, and imported when they are first used. A model
outside of it is declared by `register` and, so that the command and `load` find it, an entry point
in the group ``unnaive.models`` that names its module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
GROUP = "unnaive.models"


@dataclass(frozen=True, slots=True)
class Member:
    """A model of the family under its short name.

    Attributes
    ----------
    name : str
    source : type or str
        The class, or ``"package:class"``.
    summary : str
        What it is, in one sentence.
    cost : int
        Its place in the order from the cheapest to the most expensive.
    params : dict
        Parameters that differ from the class's defaults.
    """

    name: str
    source: Any
    summary: str
    cost: int
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> Any:
        """The class."""
        return _class(self.source)

    def make(self, **params: Any) -> Any:
        """Return a new estimator."""
        return self.estimator(**{**self.params, **params})


def _class(source: Any) -> Any:
    if isinstance(source, str):
        package, _, name = source.partition(":")
        return getattr(import_module(package), name)
    return source


# Cost, name, class and summary of the classifiers of the library.
FAMILY = (
    (10, "nb", "NaiveBayes", "Naive Bayes: one table of evidence from one pass of counting."),
    (20, "gaussian", "NaiveBayes", "Naive Bayes with normal densities."),
    (30, "boosted", "BoostedNaiveBayes", "Naive Bayes in rounds, each on what the last misjudged."),
    (40, "bagged", "BaggedNaiveBayes", "Naive Bayes models of bootstrap samples that vote."),
    (50, "kernel", "NaiveBayes", "Naive Bayes with kernel densities."),
    (60, "c45", "C45", "C4.5: a pruned classification tree."),
    (65, "forest", "RandomForest", "Random forest: randomised trees that vote."),
    (70, "mixture", "HierarchicalMixture", "Naive Bayes experts, weighted by gates for each row."),
    (
        75,
        "unnaive",
        "UnnaiveBayes",
        "Evidence of columns and of pairs of them, learned by boosting.",
    ),
    (80, "nbtree", "NBTree", "A tree with a naive Bayes at every leaf."),
    (90, "flexible", "FlexibleNBTree", "A tree with a kernel naive Bayes at every leaf."),
    (100, "decomposition", "ClassDecomposition", "Clusters of classes as classes of their own."),
)
PARAMS = {"gaussian": {"numeric": "gaussian"}, "kernel": {"numeric": "kernel"}}
OTHERS = (
    "unnaive.choose:AutoClassifier",
    "unnaive.choose:PooledClassifier",
    "unnaive.discretize:Discretizer",
    "unnaive.living:Timeline",
    "unnaive.models:AnswerClassifier",
    "unnaive.models:LatentClassClusterer",
)
_members = {
    name: Member(name, f"unnaive.models:{cls}Classifier", summary, cost, PARAMS.get(name, {}))
    for cost, name, cls, summary in FAMILY
}
_sources: dict[str, Any] = {
    source.partition(":")[2]: source for source in (*(m.source for m in _members.values()), *OTHERS)
}


def register(
    name: str | None = None, summary: str = "", *, cost: int = 1000, **params: Any
) -> Callable[[C], C]:
    """Make an estimator known to model files by its class, and to the family by a short name.

    Parameters
    ----------
    name : str or None, default=None
        Under which `unnaive.compare` and the command offer it; None for what is no classifier of
        the family, such as a transformer.
    summary : str, default=""
        What it is, in one sentence.
    cost : int, default=1000
        Its place in the order from the cheapest to the most expensive model.
    **params : dict
        Parameters of this member that differ from the class's defaults.

    Returns
    -------
    decorator of a class
    """

    def declare(cls: C) -> C:
        other = _class(_sources.get(cls.__name__, cls))
        if _file(other) != _file(cls):  # one file may be imported under two names
            raise ValueError(
                f"two estimators are called {cls.__name__}, that of {other.__module__} and that of "
                f"{cls.__module__}; model files could not distinguish them. Rename one."
            )
        _sources[cls.__name__] = cls
        if name is not None:
            if name in _members and _members[name].estimator.__name__ != cls.__name__:
                taken = _members[name].estimator.__name__
                raise ValueError(f"the name {name!r} is taken by {taken}.")
            _members[name] = Member(name, cls, summary, cost, params)
        return cls

    return declare


def _file(cls: type) -> str | None:
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


def family() -> dict[str, Member]:
    """Return the classifiers by short name, from the cheapest to the most expensive."""
    _load_plugins()
    return {m.name: m for m in sorted(_members.values(), key=lambda m: m.cost)}


def find_estimator(name: Any) -> Any:
    """Return the estimator class of a name, or None; model files hold no others."""
    if name not in _sources:
        _load_plugins()
    return _class(_sources.get(name))


def estimators() -> dict[str, type]:
    """Return every estimator that model files may hold, by the name of its class."""
    _load_plugins()
    return {name: _class(source) for name, source in _sources.items()}


@cache
def _load_plugins() -> None:
    for point in entry_points(group=GROUP):
        point.load()
