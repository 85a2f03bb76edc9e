"""Every kind of answer as columns of probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from sqlglot import exp

from unnaive.answer import (
    Answer,
    BayesTree,
    Calibrated,
    ClassForest,
    ClassTree,
    EvidenceTable,
    Folded,
    Foreign,
    GatedMixture,
    Pool,
    Vote,
)
from unnaive.bayes.scoring import LEAST_LOG, LEAST_SHARE
from unnaive.models.wrapped import look_inside
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import case, op, ref, whole
from unnaive.store.sql.forests import mean_forest
from unnaive.store.sql.scores import (
    NOTHING,
    Thinning,
    log_sums,
    logs,
    normalized,
    raised,
    score,
    shares,
    tops,
    winners,
)
from unnaive.store.sql.statement import add_up
from unnaive.store.sql.trees import answer_tree, score_tree

AT_ONCE = 240  # scores of members in one step


def sql_answer(model: Any) -> Answer:
    """The answer of a fitted model, if it can be written as SQL."""
    check_is_fitted(model)
    model = look_inside(model).alone("written as SQL")
    answer = getattr(model, "answer_", None)
    core = getattr(answer, "core", model)
    if not isinstance(answer, Answer) or isinstance(core, Foreign):
        inside = type(getattr(core, "estimator", core)).__name__
        around = "" if inside == type(model).__name__ else f"{type(model).__name__} around "
        raise TypeError(
            f"{around}{inside} cannot be written as SQL; classifiers of this library can, also "
            "inside a ClassDecompositionClassifier, an AutoClassifier, a search or a classifier "
            "with a threshold."
        )
    return answer


@singledispatch
def probabilities(node: Any, columns: Columns, thinning: Thinning) -> list[str]:  # noqa: ARG001
    """Probability of each class, as columns."""
    raise TypeError(f"a {type(node).__name__} cannot be written as SQL.")


@probabilities.register
def _(node: EvidenceTable, columns: Columns, thinning: Thinning) -> list[str]:
    return shares(columns, [score(columns, node.scorer, thinning=thinning)])[0]


@probabilities.register
def _(node: BayesTree, columns: Columns, thinning: Thinning) -> list[str]:
    return shares(columns, [score_tree(columns, node, thinning)])[0]


@probabilities.register
def _(node: ClassTree, columns: Columns, thinning: Thinning) -> list[str]:  # noqa: ARG001
    return answer_tree(columns, node)


@probabilities.register
def _(node: ClassForest, columns: Columns, thinning: Thinning) -> list[str]:  # noqa: ARG001
    means = mean_forest(columns, node)
    if node.power == 1.0 and node.intercept is None:
        return means
    shifts = np.zeros(node.n_outputs) if node.intercept is None else node.intercept
    return _calibrate(columns, means, node.power, shifts, math.exp(NOTHING))


@probabilities.register
def _(node: Pool, columns: Columns, thinning: Thinning) -> list[str]:
    """What members say, times their weights, added in their order."""
    double, n = columns.dialect.double, node.n_outputs
    geometric = node.join == "geometric"
    weights = (node.weights if geometric else node.shares).tolist()
    totals: list[exp.Expr] = [double(start) for start in node.intercept]
    for member, weight in zip(node.members, weights, strict=True):
        said = _pooled(member, columns, thinning, geometric)
        step = columns.statement.step("pool")
        totals = [
            ref(step.define("t", add_up([totals[c], _times(ref(said[c]), weight, double)])))
            for c in range(n)
        ]
    names = [str(total.name) for total in totals]
    return shares(columns, [names])[0] if geometric else names


def _pooled(node: Any, columns: Columns, thinning: Thinning, geometric: bool) -> list[str]:
    """What a member of a pool adds: joint log probabilities, or logarithms of probabilities."""
    if geometric and isinstance(node, EvidenceTable):
        return score(columns, node.scorer, thinning=thinning)
    if geometric and isinstance(node, BayesTree):
        return score_tree(columns, node, thinning)
    said = probabilities(node, columns, thinning)
    return logs(columns, said, LEAST_LOG) if geometric else said


@probabilities.register
def _(node: Vote, columns: Columns, thinning: Thinning) -> list[str]:  # noqa: ARG001
    """Members some at a time, their votes added in order."""
    n, members, double = node.n_outputs, node.weights.size, columns.dialect.double
    whole_weight = double(float(node.weights.sum()))
    at_once = max(1, AT_ONCE // n)
    totals: list[list[exp.Expr]] = [[] for _ in range(n)]
    for first in range(0, members, at_once):
        last = min(first + at_once, members)
        scores = score(columns, node.scorer, slice(first * n, last * n))
        models = [scores[k : k + n] for k in range(0, len(scores), n)]
        weights = node.weights[first:last].tolist()
        votes: list[list[exp.Expr]]
        if node.cast == "probabilities":
            votes = [
                [_times(ref(p), weight, double) for p in member]
                for member, weight in zip(shares(columns, models), weights, strict=True)
            ]
        else:
            votes = [
                [case([(whole(c), double(weight))], double(0.0), ref(won)) for c in range(n)]
                for won, weight in zip(winners(columns, models), weights, strict=True)
            ]
        if node.join == "mean":
            votes = [[op(v, "/", whole_weight.copy()) for v in member] for member in votes]
        totals = _add(columns, totals, votes)
    names = [str(total[0].name) for total in totals]
    return names if node.join == "mean" else shares(columns, [names])[0]


def _times(value: exp.Expr, weight: float, double: Any) -> exp.Expr:
    return value if weight == 1.0 else op(value, "*", double(weight))


def _add(
    columns: Columns, totals: list[list[exp.Expr]], parts: Sequence[Sequence[exp.Expr]]
) -> list[list[exp.Expr]]:
    """Totals with the votes of some more members."""
    step = columns.statement.step("votes")
    return [
        [ref(step.define("t", add_up([*total, *(votes[c] for votes in parts)])))]
        for c, total in enumerate(totals)
    ]


@probabilities.register
def _(node: GatedMixture, columns: Columns, thinning: Thinning) -> list[str]:  # noqa: ARG001
    """Log responsibility of each expert along its gates, then a sum over experts."""
    shape = node.shape
    scores = score(columns, node.scorer)
    models = [[scores[unit] for unit in units] for units in shape.models()]
    wholes = log_sums(columns, models)
    step = columns.statement.step("responsibility")

    def longer(way: list[exp.Expr], score: str, whole: str) -> list[exp.Expr]:
        share = exp.Paren(this=op(ref(score), "-", ref(whole)))
        return [*(part.copy() for part in way), share]

    ways: list[list[exp.Expr]] = [[]]  # to every node: those of its gate, and its own share
    for g in range(shape.n_gates):
        ways += [longer(ways[g], s, wholes[g]) for s in models[g]]
    experts = list(zip(ways, models, wholes, strict=True))[shape.n_gates :]
    both = [
        [step.define("b", add_up(longer(way, s, whole))) for s in scores]
        for way, scores, whole in experts
    ]
    best = tops(columns, [[s for expert in both for s in expert]])[0]
    step = columns.statement.step("raised")
    parts = [
        step.define("e", add_up([raised(columns, expert[c], best) for expert in both]))
        for c in range(shape.n_classes)
    ]
    return normalized(columns, [parts])[0]


@probabilities.register
def _(node: Folded, columns: Columns, thinning: Thinning) -> list[str]:
    pairs = probabilities(node.inner, columns, thinning)
    owners = [np.flatnonzero(node.owner == c) for c in range(node.n_outputs)]
    step = columns.statement.step("classes")
    class_pairs = [[ref(pairs[k]) for k in ks] for ks in owners]
    dialect = columns.dialect
    if node.method == "sum":
        one = dialect.double(1.0)
        return [
            step.define("p", dialect.least([add_up(parts), one.copy()])) for parts in class_pairs
        ]
    best = [step.define("e", dialect.greatest(parts)) for parts in class_pairs]
    return normalized(columns, [best])[0]


@probabilities.register
def _(node: Calibrated, columns: Columns, thinning: Thinning) -> list[str]:
    inner = probabilities(node.inner, columns, thinning)
    return _calibrate(columns, inner, node.slope, node.intercept, LEAST_SHARE)


def _calibrate(
    columns: Columns,
    inner: Sequence[str],
    slope: float,
    intercept: NDArray[np.float64],
    least: float,
) -> list[str]:
    """Probabilities, or ``least``, to the power of a slope, times factors of the classes."""
    dialect, step, scores = columns.dialect, columns.statement.step("calibrated"), []
    for p, shift in zip(inner, intercept.tolist(), strict=True):
        log = exp.Ln(this=dialect.greatest([ref(p), dialect.double(least)]))
        scaled = op(log, "*", dialect.double(slope))
        scores.append(step.define("s", op(scaled, "+", dialect.double(shift))))
    return shares(columns, [scores])[0]
