"""Bagged naive Bayes: models of bootstrap draws, all counted in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, Vote
from unnaive.answer.calibrated import calibrated
from unnaive.answer.nodes import Cast, Node, cast_votes
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate import fit_calibration
from unnaive.bayes.scoring import stack_scorers
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.counts.coded import CodedRows
from unnaive.encode import GRID_LIMIT
from unnaive.encode.draws import branch_seeds
from unnaive.estimator import Progress, reports_progress
from unnaive.estimator.registry import register
from unnaive.models._base import ScorerAttributes
from unnaive.models._calibration import JudgedRows, check_calibration, take_logs
from unnaive.models._out_of_bag import OUT_OF_BAG, OutOfBag, out_of_bag_accuracy, warn_of_unjudged
from unnaive.models.ensemble.bags import count_bags, out_of_bag
from unnaive.models.ensemble.base import EnsembleClassifier, Start
from unnaive.models.ensemble.left_out import empty_rows
from unnaive.table.storage import Storage, stretches


@register("bagged", "Naive Bayes models of bootstrap draws that vote.", cost=40)
class BaggedNaiveBayesClassifier(OutOfBag, ScorerAttributes, EnsembleClassifier):
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
    calibration : {"slope", "none"}, default="slope"
        Whether the mean of the bags is calibrated: its log probabilities are multiplied by one
        factor, and every class has an intercept, such that the classes of rows are most probable,
        each judged by the bags that it is not in. ``"none"`` is the paper's; without
        ``bootstrap`` there are no such bags, and nothing is calibrated.
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

    _optional_attributes = EnsembleClassifier._optional_attributes | OUT_OF_BAG
    _adds_up = False
    bag_weights_: NDArray[np.float64]

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        max_samples: float = 0.9,
        bootstrap: bool = True,
        voting: str = "soft",
        oob_score: bool = False,
        calibration: str = "slope",
        numeric: str | Mapping[Any, str] = "mdl",
        n_bins: int = 10,
        bandwidth: str | float = "conditional",
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
        self.calibration = calibration
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
        root: Node = Vote(every, self._cast, "mean", "bag", stack_scorers(bags), whole)
        self._drop_out_of_bag()
        if self.bootstrap and (self.oob_score or self.calibration == "slope"):
            own = [bag for bag, kept in zip(bags, fair, strict=True) if kept]
            everyone = None
            if self.calibration == "slope":
                everyone = empty_rows(rows, start.n_classes, start.source.storage)
            judged = self._judge(rows, own, seeds[fair], start, everyone)
            if self.oob_score:
                self._score(rows, judged, start.source.storage)
            root = root if everyone is None else self._calibrate(root, judged, everyone)
        self._learn_answer(Answer(start.summary.schema, start.summary.labels.classes, root))
        return self

    @property
    def _cast(self) -> Cast:
        return "probabilities" if self.voting == "soft" else "winner"

    def _judge(
        self,
        blocks: list[CodedRows],
        bags: list[Scorer],
        seeds: NDArray[np.uint64],
        start: Start,
        everyone: JudgedRows | None,
    ) -> JudgedRows:
        """Votes on each row by the bags that it is not in; NaN where it is in all of them.

        ``everyone`` (OUT) gets the votes of all bags.
        """
        judged = empty_rows(blocks, start.n_classes, start.source.storage)
        vote, at = partial(cast_votes, self._cast), 0
        for rows in blocks:
            here, votes = slice(at, at + rows.n_rows), None
            if everyone is not None:
                votes = everyone.scores[here]
                votes[:] = 0.0
            given = (seeds, start.n_classes, self.max_samples, vote, self.n_jobs, votes)
            judged.scores[here] = out_of_bag(rows, bags, *given)
            at = here.stop
        return judged

    def _calibrate(self, root: Node, judged: JudgedRows, everyone: JudgedRows) -> Node:
        """The vote calibrated by the rows (IN, OUT) that some bag judges.

        They say how sure to be. How probable classes are on the whole is a matter of all bags
        (IN, OUT): those without a row of a rare class find the class rarer than it is.
        """
        for part in stretches(len(judged.groups)):
            in_all = np.isnan(judged.scores[part, 0])
            judged.scores[part][in_all], judged.weight[part][in_all] = 1.0, 0.0
        take_logs(judged.scores)
        take_logs(everyone.scores)
        slope = judged.fit(self.n_jobs).slope
        rows = (everyone.scores, everyone.groups, everyone.weight, self.n_jobs)
        return calibrated(root, fit_calibration(*rows, slope=slope))

    def _score(self, blocks: list[CodedRows], judged: JudgedRows, storage: Storage) -> None:
        """The share of rows that are judged rightly, and the votes in the order of the rows."""
        warn_of_unjudged(judged.scores, "in every bag", 3)
        self.oob_score_ = out_of_bag_accuracy(judged.scores, judged.groups, judged.weight)
        ids, at = storage.empty(len(judged.groups), np.int64), 0
        for rows in blocks:
            ids[at : at + rows.n_rows] = rows.row_ids
            at += rows.n_rows
        self.oob_decision_function_ = judged.scores[storage.argsort(ids)]

    def _check_parameters(self) -> None:
        self._check_counting()
        check_calibration(self)
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
        bags = self.bag_weights_.size
        expect(bags, "there are no bags.")
        members = getattr(self.answer_.core, "weights", np.empty(0)).size
        expect(members == bags, "bags are not those that vote.")
        check_values("bag_weights_", self.bag_weights_, (bags,), 0.0, FINITE)
        self._check_out_of_bag()
