"""Predicting: rows to scores, probabilities, log probabilities and the best class."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from unnaive.answer import mixture_kernels
from unnaive.answer.class_forest import ClassForest
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.nodes import Calibrated, Folded, Foreign, GatedMixture, Pool, Vote
from unnaive.answer.tree import BayesTree
from unnaive.bayes import Scorer, scoring
from unnaive.bayes.scoring import LEAST_LOG
from unnaive.common.threads import in_threads
from unnaive.table import Block

T = TypeVar("T")
ROWS = 1 << 14  # rows that all members of a vote or a mixture score at a time


@singledispatch
def joint(node: Any, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Log probability of each row and class, up to a constant of the row."""
    return log_probabilities(node, block, n_jobs)


@singledispatch
def probabilities(node: Any, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Probability of each class for each row."""
    return scoring.probabilities(joint(node, block, n_jobs), n_jobs)


@singledispatch
def log_probabilities(node: Any, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Log probability of each class for each row."""
    return scoring.log_probabilities(joint(node, block, n_jobs))


@singledispatch
def winners(node: Any, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
    """Number of the most probable class of each row."""
    return probabilities(node, block, n_jobs).argmax(axis=1)


@joint.register
def _(node: EvidenceTable, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    return node.scorer.joint(block, n_jobs)


@joint.register
def _(node: BayesTree, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    return node.joint(block, n_jobs)


# Votes -------------------------------------------------------------------------------------------


@joint.register
def _(node: Vote, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    """The sum of votes on the log scale, otherwise the logs of the mean."""
    total = _add_votes(node, block, n_jobs)
    return total if node.join == "softmax" else _logs(total)


@probabilities.register
def _(node: Vote, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    if node.join == "softmax":
        return scoring.probabilities(joint(node, block, n_jobs), n_jobs)
    return _add_votes(node, block, n_jobs)


@log_probabilities.register
def _(node: Vote, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    scores = joint(node, block, n_jobs)
    return scoring.log_probabilities(scores) if node.join == "softmax" else scores


def _add_votes(node: Vote, block: Block, n_jobs: int | None) -> NDArray[np.float64]:
    def add(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        votes, out = node.votes(scores), np.zeros((len(scores), node.n_outputs))
        for k in range(votes.shape[1]):  # in the order of the members
            out += votes[:, k]
        return out

    return np.concatenate(_together(block, node.scorer, add, n_jobs))


def _together(
    block: Block, scorer: Scorer, fold: Callable[[NDArray[np.float64]], T], n_jobs: int | None
) -> list[T]:
    """Scores of all members (rows x all their classes), folded ROWS rows at a time."""

    def answer(start: int) -> T:
        return fold(scorer.joint(block.slice(start, start + ROWS)))

    return list(in_threads(answer, range(0, block.n_rows, ROWS), n_jobs))


# Mixtures ----------------------------------------------------------------------------------------


def share_rows(
    node: GatedMixture, block: Block, n_jobs: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log responsibility of each expert (rows x experts), and log probability of each class."""
    shape = node.shape

    def fold(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n = len(scores)
        experts, classes = np.empty((n, shape.n_experts)), np.empty((n, shape.n_classes))
        mixture_kernels.fold_units(scores, shape.net, experts, classes)
        return experts, classes

    experts, classes = zip(*_together(block, node.scorer, fold, n_jobs), strict=True)
    return np.concatenate(experts), np.concatenate(classes)


@log_probabilities.register
def _(node: GatedMixture, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    return share_rows(node, block, n_jobs)[1]


# Trees of classes --------------------------------------------------------------------------------


@probabilities.register
def _(
    node: ClassTree | ClassForest, block: Block, n_jobs: int | None = None
) -> NDArray[np.float64]:
    return node.probabilities(block, n_jobs)


@log_probabilities.register
def _(
    node: ClassTree | ClassForest, block: Block, n_jobs: int | None = None
) -> NDArray[np.float64]:
    return _logs(probabilities(node, block, n_jobs))


# Pools -------------------------------------------------------------------------------------------


@singledispatch
def pooled_logs(node: Any, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    """What a member of a pool adds to the log probabilities, but for a constant of the row."""
    return np.maximum(log_probabilities(node, block, n_jobs), LEAST_LOG)


def has_least_log(node: Any) -> bool:
    """Whether what a member adds has a least value: evidence that adds up has none."""
    return pooled_logs.dispatch(type(node)) is pooled_logs.dispatch(object)


@pooled_logs.register
def _(
    node: EvidenceTable | BayesTree, block: Block, n_jobs: int | None = None
) -> NDArray[np.float64]:
    return joint(node, block, n_jobs)


@joint.register
def _(node: Pool, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    if node.join == "arithmetic":
        return _logs(probabilities(node, block, n_jobs))
    out = np.tile(node.intercept, (block.n_rows, 1))
    for member, weight in zip(node.members, node.weights.tolist(), strict=True):
        out += weight * pooled_logs(member, block, n_jobs)
    return out


@probabilities.register
def _(node: Pool, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    if node.join == "geometric":
        return scoring.probabilities(joint(node, block, n_jobs), n_jobs)
    out = np.zeros((block.n_rows, node.n_outputs))
    for member, share in zip(node.members, node.shares.tolist(), strict=True):
        out += share * probabilities(member, block, n_jobs)
    return np.minimum(out, 1.0)  # shares may add up to a little more


# Pairs folded to classes -------------------------------------------------------------------------


@probabilities.register
def _(node: Folded, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    return fold_probabilities(node, probabilities(node.inner, block, n_jobs))


@log_probabilities.register
def _(node: Folded, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    pairs, first = log_probabilities(node.inner, block, n_jobs), first_pairs(node)
    if node.method == "sum":
        parts = np.split(pairs, first[1:], axis=1)
        return np.column_stack([logsumexp(part, axis=1) for part in parts])
    best = np.maximum.reduceat(pairs, first, axis=1)
    return best - logsumexp(best, axis=1, keepdims=True)


@winners.register
def _(node: Folded, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
    if isinstance(node.inner, Foreign) and not hasattr(node.inner.estimator, "predict_proba"):
        return node.owner[winners(node.inner, block, n_jobs)]
    return probabilities(node, block, n_jobs).argmax(axis=1)


def fold_probabilities(node: Folded, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of pairs (rows x pairs) to those of classes."""
    first = first_pairs(node)
    if node.method == "sum":
        return np.minimum(np.add.reduceat(pairs, first, axis=1), 1.0)
    best = np.maximum.reduceat(pairs, first, axis=1)
    return best / best.sum(axis=1, keepdims=True)


def first_pairs(node: Folded) -> NDArray[np.intp]:
    return np.flatnonzero(np.diff(node.owner, prepend=-1))


# Calibration -------------------------------------------------------------------------------------


@joint.register
def _(node: Calibrated, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    return node.scores(probabilities(node.inner, block, n_jobs))


def outer_probabilities(
    node: Folded | Calibrated, inner: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities by a node, given those by the node inside of it (rows x its outputs)."""
    if isinstance(node, Folded):
        return fold_probabilities(node, inner)
    return scoring.probabilities(node.scores(inner))


# Other libraries ---------------------------------------------------------------------------------


@probabilities.register
def _(node: Foreign, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:  # noqa: ARG001
    return np.asarray(node.estimator.predict_proba(block.native()))


@log_probabilities.register
def _(node: Foreign, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
    if hasattr(node.estimator, "predict_log_proba"):
        return np.asarray(node.estimator.predict_log_proba(block.native()))
    return _logs(probabilities(node, block, n_jobs))


@winners.register
def _(node: Foreign, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:  # noqa: ARG001
    labels = np.asarray(node.estimator.predict(block.native()))
    return np.searchsorted(node.estimator.classes_, labels)


def _logs(probable: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):  # log 0 is minus infinity
        return np.log(probable)
