"""Calibrated answers: evidence times a factor wherever evidence adds up."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.kernel_tree import KernelTree
from unnaive.answer.nodes import Calibrated, EvidenceTable, Node
from unnaive.answer.tree import BayesTree
from unnaive.bayes.build import Smoothing
from unnaive.bayes.estimate import log_likelihood_without_one, pooled_log_prior
from unnaive.bayes.kernels import ABSENT
from unnaive.bayes.scoring import scale_logs
from unnaive.density.estimate import logs_without_one


@singledispatch
def calibrated(node: Any, slope: float, intercept: NDArray[np.float64]) -> Node:
    """A node whose scores are ``slope * scores + intercept``.

    Tables of evidence, alone or in a tree, stay what they are, with other numbers; what else there
    is goes into a `Calibrated`.
    """
    return Calibrated(node, slope, intercept)


@calibrated.register
def _(node: EvidenceTable, slope: float, intercept: NDArray[np.float64]) -> Node:
    scorer = node.scorer.calibrated(slope, intercept)
    return replace(node, scorer=scorer, slope=slope * node.slope)


@calibrated.register
def _(node: BayesTree, slope: float, intercept: NDArray[np.float64]) -> Node:
    prior = np.maximum(scale_logs(node.log_prior, slope) + intercept, ABSENT)
    logs = scale_logs(node.logs, slope)
    tree = replace(node, log_prior=prior, logs=logs, slope=slope * node.slope)
    if isinstance(tree, KernelTree):
        return replace(tree, densities=slope * tree.densities)
    return tree


# Trees whose rows are left out one by one ---------------------------------------------------------


def pool_priors(tree: BayesTree) -> BayesTree:
    """A tree in which no class is impossible where it merely has not occurred."""
    return replace(tree, log_prior=pooled_log_prior(tree.class_weight, tree.class_weight[0]))


def tree_without_one(tree: BayesTree, smoothing: Smoothing) -> BayesTree:
    """The evidence of each node for a row of a class that was not counted there.

    Priors are pooled as by `pool_priors`.
    """
    logs = tree.logs.copy()
    for n in range(tree.n_nodes):
        for j, coder in enumerate(tree.coders):
            if coder is not None:
                slots = tree.node_slots(n, j)
                counts = tree.counts[slots].T
                given = (counts, counts, smoothing.alpha, smoothing.missing)
                logs[slots] = log_likelihood_without_one(*given)
    prior = pooled_log_prior(tree.class_weight, tree.class_weight[0], 1.0)
    tree = replace(tree, logs=logs, log_prior=prior)
    return _densities_without_one(tree) if isinstance(tree, KernelTree) else tree


def _densities_without_one(tree: KernelTree) -> KernelTree:
    densities = tree.densities.copy()
    for j, scale in enumerate(tree.scales):
        if scale is None:
            continue
        there = tree.place[:, tree.offsets[j] + 1]
        rows = tree.counts[there]
        for n, c in np.argwhere((tree.last[j] > 0) & (rows > 0.0)):
            table = slice(tree.first[j, n, c], tree.last[j, n, c])
            given = (float(rows[n, c]), float(tree.width[j, n, c]), scale.log_range)
            densities[table] = logs_without_one(tree.densities[table], *given)
    return replace(tree, densities=densities)
