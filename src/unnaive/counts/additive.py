"""Estimators that learn from a `Summary`: gather, then finish.

Whatever is learned from sums can be updated with more rows, merged with another model, and
stripped of the sums when it need not be updated any more.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unnaive.counts.gather import Wanted, gather
from unnaive.counts.summary import Summary, merge_summaries, refuse_identifiers
from unnaive.encode import GRID_LIMIT, read_target
from unnaive.table import Schema, open_table


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """By how much a model shrank, in bytes of its pickle."""

    before: int
    after: int

    def __str__(self) -> str:
        share = 100 * (1 - self.after / self.before)
        return f"{_bytes(self.before)} -> {_bytes(self.after)} ({share:.0f} % smaller)"

    __repr__ = __str__


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


class AdditiveEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of estimators whose training is one pass of sums.

    Subclasses have the parameters ``categorical_features``, ``max_categories``, ``grid_limit``
    and ``n_jobs``, and two hooks: what to collect, and how to finish.
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _wanted(self, schema: Schema) -> Wanted:
        """What the pass should collect about numeric columns."""

    def _supervised(self) -> bool:
        """Whether rows are counted by class."""
        return True

    @abstractmethod
    def _finish(self, summary: Summary) -> None:
        """Learn everything from the sums; no rows are seen here."""

    def _gather(self, X: Any, y: Any, sample_weight: Any, fitted: Schema | None) -> Summary:
        self._check_shared()
        target = read_target(y) if self._supervised() else None
        source = open_table(
            self,
            X,
            target,
            sample_weight,
            categorical_features=self.categorical_features,
            fitted=fitted,
        )
        return gather(
            source,
            self._wanted(source.schema),
            grid_limit=self.grid_limit,
            n_jobs=self.n_jobs,
        )

    def _check_shared(self) -> None:
        if not 2 <= self.grid_limit <= GRID_LIMIT:
            raise ValueError(f"grid_limit must be from 2 to {GRID_LIMIT}; got {self.grid_limit!r}.")
        if self.max_categories is not None and not 2 <= self.max_categories <= GRID_LIMIT:
            raise ValueError(
                f"max_categories must be None or from 2 to {GRID_LIMIT}; "
                f"got {self.max_categories!r}."
            )

    def _learn(self, summary: Summary) -> Self:
        """Finish, then keep the sums for later updates."""
        if self.max_categories is None:
            refuse_identifiers(summary)
        self._finish(summary)
        self.schema_ = summary.schema
        self.summary_: Summary | None = summary
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        return self._learn(self._gather(X, y, sample_weight, None))

    def _update(self, X: Any, y: Any, sample_weight: Any) -> Self:
        if not hasattr(self, "schema_"):
            return self._fit(X, y, sample_weight)
        known = self._sums("updated")
        return self._learn(known + self._gather(X, y, sample_weight, self.schema_))

    def _sums(self, verb: str) -> Summary:
        check_is_fitted(self)
        if self.summary_ is None:
            raise ValueError(
                f"this {type(self).__name__} was made compact, so it cannot be {verb} any more; "
                "fit it again, or keep a copy before calling compact()."
            )
        return self.summary_

    def _merge(self, models: Sequence[AdditiveEstimator]) -> Self:
        """Learn, here, what fitting on all rows of ``models`` together would give."""
        sums = [model._sums("merged") for model in models]
        self.n_features_in_ = models[0].n_features_in_
        if hasattr(models[0], "feature_names_in_"):
            self.feature_names_in_ = models[0].feature_names_in_
        return self._learn(merge_summaries(sums))

    def compact(self) -> Shrinkage:
        """Drop the sums that only updating and merging need.

        Returns
        -------
        Shrinkage
            The size before and after; predictions stay what they were.
        """
        check_is_fitted(self)
        before = len(pickle.dumps(self))
        self.summary_ = None
        return Shrinkage(before, len(pickle.dumps(self)))
