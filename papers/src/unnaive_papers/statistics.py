"""Tests and intervals: what a difference is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its confidence interval, and over what it was taken."""

    value: float
    low: float
    high: float
    over: str = ""  # what varies in the interval: "sets", "seeds"; empty: it is a count
    n_sets: int = 0

    def minus(self, other: float) -> Estimate:
        return Estimate(
            self.value - other, self.low - other, self.high - other, self.over, self.n_sets
        )


def exactly(value: float, n_sets: int = 0) -> Estimate:
    """A count, or a figure that does not vary."""
    return Estimate(float(value), float(value), float(value), "", n_sets)


def mean_estimate(values: ArrayLike, over: str, n_sets: int = 0) -> Estimate:
    """The mean and its interval by Student's t; one value has no interval."""
    from scipy import stats

    values = np.asarray(values, float)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, math.nan, math.nan, over, n_sets)
    half = float(values.std(ddof=1)) / math.sqrt(len(values))
    half *= float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1))
    return Estimate(mean, mean - half, mean + half, over, n_sets)


def share_interval(right: float, n: int) -> tuple[float, float]:
    """Wilson's interval of a share of n rows, in the unit of the share (0 to 1)."""
    from scipy import stats

    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    centre = (right + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(right * (1 - right) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return centre - half, centre + half


def corrected_p(gains: ArrayLike, folds: int) -> float:
    """Two-sided p of the corrected resampled t-test; one gain per fold of every repeat.

    Folds share training rows, which the plain test ignores (Nadeau and Bengio).
    """
    from scipy import stats

    gains = np.asarray(gains, float)
    spread = gains.var(ddof=1)
    if spread == 0:
        return 1.0 if gains.mean() == 0 else 0.0
    t = gains.mean() / np.sqrt(spread * (1 / len(gains) + 1 / (folds - 1)))
    return float(2 * stats.t.sf(abs(t), len(gains) - 1))


def plain_p(gains: ArrayLike) -> float:
    """Two-sided p of the paired t-test; one gain per repeat."""
    from scipy import stats

    gains = np.asarray(gains, float)
    if len(gains) < 2:
        return math.nan
    if gains.var() == 0:
        return 1.0 if gains.mean() == 0 else 0.0
    return float(stats.ttest_1samp(gains, 0.0).pvalue)


def two_samples_p(a: ArrayLike, b: ArrayLike) -> float:
    """Two-sided p of the t-test of two samples, which does not know that they are paired."""
    from scipy import stats

    a, b = np.asarray(a, float), np.asarray(b, float)
    if len(a) < 2 or a.var() + b.var() == 0:
        return 1.0 if len(a) < 2 or a.mean() == b.mean() else 0.0
    return float(stats.ttest_ind(a, b).pvalue)


def sign_of(gain: float, p: float) -> str:
    """One sign for p below 0.05, two below 0.01, else ``=``."""
    if math.isnan(p) or p >= 0.05 or gain == 0:
        return "="
    sign = "+" if gain > 0 else "-"
    return sign if p >= 0.01 else 2 * sign


def log_slope(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The power with which y grows in x: 1 is linear."""
    from scipy import stats

    found = stats.linregress(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, max(len(np.asarray(x)) - 2, 1)) * found.stderr)
    return Estimate(
        float(found.slope), float(found.slope) - half, float(found.slope) + half, "sizes"
    )


def rank_estimate(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Spearman's rank correlation over sets, its interval by Fisher's transformation."""
    from scipy import stats

    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(math.nan, math.nan, math.nan, "sets", len(x))
    rho = float(stats.spearmanr(x, y).statistic)
    z, half = math.atanh(min(max(rho, -0.999999), 0.999999)), 1.96 / math.sqrt(len(x) - 3)
    return Estimate(rho, math.tanh(z - half), math.tanh(z + half), "sets", len(x))


# ---------------------------------------------------------------------------------------------
# Many methods on many sets
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranking:
    """Average ranks (1 is best), Friedman's p, and which methods cannot be told apart."""

    methods: list[str]  # best first
    ranks: NDArray[np.float64]
    friedman_p: float
    p_values: dict[tuple[str, str], float]  # Wilcoxon's, made larger by Holm's rule
    groups: list[tuple[int, int]]  # first and last position of each group of equals
    n_sets: int


def rank_methods(scores: Any, *, higher_is_better: bool, level: float = 0.05) -> Ranking:
    """Rank methods over sets: Friedman's test, then Wilcoxon's by pairs with Holm's correction.

    Parameters
    ----------
    scores : pandas.DataFrame
        Sets x methods, without gaps.
    higher_is_better : bool
    level : float, default=0.05
    """
    from scipy import stats

    values = scores.to_numpy(float)
    ranks = stats.rankdata(-values if higher_is_better else values, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    methods = [str(scores.columns[i]) for i in order]
    told = values.shape[1] > 2 and values.shape[0] > 1 and np.ptp(values, axis=1).any()
    friedman = float(stats.friedmanchisquare(*values.T).pvalue) if told else math.nan
    p_values = _holm(_pairs(values[:, order], methods))
    groups = _equals(methods, p_values, level)
    return Ranking(methods, ranks[order], friedman, p_values, groups, len(values))


def _pairs(values: NDArray[Any], methods: Sequence[str]) -> dict[tuple[str, str], float]:
    from scipy import stats

    out = {}
    for i, a in enumerate(methods):
        for j in range(i + 1, len(methods)):
            gap = np.round(values[:, i] - values[:, j], 12)
            out[a, methods[j]] = float(stats.wilcoxon(gap).pvalue) if gap.any() else 1.0
    return out


def _holm(p_values: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    largest, out = 0.0, {}
    for k, (pair, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (len(p_values) - k) * p))
        out[pair] = largest
    return out


def _equals(
    methods: Sequence[str], p_values: dict[tuple[str, str], float], level: float
) -> list[tuple[int, int]]:
    """Longest runs of neighbours in rank in which no pair differs."""
    groups: list[tuple[int, int]] = []
    for first in range(len(methods)):
        last = first
        while last + 1 < len(methods) and all(
            p_values[methods[i], methods[last + 1]] >= level for i in range(first, last + 1)
        ):
            last += 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
