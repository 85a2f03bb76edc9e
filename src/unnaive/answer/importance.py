"""Importance of columns in an answer, without rows: how much their values say, on average."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.class_forest import ClassForest
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.nodes import Calibrated, Folded, Foreign, GatedMixture, Pool, Vote
from unnaive.answer.tree import BayesTree, Tree
from unnaive.bayes import Scorer, TableTerm
from unnaive.bayes.evidence import mean_strength, weigh
from unnaive.bayes.scoring import PairTerm
from unnaive.bayes.values import (
    density_shares,
    logs_at,
    normalized,
    points_of,
    slot_counts,
    slot_shares,
)
from unnaive.counts import CountTable
from unnaive.encode.coding import slots_in
from unnaive.table import Schema


@singledispatch
def importances(node: Any, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG001
    """Mean absolute evidence of every column, over rows as frequent as the model expects.

    Half of what a pair of columns says counts for each of them. What a tree's test says is the
    change from the class shares of a node to those of its child.
    """
    raise TypeError(f"columns of a {type(node).__name__} have no importance.")


@importances.register
def _(node: EvidenceTable, schema: Schema) -> NDArray[np.float64]:
    return _of_scorer(node.scorer, node.counts, schema)


@importances.register
def _(node: Vote, schema: Schema) -> NDArray[np.float64]:
    n = node.n_outputs
    shares = np.abs(node.weights) / max(np.abs(node.weights).sum(), 1e-300)
    members = [node.scorer.select(np.arange(k * n, (k + 1) * n)) for k in range(len(shares))]
    each = [_of_scorer(scorer, node.counts, schema) for scorer in members]
    return np.asarray(shares @ np.array(each))


@importances.register
def _(node: GatedMixture, schema: Schema) -> NDArray[np.float64]:
    """Of the experts, by the rows they answered for."""
    experts = node.shape.models()[node.shape.n_gates :]
    weight = np.array([node.counts.totals[units].sum() for units in experts])
    each = [
        _of_scorer(node.scorer.select(units), node.counts.select_groups(units), schema)
        for units in experts
    ]
    return np.asarray(weight @ np.array(each) / weight.sum())


@importances.register
def _(node: BayesTree, schema: Schema) -> NDArray[np.float64]:
    out, weight = _of_tests(node, _odds_steps(node)), node.weight
    for n in np.flatnonzero(node.attribute < 0).tolist():  # rows stop at leaves, but for few
        out += weight[n] / weight[0] * _of_scorer(node.scorer(n), node.node_counts(n), schema)
    return out


@importances.register
def _(node: ClassTree, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG001
    """By changes of probabilities, as its evidence is."""
    steps = node.answer.copy()
    steps[1:] -= node.answer[node.parent[1:]]
    return _of_tests(node, steps)


@importances.register
def _(node: ClassForest, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG001
    """By changes of probabilities, as those of one tree are."""
    return node.mean_changes()


@importances.register
def _(node: Pool, schema: Schema) -> NDArray[np.float64]:
    return np.asarray(node.shares @ np.array([importances(m, schema) for m in node.members]))


@importances.register
def _(node: Calibrated, schema: Schema) -> NDArray[np.float64]:
    return node.slope * importances(node.inner, schema)


@importances.register
def _(node: Folded, schema: Schema) -> NDArray[np.float64]:
    return importances(node.inner, schema)


@importances.register
def _(node: Foreign, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG001
    values = getattr(node.estimator, "feature_importances_", None)
    if values is None:
        name = type(node.estimator).__name__
        raise AttributeError(f"{name} says nothing about the importance of its columns.")
    return np.asarray(values, dtype=np.float64)


def _odds_steps(node: BayesTree) -> NDArray[np.float64]:
    """Change of the log odds of every class from each node's parent, as if each class had one row
    more: shares of small nodes are uncertain.
    """
    logs = np.log(node.class_weight + 1.0)
    steps = np.zeros(logs.shape)
    above = logs[node.parent[1:]]
    steps[1:] = weigh(logs[1:] - above, above)
    return steps


def _of_tests(node: Tree, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean absolute change by the tests on each column, over the training rows."""
    rows = node.class_weight[1:]
    size = (np.abs(steps[1:]) * rows).sum(axis=1) / max(float(node.class_weight[0].sum()), 1e-300)
    out = np.zeros(len(node.coders))
    np.add.at(out, node.attribute[node.parent[1:]], size)
    return out


def _of_scorer(scorer: Scorer, counts: CountTable | None, schema: Schema) -> NDArray[np.float64]:
    prior = scorer.log_prior
    out = np.zeros(len(schema))
    for j, term in enumerate(scorer.terms):
        if term is None:
            continue
        if isinstance(term, TableTerm):
            logs = term.logs
            shares = slot_shares(slot_counts(counts, j, len(logs), logs.shape[1]), logs)
        else:
            points = logs_at(term, schema[j], points_of(term, schema[j]))
            logs = np.vstack((term.missing, points))
            missing = np.zeros(len(prior))
            if counts is not None:
                missing = normalized(slot_counts(counts, j, 3, len(prior))[:2])[0]
            shares = density_shares(missing, np.exp(points - term.log_weight))
        out[j] = mean_strength(weigh(logs, prior), shares, prior)
    for pair, size in zip(scorer.pairs, pair_strengths(scorer, counts), strict=True):
        out[[pair.first, pair.second]] += size / 2.0
    return out


def pair_strengths(scorer: Scorer, counts: CountTable | None) -> list[float]:
    """Mean absolute evidence of every pair, as if its columns were independent given the class."""
    sizes = []
    for pair in scorer.pairs:
        first, second = (_pair_shares(scorer, counts, pair, k) for k in (0, 1))
        weights = weigh(pair.logs, scorer.log_prior)
        sizes.append(mean_strength(weights, first[:, None] * second, scorer.log_prior))
    return sizes


def _pair_shares(
    scorer: Scorer, counts: CountTable | None, pair: PairTerm, k: int
) -> NDArray[np.float64]:
    """Distribution of each class over the slots that a pair knows of one of its columns."""
    j, coder = pair.columns[k]
    term, n = scorer.terms[j], coder.size + 2
    if counts is None or not isinstance(term, TableTerm):
        return np.full((n, len(scorer.log_prior)), 1.0 / n)
    slots = slot_counts(counts, j, len(term.logs), term.n_classes)
    out = np.zeros((n, term.n_classes))
    np.add.at(out, slots_in(coder, term.coder), slots)
    return normalized(out)


def relative(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Importances that sum to one; all zero where no column says anything."""
    total = sizes.sum()
    return sizes / total if total > 0 else sizes
