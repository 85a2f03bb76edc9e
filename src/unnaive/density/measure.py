"""Wang and Yuan's Bayes measure: how often one attribute alone names the right class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from unnaive.common.threads import in_threads
from unnaive.counts import Summary, Wanted
from unnaive.counts.counting import summarize
from unnaive.counts.summary import row_factor
from unnaive.density.estimate import Densities, fit_densities, middles
from unnaive.density.widths import check_bandwidth
from unnaive.encode import Categories, Grid
from unnaive.encode.labels import read_target
from unnaive.table import open_table


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """What one attribute alone says about the class.

    Attributes
    ----------
    feature : str or int
        Name (or position) of the attribute.
    delta : float
        Share of the rows whose class is the most probable one given this attribute.
    values : array
        The values that occur, ascending: categories, or numbers (the middle of a cell where
        numbers share one).
    classes : array
        The most probable class for each of the values.
    """

    feature: Any
    delta: float
    values: NDArray[Any]
    classes: NDArray[Any]

    def __repr__(self) -> str:
        return f"Measure({self.feature!r}, delta={self.delta:.4f}, {len(self.values)} values)"


def bayes_measure(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    bandwidth: str | float = "cv",
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> list[Measure]:
    """How well each attribute alone tells the classes: Wang and Yuan's test selection measure.

    A row counts as right if its class is the most probable one given its value: by frequency for
    categories, by kernel density times frequency of the class for numbers. Rows whose value is
    missing are given the most frequent class.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,) or None, default=None
    bandwidth : {"conditional", "cv", "silverman"} or float, default="cv"
        Widths of the kernels, as in `NaiveBayesClassifier`.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
    n_jobs : int or None, default=None

    Returns
    -------
    list of Measure
        One for each column: ``delta``, and the most probable class for each value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import bayes_measure
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(m.delta, 2) for m in bayes_measure(X, y)]
    [0.75, 0.55, 0.95, 0.96]
    """
    check_bandwidth(bandwidth)
    target = read_target(y)
    source = open_table(
        BaseEstimator(), X, target, sample_weight, categorical_features=categorical_features
    )
    summary = summarize(source, lambda schema: Wanted(schema.numeric), n_jobs=n_jobs)
    columns = range(len(summary.coders))
    return list(in_threads(lambda j: _measure(summary, j, bandwidth), columns, n_jobs))


def _measure(summary: Summary, j: int, bandwidth: Any) -> Measure:
    factor = row_factor(summary)
    coder, classes = summary.coders[j], summary.labels.classes
    counts, totals = summary.counts.values(j) * factor[:, None], summary.counts.totals * factor
    values: NDArray[Any] = np.empty(0)
    if isinstance(coder, Grid):
        values = middles(coder)
        best = most_probable(coder, fit_densities(coder, counts, bandwidth), totals)
    elif isinstance(coder, Categories):
        values = np.array(coder.values, dtype=object)
        best = counts.argmax(axis=0)
    else:
        best = np.empty(0, dtype=np.intp)
    absent = summary.counts.attribute(j)[:, 0] * factor
    return Measure(
        summary.schema[j].name, delta(counts, absent, totals, best), values, classes[best]
    )


def most_probable(
    grid: Grid, densities: Densities | None, totals: NDArray[np.float64]
) -> NDArray[np.intp]:
    """The class of highest density times weight in each cell; the first of equals."""
    if densities is None:  # all values alike
        return np.full(grid.size, totals.argmax(), dtype=np.intp)
    joint = densities.at(middles(grid))
    with np.errstate(divide="ignore"):
        joint += np.log(totals)
    best: NDArray[np.intp] = joint.argmax(axis=1)
    return best


def delta(
    counts: NDArray[np.float64],
    absent: NDArray[np.float64],
    totals: NDArray[np.float64],
    best: NDArray[np.intp],
) -> float:
    """Share of the weight in ``counts`` (classes x values) that lies in each value's best class.

    Rows without a value (``absent``, by class) go with the most frequent class.
    """
    right = counts[best, np.arange(len(best))].sum() + absent[totals.argmax()]
    return float(right / totals.sum())
