"""Calibrated answers, and trees whose rows are left out one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unnaive.answer.nodes import Node
from unnaive.answer.trees import BayesTree, KernelTree
from unnaive.bayes.build import Smoothing
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.estimate import pooled_log_prior, tables_without_one
from unnaive.density.estimate import logs_without_one


def calibrated(node: Node, calibration: Calibration) -> Node:
    """Return a node with calibrated scores."""
    return node.calibrated(calibration)


def pool_priors(tree: BayesTree) -> BayesTree:
    """A tree in which no class is impossible where it merely has not occurred."""
    return replace(tree, log_prior=pooled_log_prior(tree.class_weight, tree.class_weight[0]))


def tree_without_one(tree: BayesTree, smoothing: Smoothing) -> BayesTree:
    """The evidence of each node for a row of a class that was not counted there.

    Priors are pooled as by `pool_priors`.
    """
    starts = tree.place[:, tree.offsets[:-1]].ravel()  # nodes and attributes lie in order
    given = (starts, smoothing.alpha, smoothing.missing)
    logs = tables_without_one(tree.counts, tree.logs, *given)
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
