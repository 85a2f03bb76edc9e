"""Naive Bayes for any table: mixed columns, missing values, new categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, EvidenceTable
from unnaive.answer.edits import join_edits, with_edits
from unnaive.answer.nodes import Node
from unnaive.bayes import Smoothing
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.estimate import given_priors, log_prior, pooled_log_prior
from unnaive.bayes.left_out import scorer_without_one
from unnaive.bayes.scoring import GaussianTerm, build_scorer
from unnaive.common.checks import HEAVIEST, check_number, check_values, check_word, expect
from unnaive.counts import Summary
from unnaive.discretize import CoarseCoder, RuledEstimator
from unnaive.discretize.rules import Rule
from unnaive.encode import GRID_LIMIT
from unnaive.encode.coders import check_coders
from unnaive.encode.labels import label_groups, read_target
from unnaive.estimator import AdditiveEstimator, reports_progress
from unnaive.models.base import FirstPass, ScorerAttributes, TableClassifier, check_calibration
from unnaive.table import Schema


class NaiveBayesClassifier(ScorerAttributes, TableClassifier, RuledEstimator, AdditiveEstimator):
    """Naive Bayes for tables with numbers, categories and missing values in any mix.

    Training is one pass of counting, so a model can be updated with more rows
    (:meth:`partial_fit`) or merged with another (:func:`unnaive.merge`), and the result is the
    model of all rows together, bit for bit.

    Parameters
    ----------
    numeric : <rules> or dict, default="mdl"
        How numeric columns become evidence:

        <what they do>

        A dict maps columns (names or positions) to one of these; columns it leaves out use
        ``"mdl"``.
    n_bins : int, default=10
        Number of intervals for ``"width"`` and ``"frequency"``.
    alpha : float, default=0.5
        Pseudo-count of every value of an attribute. 1 is Laplace's rule, 0 takes raw frequencies:
        then a value that a class never had rules the class out, unless all are ruled out, and the
        one with fewest impossible values wins.
    prior_alpha : float, default=0.0
        Pseudo-count of every class in the prior.
    priors : array-like of shape (n_classes,), dict or None, default=None
        Prior probabilities of the classes, in the order of ``classes_`` or by label, instead of
        their frequencies.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value is no evidence, or a value like any other.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    calibration : {"none", "slope", "columns"}, default="none"
        Whether `fit` takes a second pass over the rows to calibrate the probabilities, as
        `calibrate` does: by one factor for all evidence, or one for each column (weighted naive
        Bayes), and an intercept for each class. Naive Bayes counts evidence again where columns
        repeat each other, and is then too sure. Factors of columns take more time, and say which
        columns repeat others: their evidence is smaller. Normal densities have a factor for each
        column either way: their evidence has no bounds, and one column would decide on all.
    var_smoothing : float, default=0.1
        For ``"gaussian"``: share of the column's variance added to every class's variance.
    bandwidth : {"conditional", "cv", "silverman"} or float, default="conditional"
        For ``"kernel"`` and ``"bayes"``: how wide the kernels of a class with n values are.
        ``"conditional"`` makes them a multiple of the column's standard deviation over n**(1/5),
        the one under which the column alone makes the classes of the rows most probable, each row
        left out (conditional likelihood). ``"cv"`` makes them c / sqrt(n) in units of the column's
        range, with the c from 0.20 to 0.80 under which the values are most probable, each among
        the others (Wang and Yuan); a number is c itself. ``"silverman"`` makes them 0.9 times the
        spread of the class's values over n**(1/5).
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Which columns are categories: by their type (text, true/false, pandas and polars
        categories without an order), or those named, numbered or masked here, and these too.
    max_categories : int or None, default=None
        Group the rarest categories of a column so that no more than this many remain.
    grid_limit : int, default=65534
        Most distinct numbers told apart in a column; above it neighbours share a cell.
    n_jobs : int or None, default=None
        Threads; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
    coders_ : tuple
        How each column is numbered: ``Bins`` with cuts, ``Categories`` with values, or None.
    counts_ : CountTable
        Weight of the rows by class, in the slots of the coders: what stands behind the evidence.
    scorer_ : Scorer
        The evidence of every value, ready to answer.
    summary_ : Summary or None
        The sums that updating and merging need; None after `compact`.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    Discretizer : The intervals alone, as a transformer.
    unnaive.merge : One model of several.

    Examples
    --------
    >>> import pandas as pd
    >>> from unnaive import NaiveBayesClassifier
    >>> table = pd.DataFrame({
    ...     "age": [25, 47, 61, 33, None, 58],
    ...     "city": ["Rome", "Oslo", "Oslo", None, "Rome", "Oslo"],
    ... })
    >>> model = NaiveBayesClassifier().fit(table, ["no", "yes", "yes", "no", "no", "yes"])
    >>> model.predict(pd.DataFrame({"age": [30, None], "city": ["Rome", "Paris"]}))
    array(['no', 'no'], dtype='<U3')
    """

    _rule_kind = Rule
    class_count_: NDArray[np.float64]
    coders_: tuple[CoarseCoder, ...]

    def __init__(
        self,
        *,
        numeric: str | Mapping[Any, str] = "mdl",
        n_bins: int = 10,
        alpha: float = 0.5,
        prior_alpha: float = 0.0,
        priors: Any = None,
        missing: str = "skip",
        class_weight: Any = None,
        calibration: str = "none",
        var_smoothing: float = 0.1,
        bandwidth: str | float = "conditional",
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        n_jobs: int | None = None,
    ) -> None:
        self.numeric = numeric
        self.n_bins = n_bins
        self.alpha = alpha
        self.prior_alpha = prior_alpha
        self.priors = priors
        self.missing = missing
        self.class_weight = class_weight
        self.calibration = calibration
        self.var_smoothing = var_smoothing
        self.bandwidth = bandwidth
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.n_jobs = n_jobs

    @reports_progress
    def calibrate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, seen: bool = True
    ) -> Self:
        """Calibrate the probabilities by one pass over rows with labels.

        All evidence is multiplied by one factor (with ``calibration="columns"``, that of each
        column by its own), and every class has a fresh intercept, such that the classes of the rows
        are most probable. `partial_fit`, `forget` and `unnaive.merge` leave a model that is not
        calibrated: call this after them.

        Parameters
        ----------
        X, y, sample_weight :
            As in :meth:`fit`.
        seen : bool, default=True
            Whether these are rows that the model was fitted on: each is then judged as if it had
            not been counted. False for rows that are new to it.

        Returns
        -------
        self
        """
        self._check_parameters()
        sums, edits = self._sums("calibrated"), self.answer_.edits
        fitted = self._unfitted(progress=True)
        fitted._finish(sums)
        if fitted.calibration == "none":
            fitted.calibration = "slope"
        source, summary = fitted._read(X, y, sample_weight, self.schema_)
        first = fitted._first_pass(source, summary.announce(sums.labels))
        root = fitted._calibrate_node(fitted.answer_.root, first, seen=seen)
        fitted.answer_ = replace(fitted.answer_, root=root)
        self._take_fitted(fitted)
        self.answer_, self.summary_ = with_edits(self.answer_, edits), sums
        return self

    def _calibration_method(self, node: Node) -> str:
        # One value far from its class says more than all other columns: a factor that normal
        # densities share with others would nearly switch off all of them.
        assert isinstance(node, EvidenceTable)
        gaussian = any(isinstance(term, GaussianTerm) for term in node.scorer.terms)
        return "columns" if gaussian and self.calibration == "slope" else str(self.calibration)

    def _calibrate_node(self, node: Node, first: FirstPass, *, seen: bool = True) -> Node:
        node = super()._calibrate_node(node, first, seen=seen)
        priors = given_priors(self.priors, first.summary.labels.classes)
        if priors is None:
            return node
        # Given priors stay the priors: rows have told that of their own shares.
        totals = first.summary.counts.totals * first.class_factor
        shift = log_prior(priors, 0.0, None) - log_prior(totals, 0.0, None)
        return node.calibrated(Calibration(1.0, shift))

    def _leave_one_out(self, node: Node) -> EvidenceTable:
        assert isinstance(node, EvidenceTable)
        assert node.counts is not None
        scorer = scorer_without_one(node.scorer, node.counts, node.counts, self._smoothing())
        totals = node.counts.totals
        less, whole = (pooled_log_prior(totals[None], totals, one)[0] for one in (1.0, 0.0))
        return EvidenceTable(replace(scorer, log_prior=scorer.log_prior + (less - whole)))

    @reports_progress
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows; after all parts, the model equals one fitted on the whole.

        Parameters
        ----------
        X, y :
            As in :meth:`fit`.
        classes : array-like or None, default=None
            All labels that will ever come; labels not listed are then refused. Without it, new
            labels are welcome at any time.
        sample_weight :
            As in :meth:`fit`.

        Returns
        -------
        self
        """
        self._check_parameters()

        def read(fitted: Schema | None) -> Summary:
            summary = self._gather(X, y, sample_weight, fitted)
            if classes is None:
                return summary
            announced, _ = label_groups(read_target(classes))
            return summary.announce(announced)

        return self._update(read)

    def _check_parameters(self) -> None:
        for name in ("alpha", "prior_alpha"):
            check_number(self, name, 0)
        check_word(self, "missing", "skip", "value")
        check_calibration(self, "columns")
        self._check_options()

    def _check_learned(self) -> None:
        super()._check_learned()
        n = len(self.classes_)
        check_coders(self.coders_, self.schema_)
        self.counts_.check_coders(self.coders_, n)
        check_values("class_count_", self.class_count_, (n,), 0.0, HEAVIEST)
        if self.summary_ is not None:
            same = self.summary_.labels.classes.tolist() == self.classes_.tolist()
            expect(same, "the sums have other classes than classes_.")

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        """Log prior probability of each class; of a calibrated model, what evidence is added to."""
        return self.scorer_.log_prior

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 1 if self.calibration == "none" else 2

    def _smoothing(self) -> Smoothing:
        return Smoothing(self.alpha, self.missing)

    def _relearn(self, summary: Summary, models: Sequence[Any]) -> Self:
        edits = join_edits(model.answer_.edits for model in models)
        self._learn(summary)
        self.answer_ = with_edits(self.answer_, edits)
        return self

    def _finish(self, summary: Summary) -> None:
        root = self._fit_node(self._first_pass(None, summary))
        self._set_answer(Answer(summary.schema, summary.labels.classes, root))

    def _fit_node(self, first: FirstPass) -> Node:
        summary = first.summary
        coarse = self._coarsen(summary, first.class_factor)
        priors = given_priors(self.priors, summary.labels.classes)
        prior = log_prior(coarse.counts.totals, self.prior_alpha, priors)
        scorer = build_scorer(
            summary.schema,
            coarse.coders,
            coarse.counts,
            prior,
            self._smoothing(),
            coarse.densities,
        )
        self.class_count_, self.coders_ = summary.counts.totals, coarse.coders
        self.summary_ = summary
        return EvidenceTable(scorer, coarse.counts)
