"""Bagged naive Bayes: models of bootstrap draws, all counted in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, Vote
from unnaive.answer.nodes import Cast, cast_votes
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.scoring import stack_scorers
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.counts.coded import CodedRows
from unnaive.encode import GRID_LIMIT
from unnaive.encode.draws import branch_seeds
from unnaive.estimator import Progress, reports_progress
from unnaive.estimator.registry import register
from unnaive.models._base import ScorerAttributes
from unnaive.models.ensemble.bags import count_bags, out_of_bag
from unnaive.models.ensemble.base import EnsembleClassifier
from unnaive.table.storage import Storage

UNJUDGED = 0.05  # share of rows in every bag that is worth a warning


@register("bagged", "Naive Bayes models of bootstrap draws that vote.", cost=40)
class BaggedNaiveBayesClassifier(ScorerAttributes, EnsembleClassifier):
    """Naive Bayes on several random draws of the rows, which then answer together.

    How often a row is in a bag is a Poisson draw by seed and row number: rows need not know of each
    other, and all bags are counted in one pass.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of bags.
    max_samples : float, default=0.9
        Expected size of a bag, as a share of the rows; at most 1.
    bootstrap : bool, default=True
        Whether to draw at all; without it every bag holds all rows.
    voting : {"soft", "hard"}, default="soft"
        Whether probabilities are averaged, or each bag votes for its best class (the paper).
    oob_score : bool, default=False
        Whether to judge each row by the bags that it is not in.
    numeric : <rules> or dict, default="mdl"
        How numeric columns are cut, once, for all bags; see `NaiveBayesClassifier`.
    n_bins, bandwidth, alpha, prior_alpha, missing, class_weight, categorical_features, \
max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    n_jobs : int or None, default=None
        Threads; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    scorer_ : Scorer
        The evidence of all bags side by side.
    counts_ : CountTable
        Weight of the rows by class, in the slots of the coders: what stands behind the evidence.
    bag_weights_ : array of shape (n_estimators,)
        Weight of the rows in each bag.
    oob_score_ : float
        Share of rows, by weight, that the bags they are not in get right.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Probabilities by the bags that a row is not in; NaN where it is in all of them. Rows of
        weight zero are left out.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    References
    ----------
    M. Wiering. Hierarchical Mixtures of Naive Bayesian Classifiers. UU-CS-2003-003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from unnaive import BaggedNaiveBayesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BaggedNaiveBayesClassifier(n_estimators=50, oob_score=True, random_state=0)
    >>> model.fit(X, y).oob_score_ > 0.9
    True
    """

    _optional_attributes = EnsembleClassifier._optional_attributes | {
        "oob_score_",
        "oob_decision_function_",
    }
    _adds_up = False
    bag_weights_: NDArray[np.float64]
    oob_score_: float
    oob_decision_function_: NDArray[np.float64]

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        max_samples: float = 0.9,
        bootstrap: bool = True,
        voting: str = "soft",
        oob_score: bool = False,
        numeric: str | Mapping[Any, str] = "mdl",
        n_bins: int = 10,
        bandwidth: str | float = 0.5,
        alpha: float = 0.5,
        prior_alpha: float = 0.0,
        missing: str = "skip",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.voting = voting
        self.oob_score = oob_score
        self.numeric = numeric
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.prior_alpha = prior_alpha
        self.missing = missing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the bags and count them.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A row drawn twice counts twice its weight.

        Returns
        -------
        self
        """
        self._check_parameters()
        start = self._begin(X, y, sample_weight)
        smoothing = Smoothing(self.alpha, self.missing)
        seeds = branch_seeds(start.seed, self.n_estimators)
        whole = start.coarse.counts
        tables = [whole] * self.n_estimators
        if self.bootstrap:
            rows = start.rows()
            n_rows = start.summary.n_rows
            progress = Progress("counting bags", n_rows, hook=self._hook)
            drawn = count_bags(
                rows, start.coarse.coders, start.n_classes, seeds, self.max_samples, self.n_jobs,
                progress,
            )  # fmt: skip
            progress.finish()
            # In a tiny table a bag may come out empty: it then holds all rows, and judges none.
            tables = [table if table.totals.any() else whole for table in drawn]
            fair = np.array([table.totals.any() for table in drawn])
        bags = [start.scorer(table, smoothing, self.prior_alpha) for table in tables]
        self.bag_weights_ = np.array([table.totals.sum() for table in tables])
        every = np.ones(len(bags))
        root = Vote(every, self._cast, "mean", "bag", stack_scorers(bags), whole)
        self._learn_answer(Answer(start.summary.schema, start.summary.labels.classes, root))
        for name in ("oob_score_", "oob_decision_function_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.oob_score:
            own = [bag for bag, kept in zip(bags, fair, strict=True) if kept]
            self._judge(rows, own, seeds[fair], start.source.storage)
        return self

    @property
    def _cast(self) -> Cast:
        return "probabilities" if self.voting == "soft" else "winner"

    def _judge(
        self,
        blocks: list[CodedRows],
        bags: list[Scorer],
        seeds: NDArray[np.uint64],
        storage: Storage,
    ) -> None:
        """Each row by the bags that it is not in."""
        n_rows, n_classes = sum(rows.n_rows for rows in blocks), len(self.classes_)
        found, ids = storage.empty((n_rows, n_classes), np.float64), storage.empty(n_rows, np.int64)
        weight, right = storage.empty(n_rows, np.float64), storage.empty(n_rows, np.float64)
        at = n_judged = 0
        for rows in blocks:
            own = out_of_bag(
                rows,
                bags,
                seeds,
                n_classes,
                self.max_samples,
                partial(cast_votes, self._cast),
                self.n_jobs,
            )
            here = slice(at, at + rows.n_rows)
            found[here], ids[here] = own, rows.row_ids
            judged = ~np.isnan(own[:, 0])
            new = slice(n_judged, n_judged + int(judged.sum()))
            weight[new] = 1.0 if rows.weight is None else rows.weight[judged]
            right[new] = own[judged].argmax(axis=1) == rows.groups[judged]
            at, n_judged = here.stop, new.stop
        if n_judged / n_rows < 1.0 - UNJUDGED:
            warnings.warn(
                f"{n_rows - n_judged} of {n_rows} rows are in every bag, so that nothing judges "
                "them; raise n_estimators.",
                UserWarning,
                stacklevel=3,
            )
        weight, right = weight[:n_judged], right[:n_judged]
        self.oob_score_ = float(weight @ right / weight.sum()) if n_judged else float("nan")
        self.oob_decision_function_ = found[storage.argsort(ids)]

    def _check_parameters(self) -> None:
        self._check_counting()
        check_number(self, "n_estimators", 1, whole=True)
        check_number(self, "max_samples", 0, 1)
        check_word(self, "voting", "soft", "hard")
        if self.max_samples == 0:
            raise ValueError("max_samples must be more than 0: bags of no rows learn nothing.")
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs bootstrap=True: without drawing, every row is in every bag."
            )

    def _check_learned(self) -> None:
        super()._check_learned()
        bags, n = self.bag_weights_.size, len(self.classes_)
        expect(bags, "there are no bags.")
        members = getattr(self.answer_.root, "weights", np.empty(0)).size
        expect(members == bags, "bags are not those that vote.")
        check_values("bag_weights_", self.bag_weights_, (bags,), 0.0, FINITE)
        if hasattr(self, "oob_decision_function_"):
            found = self.oob_decision_function_
            check_values("oob_decision_function_", found, (len(found), n), 0.0, nan=True)
