"""Estimators that learn from a `Summary`: gather, then finish.

Whatever is learned from sums can be updated with more rows, merged with another model, and
stripped of the sums when it need not be updated any more.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from unnaive.common.advice import silence
from unnaive.common.checks import check_number, expect
from unnaive.common.progress import FitProgress, Hook, reports_progress
from unnaive.common.wording import size_words
from unnaive.counts.counting import summarize
from unnaive.counts.summary import (
    Summary,
    Wanted,
    merge_summaries,
    refuse_identifiers,
    subtract_summary,
)
from unnaive.encode import GRID_LIMIT
from unnaive.encode.labels import read_target
from unnaive.estimator.advice import advise_on
from unnaive.table import Schema, Source, open_table, scan_of
from unnaive.table.scan import Scan, is_scanned

LONGEST = 1000  # letters of a name
# What scikit-learn and we keep in an estimator during a fit with callbacks.
UNSENT = {"_progress", "_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx",
          "_parent_callback_ctx"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class About:
    """Stands in model files beside the model; two models that learned the same may differ in it.

    Attributes
    ----------
    target : str or None
        The column with the labels, where it has a name.
    trained : str or None
        When the model was trained, as ISO 8601 in UTC, where whoever saved it has said so.
    """

    target: str | None = None
    trained: str | None = None

    def check(self) -> None:
        """Refuse what no file says."""
        expect(self.target is None or len(self.target) <= LONGEST, "the target's name is too long.")
        if self.trained is not None:
            expect(len(self.trained) <= LONGEST, "the training date is none.")
            datetime.fromisoformat(self.trained)

    @property
    def day(self) -> str:
        """When the model was trained, for people."""
        if self.trained is None:
            return ""
        moment = datetime.fromisoformat(self.trained)
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def target_name(y: Any, scan: Scan | None) -> str | None:
    """The name of the column with the labels: that of a scan, or of a Series."""
    name = scan.target if scan is not None else getattr(y, "name", None)
    if name is None or callable(name) or isinstance(y, np.ndarray):
        return None
    return str(name)[:LONGEST] or None


def moment_text(moment: datetime) -> str:
    """A moment as text; one without a time zone is taken as local time."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def release() -> str:
    """Return the version of the installed package; sources that are not installed have none."""
    try:
        return version("unnaive")
    except PackageNotFoundError:
        return "unknown"


def utc_moment(value: Any) -> np.datetime64:
    """Return a date or time as NumPy has them, without a zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def need_target(scan: Scan) -> None:
    """Refuse rows to learn classes from, if it is not said where these are."""
    if scan.target is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: name the column with the labels, "
            "as in fit(data, 'column') or scan(data, target='column')."
        )


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """By how much a model shrank, in bytes of its pickle."""

    before: int
    after: int

    def __str__(self) -> str:
        share = 100 * (1 - self.after / self.before)
        return f"{size_words(self.before)} -> {size_words(self.after)} ({share:.0f} % smaller)"

    __repr__ = __str__


class TableEstimator(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of everything that learns from tables: reads rows and takes the first pass over them.

    Subclasses have the parameters ``categorical_features``, ``grid_limit`` and ``n_jobs``, and
    ``max_categories`` if they learn from categories, and say what the pass should collect. They
    declare what they learn, with its types: model files hold just that.
    """

    max_categories: int | None = None
    # How often fit reads rows that are not in memory; None where that depends on the rows.
    _n_passes: ClassVar[int | None] = 1
    _progress: FitProgress | None = None  # in a fit with callbacks
    _refuses_identifiers = True
    _gives_advice = False  # whether fit warns about what looks wrong in a table
    _about = About()  # how it was trained
    _optional_attributes = frozenset({"feature_names_in_"})  # learned, but not by every fit
    schema_: Schema
    # Where scikit-learn's HTML repr links to.
    _doc_link_module = "unnaive"
    _doc_link_template = (
        "https://unnaive.readthedocs.io/en/stable/reference/generated/unnaive.{estimator_name}.html"
    )
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _wanted(self, schema: Schema) -> Wanted:
        """What the pass should collect about numeric columns."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, whatever the table."""

    def _check_reading(self) -> None:
        """Refuse parameters that rows cannot be counted with."""
        check_number(self, "grid_limit", 2, GRID_LIMIT, whole=True)
        if self.max_categories is not None:
            check_number(self, "max_categories", 2, GRID_LIMIT, whole=True)

    def _check_learned(self) -> None:
        """Refuse what no fit leaves together; of a file, each attribute was checked by itself."""
        n, columns = self.n_features_in_, len(self.schema_)
        expect(n == columns, f"n_features_in_ is {n}, but schema_ has {columns} columns.")
        if hasattr(self, "feature_names_in_"):
            names = self.feature_names_in_.tolist()
            expect(names == self.schema_.names, "feature_names_in_ are not the names in schema_.")
        self._wanted(self.schema_)  # parameters by column name columns that there are

    def _supervised(self, y: Any) -> bool:  # noqa: ARG002
        """Whether rows are counted by the classes in y."""
        return True

    def _n_tasks(self) -> int | None:
        """How many tasks fit has once rows are read; None where that depends on them."""
        return 0

    def _declare_categories(self, categorical_features: Any) -> Self:
        """Say which columns are categories, where that is not left to their types."""
        if isinstance(categorical_features, str) and categorical_features == "from_dtype":
            return self
        declared: Self = self.set_params(categorical_features=categorical_features)
        return declared

    def _remember(self, schema: Schema) -> None:
        """What scikit-learn expects to know about the columns, once learning has succeeded."""
        self.schema_ = schema
        self.n_features_in_ = len(schema)
        if schema.named and all(isinstance(name, str) for name in schema.names):
            self.feature_names_in_ = np.asarray(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        fitted: Schema | None = None,
    ) -> tuple[Source, Summary]:
        """Return the rows, and the sums of one pass over them."""
        self._check_reading()
        source = self._rows_to_learn(X, y, sample_weight, fitted)
        wanted = self._unfitted()._wanted
        summary = summarize(source, wanted, grid_limit=self.grid_limit, n_jobs=self.n_jobs)
        self._check_identifiers(summary)
        if self._gives_advice and fitted is None:
            advise_on(summary)
        return source, summary

    def _rows_to_learn(
        self, X: Any, y: Any, sample_weight: Any, fitted: Schema | None = None
    ) -> Source:
        """The rows that ``fit(X, y, sample_weight)`` means, in memory or not."""
        return self._reporting(self._open_to_learn(X, y, sample_weight, fitted))

    def _open_to_learn(self, X: Any, y: Any, sample_weight: Any, fitted: Schema | None) -> Source:
        options = {"categorical_features": self.categorical_features, "fitted": fitted}
        scan = scan_of(X, y, sample_weight)
        earlier = None if fitted is None else self._about.target
        self._about = About(target_name(y, scan) or earlier)
        if scan is None:
            target = read_target(y) if self._supervised(y) else None
            return open_table(self, X, target, sample_weight, **options)
        if not self._supervised(scan.target):
            return open_table(self, scan.unlabelled, **options)
        need_target(scan)
        return open_table(self, scan, **options)

    def _open(self, X: Any) -> Source:
        """New rows, read as those that the model was fitted on."""
        check_is_fitted(self)
        return self._open_as(X, self.schema_)

    def _open_as(self, X: Any, schema: Schema) -> Source:
        """Rows without labels, read by columns that are known."""
        scan = scan_of(X)
        if scan is not None:  # weights say nothing about the rows to answer for
            X = replace(scan.unlabelled, weight=None, all_rows=True)
        return self._reporting(open_table(self, X, fitted=schema))

    def _reporting(self, source: Source) -> Source:
        """A source whose passes callbacks hear of."""
        if self._progress is not None:
            source.report_passes(self._progress.report_pass)
        return source

    @staticmethod
    def _reads_passes(X: Any) -> bool:
        """Return whether rows are read from elsewhere, in passes that callbacks hear of."""
        return is_scanned(X)

    @property
    def _hook(self) -> Hook | None:
        """What the work of a fit reports to, as a `Progress`."""
        return None if self._progress is None else self._progress.report_work

    def _subfit(self, estimator: Any, name: str) -> AbstractContextManager[None]:
        """The fit of another estimator, as a task of this one."""
        return nullcontext() if self._progress is None else self._progress.subfit(estimator, name)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if self._progress is None:
            return state
        # A copy in the middle of a fit goes to workers: it reports to nobody.
        return {k: v for k, v in state.items() if k not in UNSENT}

    def _unfitted(self, *, progress: bool = False) -> Self:
        """Return the parameters alone, as they are sent to workers; with callbacks if asked for.

        A tenth of the time of `sklearn.clone`, which a fit on few rows would feel.
        """
        bare = type(self).__new__(type(self))
        kept = (item for item in vars(self).items() if not item[0].endswith("_"))
        bare.__dict__.update(item for item in kept if progress or item[0] not in UNSENT)
        return bare

    @property
    def _sent(self) -> Self:
        """The model as workers need it to answer: without the sums that only updates need."""
        sent = copy(self)
        sent.__dict__.pop("summary_", None)
        return sent

    def _check_identifiers(self, summary: Summary) -> None:
        if self._refuses_identifiers and self.max_categories is None:
            refuse_identifiers(summary)


class AdditiveEstimator(TableEstimator):
    """Base of estimators whose training is one pass of sums: they say how to finish."""

    summary_: Summary | None

    def _check_learned(self) -> None:
        super()._check_learned()
        same = self.summary_ is None or self.summary_.schema == self.schema_
        expect(same, "the sums have other columns than schema_.")

    @abstractmethod
    def _finish(self, summary: Summary) -> None:
        """Learn everything from the sums; no rows are seen here."""

    def _gather(self, X: Any, y: Any, sample_weight: Any, fitted: Schema | None) -> Summary:
        _, summary = self._read(X, y, sample_weight, fitted)
        return summary

    def _learn(self, summary: Summary) -> Self:
        """Finish, then keep the sums for later updates."""
        self._check_identifiers(summary)
        self._finish(summary)
        self._remember(summary.schema)
        self.summary_ = summary
        return self

    def _update(self, new: Callable[[Schema | None], Summary]) -> Self:
        """Learn from old and new sums together; ``new`` reads rows, given the columns known."""
        if not hasattr(self, "schema_"):
            with silence():  # some rows tell little about those to come
                return self._learn(new(None))
        return self._relearn(self._sums_to_change("updated") + new(self.schema_), [self])

    def _relearn(self, summary: Summary, models: Sequence[Any]) -> Self:  # noqa: ARG002
        """Learn from sums that come from those of ``models``, whose corrections stay."""
        return self._learn(summary)

    @reports_progress
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows: all that was learned becomes that of a fit without them.

        Rows that cannot have been learned from (values or classes never counted, or counted less
        often than here) are refused, and nothing changes. Rows that differ from those
        learned, but whose values have all been counted with their class, cannot be told apart.

        Parameters
        ----------
        X, y, sample_weight :
            As in :meth:`fit`, the weights those that the rows were learned with.

        Returns
        -------
        self

        Notes
        -----
        Byte for byte the fit of the other rows, with these exceptions: normal densities agree to
        1e-12; weights that are not sums of powers of two leave sums within 1e-9; a column of
        numbers of which more than ``grid_limit`` differed stays in the cells that it had, of which
        only those without rows go; and a column of text declared as categories, without a value
        left, is as one that was not declared.
        """
        self._check_parameters()
        sums = self._sums_to_change("made to forget rows")
        return self._forget_sums(sums, self._gather(X, y, sample_weight, self.schema_))

    def _forget_sums(self, sums: Summary, part: Summary) -> Self:
        fresh = copy(self)._relearn(subtract_summary(sums, part), [self])
        self.__dict__.update(fresh.__dict__)
        return self

    def _sums_to_change(self, verb: str) -> Summary:
        """The sums, if rows would be counted now as they were then."""
        sums = self._sums(verb)
        if sums.wanted != self._wanted(sums.schema) or sums.grid_limit != self.grid_limit:
            raise ValueError(
                "parameters that say how numbers are counted have changed since the model was "
                "fitted, so earlier rows were not counted as these would be; set them back, or "
                "fit again on all rows."
            )
        return sums

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
        return self._relearn(merge_summaries([model._sums("merged") for model in models]), models)

    def _subtract(self, whole: AdditiveEstimator, part: AdditiveEstimator) -> Self:
        """Learn, here, what fitting on rows of ``whole`` but not of ``part`` would give."""
        rest = subtract_summary(whole._sums("subtracted from"), part._sums("subtracted"))
        return self._relearn(rest, [whole])

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
