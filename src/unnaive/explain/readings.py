"""How every classifier of the library becomes parts.

A naive Bayes has one part; a tree has one at every node, and one of them speaks for a row; bags and
rounds all vote; experts speak by their responsibilities. A new classifier needs one function here,
registered for its class with `read_model.register`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unnaive.bayes import Scorer
from unnaive.bayes.kernels import IMPOSSIBLE
from unnaive.bayes.scoring import add_scorers
from unnaive.counts import CountTable
from unnaive.explain.parts import Join, Part, Reading, Role, Speaker
from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
)
from unnaive.models.tree.folded import FoldedTreeClassifier
from unnaive.table import Block
from unnaive.table.columns import as_objects


@singledispatch
def read_model(model: Any) -> Reading:
    """A fitted classifier of the library as naive Bayes parts.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    Reading

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NBTreeClassifier
    >>> from unnaive.explain import read_model
    >>> X, y = load_iris(return_X_y=True)
    >>> reading = read_model(NBTreeClassifier(max_depth=0, random_state=0).fit(X, y))
    >>> reading.part(0)
    Part 'node 0': 3 labels, 4 attributes
    """
    raise TypeError(
        f"{type(model).__name__} is not made of naive Bayes parts, so there is no evidence to "
        "show; classifiers of this library are, and a ClassDecompositionClassifier around one."
    )


@read_model.register
def _(model: NaiveBayesClassifier) -> Reading:
    check_is_fitted(model)
    return _one(model, model.classes_, model.counts_)


@read_model.register
def _(model: LatentClassClusterer) -> Reading:
    check_is_fitted(model)
    return _one(model, np.arange(model.n_clusters_), None)


@read_model.register
def _(model: BoostedNaiveBayesClassifier) -> Reading:
    check_is_fitted(model)
    votes = model.estimator_weights_
    if model.algorithm_ == "real":
        return _one(model, model.classes_, model.counts_, float(votes.sum()))
    rivals = max(len(model.classes_) - 1, 1) if model.algorithm_ == "samme" else 1
    return _voting(model, "round", votes / rivals, "log_vote")


@read_model.register
def _(model: BaggedNaiveBayesClassifier) -> Reading:
    check_is_fitted(model)
    n = len(model.bag_weights_)
    join: Join = "mean" if model.voting == "soft" else "vote"
    return _voting(model, "bag", np.full(n, 1.0 / n), join)


@read_model.register
def _(model: FoldedTreeClassifier) -> Reading:
    check_is_fitted(model)
    tree = model.tree_

    def part(node: int) -> Part:
        return Part(
            f"node {node}",
            "node",
            model.classes_,
            tree.scorer(node),
            tree.node_counts(node),
            float(tree.weight[node]),
        )

    def speakers(block: Block) -> list[Speaker]:
        node = tree.apply(block)
        each = [(int(n), np.flatnonzero(node == n)) for n in np.unique(node)]
        return [Speaker(n, rows, np.ones(len(rows))) for n, rows in each]

    return _reading(model, _numbered("node", tree.n_nodes), part, "mean", 0, speakers)


@read_model.register
def _(model: C45Classifier) -> Reading:
    check_is_fitted(model)
    tree = model.tree_
    silent = (None,) * len(model.schema_)

    def part(node: int) -> Part:
        """A naive Bayes without attributes: the shares of the node's classes."""
        answer = tree.answer[node]
        logs = np.log(answer, out=np.full(len(answer), IMPOSSIBLE), where=answer > 0)
        scorer = Scorer(logs, silent)
        weight = float(tree.weight[node])
        return Part(f"node {node}", "node", model.classes_, scorer, None, weight)

    def speakers(block: Block) -> list[Speaker]:
        share = tree.shares(block)
        each = [(int(n), np.flatnonzero(share[:, n])) for n in np.flatnonzero(share.any(axis=0))]
        return [Speaker(n, rows, share[rows, n]) for n, rows in each]

    return _reading(model, _numbered("node", tree.n_nodes), part, "mean", 0, speakers)


@read_model.register
def _(model: HierarchicalMixtureClassifier) -> Reading:
    check_is_fitted(model)
    mixture, table = model.mixture_, model.table_
    shape, units = mixture.shape, mixture.shape.models()
    names = _numbered("gate", shape.n_gates) + _numbered("expert", shape.n_experts)

    def part(k: int) -> Part:
        own, gate = units[k], k < shape.n_gates
        children = as_objects(
            _children(shape.first[k], shape.width[k], shape.n_gates) if gate else []
        )
        return Part(
            names[k],
            "gate" if gate else "expert",
            children if gate else model.classes_,
            mixture.scorer.select(own),
            table.select_groups(own),
            float(table.totals[own].sum()),
        )

    def speakers(block: Block) -> list[Speaker]:
        trust = np.exp(mixture.fold(block).trust)
        every = np.arange(block.n_rows)
        return [
            Speaker(k, every, trust[:, below].sum(axis=1))
            for k, below in enumerate(_experts_below(shape.first, shape.width, shape.n_experts))
        ]

    weights = [table.totals[own].sum() for own in units[shape.n_gates :]]
    main = shape.n_gates + int(np.argmax(weights))
    return _reading(model, names, part, "mean", main, speakers)


@read_model.register
def _(model: ClassDecompositionClassifier) -> Reading:
    check_is_fitted(model)
    inner, pairs = read_model(model.estimator_), as_objects(model.pairs_)
    if inner.owner is not None:
        raise TypeError(
            "a decomposition inside a decomposition cannot be explained; explain its estimator_."
        )

    def part(k: int) -> Part:
        own = inner.part(k)
        return own if own.role == "gate" else replace(own, labels=pairs)

    return replace(
        inner,
        model=model,
        classes=model.classes_,
        labels=pairs,
        part=cache(part),
        owner=model.owner_,
        fold=model.fold,
    )


# Pieces that several readings share ---------------------------------------------------------


def _reading(
    model: Any,
    names: tuple[str, ...],
    part: Callable[[int], Part],
    join: Join,
    main: int,
    speakers: Callable[[Block], list[Speaker]],
) -> Reading:
    kept = cache(part)
    labels = kept(main).labels
    return Reading(model, model, labels, labels, names, kept, join, main, speakers)


def _one(
    model: Any, labels: NDArray[Any], counts: CountTable | None, votes: float | None = None
) -> Reading:
    """A model that is one naive Bayes; ``votes`` of the rounds that it sums up."""
    weight = np.nan if counts is None else float(counts.totals.sum())
    how = (True, 1.0) if votes is None else (False, votes)
    own = Part("naive Bayes", "model", labels, model.scorer_, counts, weight, *how)

    def speakers(block: Block) -> list[Speaker]:
        return [Speaker(0, np.arange(block.n_rows), np.ones(block.n_rows))]

    return _reading(model, (own.name,), lambda _: own, "mean", 0, speakers)


def _voting(model: Any, word: Role, shares: NDArray[np.float64], join: Join) -> Reading:
    """Models that all speak for every row, and their mean evidence as a summary."""
    n_classes, n = len(model.classes_), len(shares)
    names = (*_numbered(word, n), "all together")
    weight = float(model.counts_.totals.sum())

    def scorer(k: int) -> Scorer:
        return model.scorer_.select(np.arange(k * n_classes, (k + 1) * n_classes))

    def part(k: int) -> Part:
        role: Role = word
        if k < n:
            own = scorer(k)
        else:
            own, role = add_scorers([scorer(i) for i in range(n)], shares / shares.sum()), "summary"
        return Part(names[k], role, model.classes_, own, model.counts_, weight, False)

    def speakers(block: Block) -> list[Speaker]:
        every = np.arange(block.n_rows)
        return [Speaker(k, every, np.full(block.n_rows, share)) for k, share in enumerate(shares)]

    return _reading(model, names, part, join, n, speakers)


def _numbered(word: str, n: int) -> tuple[str, ...]:
    return tuple(f"{word} {k}" for k in range(n))


def _children(first: int, width: int, n_gates: int) -> list[str]:
    """Names of a gate's children."""
    nodes = range(int(first), int(first + width))
    return [f"gate {n}" if n < n_gates else f"expert {n - n_gates}" for n in nodes]


def _experts_below(
    first: NDArray[np.intp], width: NDArray[np.intp], n_experts: int
) -> list[NDArray[np.intp]]:
    """The experts below every node of a mixture, gates first."""
    n_gates = len(first)
    below = [np.empty(0, np.intp)] * n_gates + [np.array([e]) for e in range(n_experts)]
    for g in reversed(range(n_gates)):
        below[g] = np.concatenate([below[n] for n in range(first[g], first[g] + width[g])])
    return below
