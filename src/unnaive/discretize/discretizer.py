"""The public discretizer, and what estimators share that treat numeric columns by rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from unnaive.common.checks import check_word, expect
from unnaive.common.threads import in_threads
from unnaive.counts import Summary, Wanted
from unnaive.discretize.intervals import interval_names
from unnaive.discretize.rules import RULES, Coarse, CuttingRule, Mdl, Rule, coarsen
from unnaive.encode import GRID_LIMIT, Bins
from unnaive.encode.coders import check_coders
from unnaive.estimator import AdditiveEstimator, TableEstimator, reports_progress
from unnaive.table import Block, Schema, scan_of
from unnaive.table.schema import by_column


class RuledEstimator(TableEstimator):
    """Base of estimators with a parameter that names a rule, or a rule for each column.

    In their docstrings ``<rules>`` stands for the names of the rules accepted, and
    ``<what they do>`` for a list of them.
    """

    _rule_parameter: ClassVar[str] = "numeric"
    _rule_kind: ClassVar[type] = CuttingRule  # the rules accepted

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ is not None:  # python -OO has none
            cls.__doc__ = cls._list_rules(cls.__doc__)

    @classmethod
    def _accepted(cls) -> dict[str, type[Rule]]:
        return {name: rule for name, rule in RULES.items() if issubclass(rule, cls._rule_kind)}

    @classmethod
    def _list_rules(cls, text: str) -> str:
        rules = cls._accepted()
        names = ", ".join(f'"{name}"' for name in rules)
        lines = [f'- ``"{name}"`` {rule.does()}' for name, rule in rules.items()]
        text = re.sub("<rules>", f"{{{names}}}", text)
        return re.sub("( *)<what they do>", lambda at: "\n".join(at[1] + s for s in lines), text)

    def _rules(self, schema: Schema) -> dict[int, Rule]:
        """Return the rule of each numeric column."""
        parameter = self._rule_parameter
        value = getattr(self, parameter)
        for name in value.values() if isinstance(value, Mapping) else [value]:
            self._check_rule(name)
        names = by_column(parameter, value, schema, Mdl.name)
        rules = {name: RULES[name].of(self) for name in set(names.values())}
        return {j: rules[name] for j, name in names.items()}

    def _check_rule(self, name: Any) -> None:
        accepted = list(self._accepted())
        if name in accepted:
            return
        words = f"{name!r}"
        if isinstance(name, str) and name in RULES:
            words += f", which {RULES[name].does()}: there are no intervals to count rows in"
        choices = ", ".join(map(repr, accepted))
        raise ValueError(
            f"{self._rule_parameter} must be one of {choices}, or a dict of these; got {words}."
        )

    def _check_options(self) -> None:
        """Refuse options of rules that make no sense, also of rules that are not chosen."""
        for rule in self._accepted().values():
            rule.of(self).check()

    def _wanted(self, schema: Schema) -> Wanted:
        rules = self._rules(schema).items()
        return Wanted(
            frozenset(j for j, rule in rules if rule.needs_counts),
            frozenset(j for j, rule in rules if rule.needs_moments),
        )

    def _coarsen(self, summary: Summary, factor: NDArray[np.float64] | None = None) -> Coarse:
        rules = self._rules(summary.schema)
        return coarsen(
            summary, rules, max_categories=self.max_categories, factor=factor, n_jobs=self.n_jobs
        )


ROWS = 1 << 15  # rows transformed at a time: few enough to stay in cache


class Discretizer(OneToOneFeatureMixin, TransformerMixin, RuledEstimator, AdditiveEstimator):  # type: ignore[misc]
    """Cut numeric columns into intervals, with or without looking at the classes.

    Learning is one pass of counting: it can be continued (:meth:`partial_fit`) and merged
    (:func:`unnaive.merge`) with the result of a single pass over all rows.

    Parameters
    ----------
    method : <rules> or dict, default="mdl"
        Where to cut:

        <what they do>

        Rules that look at the classes need y. A dict maps columns (names or positions) to one of
        these; columns it leaves out use ``"mdl"``.
    n_bins : int, default=10
        Number of intervals for ``"width"`` and ``"frequency"``.
    bandwidth : {"conditional", "cv", "silverman"} or float, default="cv"
        Widths of the kernels for ``"bayes"``, as in `NaiveBayesClassifier`.
    encode : {"ordinal", "interval"}, default="ordinal"
        Give intervals as numbers from 0, NaN for missing, or as text such as ``"(2.5, 4]"``.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns that are categories and pass through as they are.
    grid_limit : int, default=65534
        Most distinct numbers told apart in a column; above it neighbours share a cell.
    n_jobs : int or None, default=None
        Threads; the result never depends on it.

    Attributes
    ----------
    cuts_ : list of arrays
        Ascending cuts of each column; empty for columns that are not cut, None for categories.
        A value equal to a cut lies below it.
    summary_ : Summary or None
        The sums that updating and merging need; None after `compact`.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import Discretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> discretizer = Discretizer().fit(X, y)
    >>> discretizer.cuts_[2]
    array([2.45, 4.75])
    >>> discretizer.transform(X[[0, 60, 140], 2:3].repeat(4, axis=1))[:, 2]
    array([0., 1., 2.])
    """

    def __init__(
        self,
        method: str | Mapping[Any, str] = "mdl",
        *,
        n_bins: int = 10,
        bandwidth: str | float = "cv",
        encode: str = "ordinal",
        categorical_features: Any = "from_dtype",
        grid_limit: int = GRID_LIMIT,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.encode = encode
        self.categorical_features = categorical_features
        self.grid_limit = grid_limit
        self.n_jobs = n_jobs

    _rule_parameter = "method"
    _refuses_identifiers = False  # categories pass through, however many there are
    cuts_: list[NDArray[np.float64] | None]

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the cuts.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels, for rules that look at the classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        return self._learn(self._gather(X, y, sample_weight, None))

    @reports_progress
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; after all parts, the cuts equal those of the whole.

        Parameters
        ----------
        X, y, sample_weight :
            As in :meth:`fit`.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self._update(lambda fitted: self._gather(X, y, sample_weight, fitted))

    def _check_parameters(self) -> None:
        check_word(self, "encode", "ordinal", "interval")
        self._check_options()

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(len(self.cuts_) == len(self.schema_), "cuts_ do not match the columns.")
        coders: list[Bins | None] = []
        for column, cuts in zip(self.schema_, self.cuts_, strict=True):
            missing = (cuts is None) != (column.kind == "categorical")
            expect(not missing, f"{column} has cuts though it holds categories, or none.")
            if cuts is not None:
                Bins(cuts).check()
            coders.append(None if cuts is None or column.kind == "empty" else Bins(cuts))
        check_coders(coders, self.schema_)

    def _supervised(self, y: Any) -> bool:
        return y is not None if isinstance(self.method, Mapping) else self._needs_classes

    @property
    def _needs_classes(self) -> bool:
        """Return whether the rule of all columns looks at the classes."""
        return any(rule.supervised for name, rule in RULES.items() if name == self.method)

    def _gather(self, X: Any, y: Any, sample_weight: Any, fitted: Schema | None) -> Summary:
        scan = scan_of(X, y, sample_weight)
        target = y if scan is None else scan.target
        if scan is not None:
            X, y, sample_weight = scan, None, None
        summary = super()._gather(X, y, sample_weight, fitted)
        if target is None:
            for rule in self._rules(summary.schema).values():
                if rule.supervised:
                    raise ValueError(
                        f"method {rule.name!r} requires y to be passed: it looks at the classes."
                    )
        return summary

    def _finish(self, summary: Summary) -> None:
        self.cuts_ = [
            None if column.kind == "categorical" else getattr(coder, "cuts", np.empty(0))
            for column, coder in zip(summary.schema, self._coarsen(summary).coders, strict=True)
        ]

    def transform(self, X: Any) -> Any:
        """Replace numbers by their intervals.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array or table of shape (n_samples, n_features)
            float64 numbers of intervals, NaN for missing. Where there are categories, or with
            ``encode="interval"``, a table of the kind of X, or an array of objects if X is none.
            ``set_output`` makes it a pandas or polars table.
        """
        return self._open(X).map(self._sent._transform, [str(name) for name in self.schema_.names])

    def _transform(self, block: Block) -> Any:
        if self.encode == "interval" or any(cuts is None for cuts in self.cuts_):
            return block.with_columns({j: self._column(block, j) for j in self._numbers()})
        out = np.empty((block.n_rows, len(self.cuts_)))

        def fill(start: int) -> None:
            rows = block.slice(start, start + ROWS)
            for j in range(len(self.cuts_)):
                out[start : start + ROWS, j] = self._column(rows, j)

        list(in_threads(fill, range(0, block.n_rows, ROWS), self.n_jobs))
        return out

    def _numbers(self) -> list[int]:
        """Return the columns that are replaced."""
        return [j for j, cuts in enumerate(self.cuts_) if cuts is not None]

    def _column(self, block: Block, j: int) -> NDArray[Any]:
        """Return what stands for the values of a numeric column in the output."""
        cuts, column = self.cuts_[j], self.schema_[j]
        assert cuts is not None
        names = np.concatenate(([np.nan], np.arange(len(cuts) + 1)))
        if self.encode == "interval":
            names = np.array([None, *interval_names(cuts, column)], dtype=object)
        if column.kind == "empty":  # nothing is known of it
            return np.full(block.n_rows, names[0])
        return names[Bins(cuts).codes(block.numeric(j), column)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_classes
        return tags
