"""EM as Weka had it in the years before the paper: densities are multiplied as they are.

Without logarithms a row far from all clusters has density zero in each, and that program then ended
with an error. The library's own EM (`LatentClassClusterer`) adds logarithms and has no such end, so
this one is here: it tells which classes the paper's authors could not have clustered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive_papers.numbers import is_number

Floats = NDArray[np.float64]

FOLDS = 10  # a class of fewer rows has one cluster
MOST_STEPS = 100
LEAST_GAIN = 1e-6  # of log-likelihood per row in a step
LEAST_DEVIATION = 1e-6  # of a number in a cluster, in its own units
ROOT = np.sqrt(2 * np.pi)


class ZeroDensityError(Exception):
    """A row has density zero in every cluster, or an infinite one: the program ended so."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers, missing ones NaN, and categories as zeros and ones, missing ones all zero."""

    numbers: Floats
    ones: Floats
    sizes: NDArray[np.intp]  # columns of ones for each categorical column

    @classmethod
    def read(cls, X: Any) -> Self:
        """A table's rows."""
        import pandas as pd

        numeric = [c for c in X if is_number(X[c])]
        dummies = [pd.get_dummies(X[c], dtype=float).to_numpy() for c in X if c not in numeric]
        dummies = [ones for ones in dummies if ones.shape[1]]
        ones = np.concatenate(dummies, axis=1) if dummies else np.zeros((len(X), 0))
        sizes = np.array([each.shape[1] for each in dummies], dtype=np.intp)
        return cls(X[numeric].to_numpy(float), ones, sizes)

    def take(self, rows: Any) -> Rows:
        """Some of the rows."""
        return Rows(self.numbers[rows], self.ones[rows], self.sizes)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class Clusters:
    """A mixture: normal numbers and frequencies of categories in each cluster, and its share."""

    mean: Floats
    deviation: Floats
    log_frequency: Floats
    share: Floats

    @classmethod
    def estimate(cls, rows: Rows, weight: Floats) -> Clusters:
        """From rows that belong to each cluster by such shares (rows x clusters)."""
        known = ~np.isnan(rows.numbers)
        values = np.where(known, rows.numbers, 0.0)
        total = weight.T @ known
        with np.errstate(all="ignore"):  # clusters without a value
            mean = np.where(total > 0, weight.T @ values / total, 0.0)
            deviation = np.sqrt(weight.T @ values**2 / total - mean**2)
        deviation = np.where(deviation > LEAST_DEVIATION, deviation, LEAST_DEVIATION)
        counts = weight.T @ rows.ones + 1.0
        if len(rows.sizes):
            starts = np.concatenate([[0], np.cumsum(rows.sizes)[:-1]])
            sums = np.add.reduceat(counts, starts, axis=1)
            counts = counts / np.repeat(sums, rows.sizes, axis=1)
        return cls(mean, deviation, np.log(counts), weight.mean(axis=0))

    def densities(self, rows: Rows) -> Floats:
        """Of each row in each cluster times its share, a plain product over the columns."""
        with np.errstate(all="ignore"):  # what becomes zero or infinite is the point
            product = np.exp(rows.ones @ self.log_frequency.T)
            for j, values in enumerate(rows.numbers.T):
                away = (values[:, None] - self.mean[:, j]) / self.deviation[:, j]
                density = np.exp(-(away**2) / 2) / (ROOT * self.deviation[:, j])
                product *= np.where(np.isnan(away), 1.0, density)
            product *= self.share
        total = product.sum(axis=1)
        if not (np.isfinite(total) & (total > 0)).all():
            raise ZeroDensityError
        return product


def fit(rows: Rows, n: int, rng: np.random.Generator) -> tuple[Clusters, Floats]:
    """EM from random shares of all rows; the mixture, and the rows' shares in its clusters."""
    weight = rng.random((len(rows), n))
    weight /= weight.sum(axis=1, keepdims=True)
    before = -np.inf
    for _ in range(MOST_STEPS):
        clusters = Clusters.estimate(rows, weight)
        product = clusters.densities(rows)
        total = product.sum(axis=1)
        weight = product / total[:, None]
        likelihood = float(np.log(total).mean())
        if likelihood - before < LEAST_GAIN:
            break
        before = likelihood
    return clusters, weight


def choose_number(rows: Rows, rng: np.random.Generator) -> int:
    """Clusters are added while the log-likelihood of rows held out, mean of ten folds, grows."""
    if len(rows) < FOLDS:
        return 1
    parts = np.array_split(rng.permutation(len(rows)), FOLDS)
    best, n = -np.inf, 0
    while True:
        likelihood = 0.0
        for part in parts:
            others = np.ones(len(rows), dtype=bool)
            others[part] = False
            clusters, _ = fit(rows.take(others), n + 1, rng)
            held_out = clusters.densities(rows.take(part)).sum(axis=1)
            likelihood += float(np.log(held_out).mean())
        if likelihood <= best:
            return n
        best, n = likelihood, n + 1


def plain_clusters(X: Any, seed: int) -> tuple[NDArray[np.intp], int]:
    """The cluster of each row, and how many there are; raises ZeroDensityError."""
    rows, rng = Rows.read(X), np.random.default_rng(seed)
    n = choose_number(rows, rng)
    return fit(rows, n, rng)[1].argmax(axis=1), n
