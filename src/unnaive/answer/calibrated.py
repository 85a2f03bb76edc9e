"""Calibrated answers: evidence times a factor wherever evidence adds up."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.kernel_tree import KernelTree
from unnaive.answer.nodes import Calibrated, Node
from unnaive.answer.tree import BayesTree
from unnaive.bayes.build import Smoothing
from unnaive.bayes.calibrate import Calibration
from unnaive.bayes.estimate import pooled_log_prior, tables_without_one
from unnaive.bayes.kernels import ABSENT
from unnaive.bayes.scoring import scale_logs
from unnaive.density.estimate import logs_without_one


@singledispatch
def calibrated(node: Any, calibration: Calibration) -> Node:
    """A node whose scores are ``slope * scores + intercept``, or whose columns have factors.

    Tables of evidence, alone or in a tree, stay what they are, with other numbers; what else there
    is goes into a `Calibrated`.
    """
    assert calibration.columns is None, "only evidence that adds up has columns"
    return Calibrated(node, calibration.slope, calibration.intercept)


@calibrated.register
def _(node: EvidenceTable, calibration: Calibration) -> Node:
    scorer = node.scorer.calibrated(calibration.slope, calibration.intercept, calibration.columns)
    slope, columns = calibration.slope * node.slope, _all_factors(node, calibration)
    return replace(node, scorer=scorer, slope=slope, columns=columns)


@calibrated.register
def _(node: BayesTree, calibration: Calibration) -> Node:
    slope = calibration.slope
    prior = np.maximum(scale_logs(node.log_prior, slope) + calibration.intercept, ABSENT)
    logs = scale_logs(node.logs, _factor_of_slots(node, calibration))
    columns = _all_factors(node, calibration)
    tree = replace(node, log_prior=prior, logs=logs, slope=slope * node.slope, columns=columns)
    if isinstance(tree, KernelTree):
        return replace(tree, densities=_scale_densities(tree, calibration))
    return tree


def _all_factors(
    node: EvidenceTable | BayesTree, calibration: Calibration
) -> NDArray[np.float64] | None:
    """Factors of the columns after one more calibration; None where they have none of their own."""
    if calibration.columns is None:
        return None if node.columns is None else calibration.slope * node.columns
    return calibration.columns * (node.slope if node.columns is None else node.columns)


def _factor_of_slots(tree: BayesTree, calibration: Calibration) -> NDArray[np.float64]:
    """The factor of each row of a tree's ``logs``."""
    factors = np.full((len(tree.logs), 1), calibration.slope)
    if calibration.columns is not None:
        for j, factor in enumerate(calibration.columns):
            factors[tree.place[:, tree.offsets[j] : tree.offsets[j + 1]]] = factor
    return factors


def _scale_densities(tree: KernelTree, calibration: Calibration) -> NDArray[np.float64]:
    if calibration.columns is None:
        return calibration.slope * tree.densities
    factors = np.ones(len(tree.densities))
    for j, factor in enumerate(calibration.columns):
        for n, c in np.argwhere(tree.last[j] > 0):
            factors[tree.first[j, n, c] : tree.last[j, n, c]] = factor
    return factors * tree.densities


# Trees whose rows are left out one by one ---------------------------------------------------------


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
