"""What all classifiers share: fitting as a template, and answering for rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unnaive.answer import Answer, Decision, Evidence
from unnaive.answer.nodes import Node
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibration import HeldOut
from unnaive.bayes.estimate import check_class_weight, class_factor, log_prior
from unnaive.bayes.scoring import build_scorer
from unnaive.common.checks import check_number, check_word
from unnaive.counts import CountTable, Summary
from unnaive.counts.counting import summarize
from unnaive.counts.encoded_rows import CodedRows, check_same_counts, count_rows, row_coder
from unnaive.discretize import Coarse, RuledEstimator
from unnaive.encode import Labels
from unnaive.encode.labels import known_groups, read_target, refuse_strange_labels
from unnaive.estimator import TableEstimator, reports_progress
from unnaive.models.held_out import (
    CROSS_FIT_ROWS,
    MAX_ROW_NUMBERS,
    CalibrationRows,
    calibrate_answer,
    calibration_rows,
    cross_fit,
    leave_one_out,
    score_rows,
)
from unnaive.table import Block, Source, open_table, scan_of
from unnaive.table.output import Tabular, write_parquet
from unnaive.table.records import Records, keep_records
from unnaive.table.source import MemorySource, read_weight

R = TypeVar("R")
T = TypeVar("T")


def _if_supported(name: str) -> Callable[[Any], Any]:
    """A method that a classifier may lack, such as those around estimators that lack it."""
    decorate: Callable[[Any], Any] = available_if(lambda model: model._supports(name))
    return decorate


class FirstPass(NamedTuple):
    """What the first pass over a table leaves to a model.

    Attributes
    ----------
    source : Source
        The rows, for further passes; None where there are only sums.
    summary : Summary
    class_factor : array of shape (classes,)
        What ``class_weight`` multiplies the weights of the classes' rows by.
    seed : int
        Of all random choices of the fit.
    n_jobs : int or None
    """

    source: Any
    summary: Summary
    class_factor: NDArray[np.float64]
    seed: int
    n_jobs: int | None


def draw_seed(random_state: Any) -> int:
    """Return the seed of all random choices of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Return a clone whose open random states are drawn."""
    copy = clone(estimator)
    given = copy.get_params(deep=True)
    drawn = {
        name: int(rng.randint(2**31 - 1))
        for name in sorted(given)
        if name.split("__")[-1] == "random_state" and given[name] is None
    }
    return copy.set_params(**drawn)


class ScorerAttributes:
    """The evidence behind an answer that has one scorer."""

    answer_: Answer

    @property
    def scorer_(self) -> Scorer:
        """The evidence of every value."""
        core: Any = self.answer_.core
        scorer: Scorer = (getattr(core, "stack", None) or core).scorer
        return scorer

    @property
    def counts_(self) -> CountTable:
        """Weight of the training rows by class, in the slots of the coders."""
        core: Any = self.answer_.core
        counts: CountTable = (getattr(core, "stack", None) or core).counts
        return counts


class TableClassifier(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """A classifier of tables. Subclasses learn an answer; everything else follows from it.

    They set ``answer_`` and ``classes_`` when fitted, and have the parameter ``n_jobs``.
    """

    answer_: Answer
    classes_: NDArray[Any]
    n_jobs: int | None
    _gives_advice = True
    _adds_up: bool = True  # whether evidence will be one bar per column, as far as known before fit
    _one_baseline: bool = True  # whether the evidence of all rows is added to the same baseline

    class_weight: Any = None
    calibration: Any = "none"

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
            A pandas, polars or pyarrow table, an array, or a list of rows; or what `unnaive.scan`
            reads: files, DuckDB, polars, Dask and Spark.
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
            Labels of any type, none missing.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._check_parameters()
        fitted = self._unfitted(progress=True)
        source, summary = fitted._read(X, y, sample_weight)
        check_class_weight(self.class_weight, summary.labels.classes)
        fitted._fit_answer(fitted._first_pass(source, summary))
        self._take_fitted(fitted)
        return self

    def _first_pass(self, source: Any, summary: Summary, seed: int | None = None) -> FirstPass:
        """Return what `_fit_node` learns from; the seed is drawn where none is given."""
        factor = class_factor(self.class_weight, summary.labels.classes, summary.counts.totals)
        if seed is None:
            seed = draw_seed(getattr(self, "random_state", 0))
        return FirstPass(source, summary, factor, seed, self.n_jobs)

    def _fit_answer(self, first: FirstPass) -> None:
        """Learn the answer, and calibrate it."""
        node = self._fit_node(first)
        if self._calibration_method(node) != "none":
            node = self._calibrate_node(node, first)
        self._set_answer(Answer(first.summary.schema, first.summary.labels.classes, node))

    def _fit_node(self, first: FirstPass) -> Node:
        """Learn the answer node from the rows, before calibration; set all other attributes."""
        raise NotImplementedError

    def _calibration_method(self, node: Node) -> str:  # noqa: ARG002
        """Return how a node is calibrated: "none", "slope", "columns" or "values"."""
        return str(self.calibration)

    def _calibrate_node(self, node: Node, first: FirstPass, *, seen: bool = True) -> Node:
        """Return the node, calibrated by held-out evidence of rows; new rows are not ``seen``."""
        method, n_terms = self._calibration_method(node), 1 + len(first.summary.schema)
        n_classes = len(first.summary.labels)
        by_column = method != "slope" and n_terms * n_classes <= MAX_ROW_NUMBERS
        by_column = by_column and n_terms <= first.summary.n_rows
        if not by_column:
            method = "slope"
        n_numbers = n_classes * (n_terms if by_column else 1)
        rows = calibration_rows(first, n_numbers)
        if seen:
            held_out = self._held_out(node, first, rows, by_column)
        else:
            scores = score_rows(node, rows.block, by_column, self.n_jobs)
            held_out = HeldOut(scores, rows.y, rows.sample_weight, rows.block)
        return calibrate_answer(node, held_out, method)

    def _held_out(
        self, node: Node, first: FirstPass, rows: CalibrationRows, by_column: bool
    ) -> HeldOut:
        """Return held-out evidence of the calibration rows.

        Inner folds, unless the rows are many and the model can leave them out of its counts.
        """
        if first.summary.n_rows >= CROSS_FIT_ROWS:
            without = self._leave_one_out(node)
            if without is not None:
                return leave_one_out(node, without, rows, by_column=by_column, n_jobs=self.n_jobs)
        return cross_fit(self, first, rows, by_column=by_column)

    def _leave_one_out(self, node: Node) -> Node | None:  # noqa: ARG002
        """Return the evidence of a node for a row of each class that was not counted, if known."""
        return None

    def _fit_rows(self, first: FirstPass, rows: CalibrationRows) -> Node:
        """Return the node that the same model learns from other rows at the driver."""
        model, source = self._unfitted(), MemorySource(rows.block)
        limit = {"grid_limit": self.grid_limit, "n_jobs": self.n_jobs}
        summary = summarize(source, model._wanted, **limit).announce(first.summary.labels)
        return model._fit_node(model._first_pass(source, summary, first.seed))

    def _take_fitted(self, fitted: Self) -> None:
        """Replace what an earlier fit has learned by what another model has."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        learned = (item for item in vars(fitted).items() if item[0].endswith("_"))
        self.__dict__.update(learned, _about=fitted._about)

    def _check_learned(self) -> None:
        super()._check_learned()
        same = self.answer_.classes.tolist() == self.classes_.tolist()
        if not same or self.answer_.schema.names != self.schema_.names:
            raise ValueError("answer_ is for other classes or columns than the model.")

    def _supports(self, name: str) -> bool:
        """Whether there is a method; raises AttributeError, with the reason, if there is none."""
        fitted = hasattr(self, "answer_")
        adds_up = self.answer_.root.is_additive if fitted else self._adds_up
        if name == "predict_joint_log_proba" and not adds_up:
            raise AttributeError(
                f"the evidence of this {type(self).__name__} does not add up column by column, so "
                "there are no joint log probabilities; evidence() shows its parts."
            )
        return True

    @property
    def target_name(self) -> str | None:
        """The column with the labels, where y had a name; None otherwise."""
        return self._about.target

    @property
    def decision(self) -> Decision | None:
        """How `predict` chooses a class by its probabilities; None: the most probable one."""
        return self.answer_.decision

    def with_decision(self, decide: Any, *, positive: Any = None) -> Self:
        """The same fitted model with another way from probabilities to a class.

        `predict`, ``decision`` columns of files, SQL, and the report follow the decision; model
        files keep it. Probabilities stay as they are.

        Parameters
        ----------
        decide : float, array-like, mapping, "balanced", Decision or None
            - a number, with two classes: the class ``positive`` is chosen where its probability is
              at least this threshold;
            - costs, a row for each true class and a column for each decision, or as a mapping
              ``{(true class, decided class): cost}`` in which what is left out costs nothing: the
              class of least expected cost is chosen;
            - "balanced": an error costs as much more as its true class is rarer in training, which
              chooses the class that a row's values raise most above its share;
            - None: the most probable class.
        positive : label or None, default=None
            The class that a threshold is for, with two classes; None is the second.

        Returns
        -------
        classifier
            A new one; this one stays as it is. Fitting or updating it forgets the decision.

        Examples
        --------
        >>> from unnaive import NaiveBayesClassifier
        >>> model = NaiveBayesClassifier().fit([["a"], ["a"], ["b"]], ["bad", "good", "good"])
        >>> model.predict([["a"]])
        array(['good'], dtype='<U4')
        >>> model.with_decision(0.3, positive="bad").predict([["a"]])
        array(['bad'], dtype='<U4')
        >>> model.with_decision({("bad", "good"): 5, ("good", "bad"): 1}).decision
        Decision: class number 1 from 0.8333 on
        """
        check_is_fitted(self)
        self._supports("predict_proba")
        model = copy(self)
        model._set_decision(self.answer_.decided(decide, positive).decision)
        return model

    def _set_decision(self, decision: Decision | None) -> None:
        self.answer_ = self.answer_.decided(decision)

    def _set_answer(self, answer: Answer) -> None:
        """Store the fitted answer."""
        self.answer_, self.classes_ = answer, answer.classes
        self._remember(answer.schema)

    def _open(self, X: Any) -> Source:
        check_is_fitted(self)
        return self._open_as(X, self.answer_.schema)

    def _ask(self, X: Any, question: str, word: str | None = None) -> Any:
        """What the answer says about the rows of X; only the answer is sent to workers.

        ``question`` is a method of `Answer`; ``word`` names columns with an entry for each class,
        where the result is a table.
        """
        source = self._open(X)
        ask = partial(getattr(self.answer_, question), n_jobs=self.n_jobs)
        return source.map(ask, None if word is None else self._names(word))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importance of each column: its share of the mean absolute evidence, as learned.

        Half of the evidence of a pair counts for each of its columns. The shares sum to one, or
        are all zero where no column says anything. Scikit-learn's selectors read them.
        """
        check_is_fitted(self)
        return self.answer_.feature_importances()

    @_if_supported("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._ask(X, "log_probabilities", "log_probability")

    @_if_supported("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Columns are found by name where the model knows names. Missing values are welcome;
            values never seen in training carry no evidence.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._ask(X, "probabilities", "probability")

    @_if_supported("predict_joint_log_proba")
    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log P(class, row), but for a constant of the row: what the evidence adds up to.

        Only where evidence is one bar per column.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._ask(X, "joint", "joint_log_probability")

    def predict(self, X: Any) -> Any:
        """The most probable class of each row, or the one that `with_decision` asks for.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        word = "prediction" if self.decision is None else "decision"
        return self._ask(X, "predict", word)

    @_if_supported("evidence")
    def evidence(self, X: Any) -> Evidence:
        """Return the evidence for the prediction of each row: contributions that add up.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        Evidence
            One contribution per column, which add up to `predict_joint_log_proba`; of a tree those
            of the naive Bayes where the row stops. Ensembles have a contribution of each member,
            and the evidence by column in ``members``. Rows on Dask or Spark get a lazy table:
            ``baseline_<class>`` and ``evidence_<term>_<class>``.
        """
        source = self._open(X)
        ask = Tabular(partial(self.answer_.evidence, n_jobs=self.n_jobs), Evidence.lines)
        why: Evidence = source.map(ask)
        return why

    def _names(self, word: str) -> list[str]:
        """Names of the columns of an answer that is a table: one for each class."""
        one = word in ("prediction", "decision")
        return [word] if one else [f"{word}_{label}" for label in self.classes_]

    @_if_supported("predict_proba")
    def predict_to(self, X: Any, path: Any) -> Path:
        """Write the answers for rows of any number to a Parquet file, block by block.

        The file appears under its name only when it is whole.

        Parameters
        ----------
        X : path, glob, folder, `scan` or table
            The rows to answer for.
        path : path
            The file to write; one that is there is replaced.

        Returns
        -------
        Path
            The file: a row for each row of X, in their order, with its number (``row``), the most
            probable class (``prediction``), with a decision the class it chooses (``decision``),
            and a column ``probability_<class>`` for each class.
        """
        source = self._open(X)
        answer, names = self.answer_, self._names("probability")

        def decided(p: NDArray[np.float64]) -> NDArray[Any]:
            labels: NDArray[Any] = answer.classes[answer.choose(p)]
            return labels

        def columns(block: Block) -> dict[str, NDArray[Any]]:
            each = answer.probabilities(block, self.n_jobs)
            return {
                "row": block.row_ids,
                "prediction": answer.classes[each.argmax(axis=1)],
                **({} if answer.decision is None else {"decision": decided(each)}),
                **{name: np.ascontiguousarray(p) for name, p in zip(names, each.T, strict=True)},
            }

        return write_parquet(source.each(columns), path)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy: the share of the rows whose class is predicted.

        Rows of a class that the model has never seen are predicted wrong; if that holds for all of
        them, the labels are of another kind and an error is raised.

        Parameters
        ----------
        X : table, path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like or None, default=None
            Weights of the rows, or the name of a column.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        scan, answer, n_jobs = scan_of(X, y, sample_weight), self.answer_, self.n_jobs
        if scan is None:
            predicted, target = self.predict(X), read_target(y)
            check_consistent_length(predicted, target)
            sums = _count_right(
                answer.classes, predicted, target, read_weight(sample_weight, len(target))
            )
        else:
            if scan.target is None:
                raise ValueError(
                    "y is None: name the column with the labels, as in score(data, 'y')."
                )

            def count(block: Block) -> NDArray[np.float64]:
                assert block.target is not None
                predicted = answer.predict(block, n_jobs)
                return _count_right(answer.classes, predicted, block.target, block.weight)

            sums = open_table(self, scan, fitted=answer.schema).reduce(count, np.add)
        right, recognized, total = sums.tolist()
        refuse_strange_labels(recognized, Labels(answer.classes), ["other labels"] if scan else y)
        return float(right / total)


class Binned(NamedTuple):
    """Columns binned once, and how rows are coded and scored by the bins."""

    first: FirstPass
    coarse: Coarse

    @property
    def n_classes(self) -> int:
        return len(self.first.summary.labels)

    @property
    def coder(self) -> Callable[[Block], CodedRows]:
        """What codes the rows of a block."""
        coarse, labels = self.coarse, self.first.summary.labels
        return row_coder(coarse.coders, coarse.counts, labels, coarse.factor, self.first.n_jobs)

    def records(
        self, part: Callable[[CodedRows], tuple[R, T]], add: Callable[[T, T], T]
    ) -> tuple[Records[R], T]:
        """Return records of all blocks, where they are, and a sum.

        ``part`` makes a record of the coded rows of a block, and their share of the sum.
        """
        code, source = self.coder, self.first.source
        if not source.may_change:
            return keep_records(source, lambda block: part(code(block)), add)
        coders, n_classes = self.coarse.coders, self.n_classes

        def count(block: Block) -> tuple[R, tuple[T, CountTable]]:
            rows = code(block)
            record, share = part(rows)
            return record, (share, count_rows(rows, coders, n_classes))

        def add_both(a: tuple[T, CountTable], b: tuple[T, CountTable]) -> tuple[T, CountTable]:
            return add(a[0], b[0]), a[1] + b[1]

        records, (share, counts) = keep_records(source, count, add_both)
        try:
            check_same_counts(self.first.summary.schema.names, self.coarse.counts, counts)
        except BaseException:
            records.release()
            raise
        return records, share

    def scorer(self, counts: CountTable, smoothing: Smoothing, prior_alpha: float) -> Scorer:
        """Return naive Bayes on counts in the bins."""
        prior = log_prior(counts.totals, prior_alpha, None)
        return build_scorer(self.first.summary.schema, self.coarse.coders, counts, prior, smoothing)


class NaiveBayesEnsemble(ScorerAttributes, TableClassifier, RuledEstimator):
    """A classifier of several naive Bayes models over columns that are binned once."""

    alpha: float
    missing: str
    prior_alpha: float

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 2 if self._calibration_method() == "none" else 3

    def _n_tasks(self) -> int | None:
        return 1

    def _calibration_method(self, node: Node | None = None) -> str:  # noqa: ARG002
        return str(self.calibration)

    def _bin(self, first: FirstPass) -> Binned:
        return Binned(first, self._coarsen(first.summary, first.class_factor))

    @property
    def _smoothing(self) -> Smoothing:
        return Smoothing(self.alpha, self.missing)

    def _held_out(
        self, node: Node, first: FirstPass, rows: CalibrationRows, by_column: bool
    ) -> HeldOut:
        """Return held-out evidence; bins have seen its class, which matters if columns are many."""
        if len(first.summary.schema) > first.summary.n_rows:
            return cross_fit(self, first, rows, by_column=by_column)
        return self._leave_out(node, rows, by_column)

    def _leave_out(self, node: Node, rows: CalibrationRows, by_column: bool) -> HeldOut:
        """Return the evidence of members that have not counted the row."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        for name in ("alpha", "prior_alpha"):
            check_number(self, name, 0)
        check_word(self, "missing", "skip", "value")
        self._check_options()


def check_calibration(model: Any, *more: str) -> None:
    """Raise if the parameter ``calibration`` names no method."""
    check_word(model, "calibration", "none", "slope", *more)


def leaves_answer(estimator: Any) -> bool:
    """Whether this is a classifier of this library, or built on it, that leaves an answer."""
    return isinstance(estimator, TableClassifier)


def _count_right(
    classes: NDArray[Any], predicted: NDArray[Any], target: Any, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Weight of the rows that are right, of those of a known class, and of all."""
    labels = Labels(classes)
    groups = known_groups(labels, target)
    w = np.ones(len(groups)) if weight is None else weight
    right = groups == known_groups(labels, predicted)
    return np.array([w @ right, w @ (groups < len(labels)), w.sum()])
