"""Every model of the library as columns of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from sqlglot import exp

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
from unnaive.models.ensemble.rounds import class_scores
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import case, ref, whole
from unnaive.store.sql.scores import (
    Thinning,
    log_sums,
    normalized,
    raised,
    score,
    shares,
    tops,
    winners,
)
from unnaive.store.sql.statement import add_up
from unnaive.store.sql.trees import answer_tree, score_tree

AT_ONCE = 240  # scores of models that answer together, in one step


def answering(model: Any) -> Any:
    """The model inside, which reads the columns; refuses those that have no statement."""
    inner = model
    while isinstance(inner, ClassDecompositionClassifier):
        check_is_fitted(inner)
        inner = inner.estimator_
    if not isinstance(inner, _KNOWN):
        around = "" if inner is model else f"{type(model).__name__} around "
        known = ", ".join(kind.__name__ for kind in _KNOWN)
        raise TypeError(
            f"{around}{type(inner).__name__} cannot be written as SQL; these can, and "
            f"ClassDecompositionClassifier around them: {known}."
        )
    check_is_fitted(inner)
    return inner


def probabilities(columns: Columns, model: Any, thinning: Thinning) -> list[str]:
    """Probability of each class, as columns."""
    if isinstance(model, ClassDecompositionClassifier):
        return _decomposed(columns, model, thinning)
    if isinstance(model, NaiveBayesClassifier):
        return shares(columns, [score(columns, model.scorer_, thinning=thinning)])[0]
    if isinstance(model, (NBTreeClassifier, FlexibleNBTreeClassifier)):
        return shares(columns, [score_tree(columns, model.tree_, thinning)])[0]
    if isinstance(model, C45Classifier):
        return answer_tree(columns, model.tree_)
    if isinstance(model, HierarchicalMixtureClassifier):
        return _mixed(columns, model)
    if isinstance(model, BaggedNaiveBayesClassifier):
        return _bagged(columns, model)
    assert isinstance(model, BoostedNaiveBayesClassifier)
    if model.algorithm_ == "real":
        return shares(columns, [score(columns, model.scorer_)])[0]
    return _voted(columns, model)


def _side_by_side(columns: Columns, model: Any, n_models: int) -> Any:
    """Scores of models whose classes stand end to end, some models at a time."""
    n = len(model.classes_)
    at_once = max(1, AT_ONCE // n)
    for first in range(0, n_models, at_once):
        last = min(first + at_once, n_models)
        found = score(columns, model.scorer_, slice(first * n, last * n))
        yield first, [found[k : k + n] for k in range(0, len(found), n)]


def _bagged(columns: Columns, model: BaggedNaiveBayesClassifier) -> list[str]:
    n, bags = len(model.classes_), len(model.bag_weights_)
    dialect = columns.dialect
    totals: list[list[exp.Expr]] = [[] for _ in range(n)]
    for _, models in _side_by_side(columns, model, bags):
        votes: list[list[exp.Expr]]
        if model.voting == "soft":
            votes = [[ref(p) for p in own] for own in shares(columns, models)]
        else:
            votes = [
                [_if_won(columns, won, c, 1.0) for c in range(n)]
                for won in winners(columns, models)
            ]
        parts = [
            [exp.Div(this=v, expression=dialect.double(float(bags)), typed=True) for v in own]
            for own in votes
        ]
        totals = _add(columns, totals, parts)
    return [str(total[0].name) for total in totals]


def _voted(columns: Columns, model: BoostedNaiveBayesClassifier) -> list[str]:
    """Rounds that vote for their best class."""
    n = len(model.classes_)
    weights = model.estimator_weights_
    totals: list[list[exp.Expr]] = [[] for _ in range(n)]
    for first, models in _side_by_side(columns, model, len(weights)):
        parts = []
        for k, won in enumerate(winners(columns, models), start=first):
            vote = class_scores(model.algorithm_, np.eye(n), float(weights[k])).diagonal()
            parts.append([_if_won(columns, won, c, float(vote[c])) for c in range(n)])
        totals = _add(columns, totals, parts)
    return shares(columns, [[str(total[0].name) for total in totals]])[0]


def _if_won(columns: Columns, won: str, c: int, vote: float) -> exp.Expr:
    double = columns.dialect.double
    return case([(whole(c), double(vote))], double(0.0), ref(won))


def _add(
    columns: Columns, totals: list[list[exp.Expr]], parts: Sequence[Sequence[exp.Expr]]
) -> list[list[exp.Expr]]:
    """Votes so far, and those of some more models."""
    step = columns.statement.step("votes")
    return [
        [ref(step.define("v", add_up([*total, *(own[c] for own in parts)])))]
        for c, total in enumerate(totals)
    ]


def _mixed(columns: Columns, model: HierarchicalMixtureClassifier) -> list[str]:
    """Gates and experts: logs of shares on the way to each expert, then a sum over experts."""
    shape = model.mixture_.shape
    scores = score(columns, model.mixture_.scorer)
    models = [[scores[unit] for unit in units] for units in shape.models()]
    wholes = log_sums(columns, models)
    step = columns.statement.step("trust")
    ways: list[list[exp.Expr]] = [[]]  # to every node: its gate's way, and its own share
    for g in range(shape.n_gates):
        for s in models[g]:
            share = exp.Paren(this=exp.Sub(this=ref(s), expression=ref(wholes[g])))
            ways.append([*(part.copy() for part in ways[g]), share])
    both = [
        [
            step.define(
                "b",
                add_up(
                    [
                        *(part.copy() for part in ways[shape.n_gates + e]),
                        exp.Paren(this=exp.Sub(this=ref(s), expression=ref(total))),
                    ]
                ),
            )
            for s in models[shape.n_gates + e]
        ]
        for e, total in enumerate(wholes[shape.n_gates :])
    ]
    best = tops(columns, [[s for own in both for s in own]])[0]
    step = columns.statement.step("raised")
    parts = [
        step.define(
            "e",
            add_up(
                [raised(columns, exp.Sub(this=ref(own[c]), expression=ref(best))) for own in both]
            ),
        )
        for c in range(shape.n_classes)
    ]
    return normalized(columns, [parts])[0]


def _decomposed(
    columns: Columns, model: ClassDecompositionClassifier, thinning: Thinning
) -> list[str]:
    pairs = probabilities(columns, model.estimator_, thinning)
    owners = [np.flatnonzero(model.owner_ == c) for c in np.unique(model.owner_)]
    step = columns.statement.step("classes")
    own = [[ref(pairs[k]) for k in ks] for ks in owners]
    if model.fold == "sum":
        return [step.define("p", add_up(parts)) for parts in own]
    best = [step.define("e", columns.dialect.greatest(parts)) for parts in own]
    return normalized(columns, [best])[0]


_KNOWN = (
    NaiveBayesClassifier,
    NBTreeClassifier,
    FlexibleNBTreeClassifier,
    C45Classifier,
    BoostedNaiveBayesClassifier,
    BaggedNaiveBayesClassifier,
    HierarchicalMixtureClassifier,
)
