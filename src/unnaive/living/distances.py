"""How far two distributions are apart, and whether chance explains it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

SPARSE = 1.0  # expected rows of a value in the smaller sample; those with fewer are tested together
PSEUDO = 0.5  # rows added to every value, so that an empty one has no infinite distance
SWEEPS = 200  # of fitting expected counts to margins
CLOSE = 1e-9  # of a margin: then expected counts are fitted


class Likelihood(NamedTuple):
    """Likelihood-ratio statistic, its degrees of freedom, and how often chance exceeds it.

    The statistic is divided by what makes its mean that of chi-squared (Bartlett's correction), for
    in small samples it is larger by chance than chi-squared is.
    """

    statistic: float
    freedom: int
    p_value: float


def _test(statistic: float, freedom: int, excess: float = 0.0) -> Likelihood:
    """Return the test of a statistic whose mean exceeds its degrees of freedom by ``excess``."""
    if freedom < 1:
        return Likelihood(0.0, 0, 1.0)
    statistic = max(0.0, float(statistic)) * freedom / (freedom + max(0.0, excess))
    return Likelihood(statistic, freedom, float(chi2.sf(statistic, freedom)))


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares of the values, smoothed."""
    smoothed = counts + PSEUDO
    return np.asarray(smoothed / smoothed.sum())


def stability_index(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the population stability index: sum of (q - p) log(q / p) over all values."""
    known = before + after > 0
    p, q = shares(before[known]), shares(after[known])
    return float(((q - p) * np.log(q / p)).sum())


def g_test(before: NDArray[np.float64], after: NDArray[np.float64]) -> Likelihood:
    """G-test that two samples of counts are of one distribution, with Williams' correction.

    Values of which the smaller sample is expected to have few rows are tested as one.
    """
    table = np.stack((before, after))
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or not (table.sum(axis=1) > 0).all():
        return _test(0.0, 0)
    table = _join_sparse(table)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = 2 * xlogy(table, table / expected).sum()
    return _test(statistic, table.shape[1] - 1, _excess(expected))


def _join_sparse(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Merge the values with fewest rows into one that has as many as are needed."""
    expected = table.sum(axis=0) * table.sum(axis=1).min() / table.sum()
    order = np.argsort(expected, kind="stable")
    n_sparse = int((expected < SPARSE).sum())
    enough = 1 + int(np.searchsorted(np.cumsum(expected[order]), SPARSE))
    joined = min(max(n_sparse, enough), len(order)) if n_sparse else 0
    rest = table[:, order[joined:]]
    return np.column_stack((table[:, order[:joined]].sum(axis=1), rest)) if joined else table


def _excess(expected: NDArray[np.float64]) -> float:
    """Return by how much the mean of G exceeds its degrees of freedom, to the order of 1 / rows.

    The sum of 1 / (6 x expected) over cells, less that of the margins, plus that of their margins,
    and so on: Williams' correction of a table of two axes, and nearly so of three.
    """
    total = 0.0
    for n_gone in range(expected.ndim + 1):
        for gone in combinations(range(expected.ndim), n_gone):
            margin = np.maximum(expected.sum(axis=gone), PSEUDO)  # an empty cell has no excess
            total += (-1) ** n_gone * float((1.0 / margin).sum())
    return total / 6.0


def interaction_test(before: NDArray[np.float64], after: NDArray[np.float64]) -> Likelihood:
    """G-test that the odds between classes depend on values in the same way in two samples.

    The tables are classes x values. Shares of values and of classes may differ between the samples:
    tested is the model of all pairs of margins against the one in which the three go together.
    """
    table = np.stack((before, after))
    table = table[:, table.sum(axis=(0, 2)) > 0][:, :, table.sum(axis=(0, 1)) > 0]
    _, n_classes, n_values = table.shape
    if n_classes < 2 or n_values < 2 or not (table.sum(axis=(1, 2)) > 0).all():
        return _test(0.0, 0)
    expected = with_margins(np.ones(table.shape), table)
    known = (table > 0) & (expected > 0)
    statistic = 2 * (table[known] * np.log(table[known] / expected[known])).sum()
    return _test(statistic, (n_classes - 1) * (n_values - 1), _excess(expected))


def with_margins(start: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table with the odds ratios of one and the margins of another, by fitting."""
    expected = start * (table.sum() / start.sum())
    for _ in range(SWEEPS):
        change = 0.0
        for axis in range(table.ndim):
            wanted, fitted = table.sum(axis, keepdims=True), expected.sum(axis, keepdims=True)
            expected *= np.divide(wanted, fitted, out=np.zeros_like(wanted), where=fitted > 0)
            change = max(change, float(np.abs(wanted - fitted).max()))
        if change <= CLOSE * table.sum():
            break
    return expected


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for the number of tests."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = largest
    return [float(p) for p in adjusted]
