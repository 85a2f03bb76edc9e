"""Bagged naive Bayes: models of bootstrap draws, all counted in one pass."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, Ensemble, NaiveBayesStack
from unnaive.answer.nodes import MemberOutput, Node
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate import fit_visited
from unnaive.bayes.scoring import stack_scorers
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.counts import CountTable
from unnaive.counts.encoded_rows import CodedRows
from unnaive.encode import GRID_LIMIT
from unnaive.encode.coders import AnyCoder
from unnaive.encode.hashing import branch_seeds
from unnaive.estimator import Progress, reports_progress
from unnaive.models._calibration import check_calibration
from unnaive.models._judged_rows import (
    CALIBRATING,
    has_rare,
    judged_visit,
    match_rare,
)
from unnaive.models._out_of_bag import OUT_OF_BAG, OutOfBag, out_of_bag_accuracy, warn_of_unjudged
from unnaive.models._row_draw import RowDraw
from unnaive.models.base import ScorerAttributes
from unnaive.models.ensemble.bags import (
    BagJudge,
    BagVotes,
    count_bags,
    judged_by_all,
    judged_by_some,
    rare_places,
    votes_as_logs,
)
from unnaive.models.ensemble.base import EnsembleClassifier, Start
from unnaive.models.ensemble.left_out import match_base_rates, weigh_drawn
from unnaive.table.records import Records


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
        each judged by the bags that it is not in; of more than 8,192 rows, some that are drawn by
        their places. ``"none"`` is the paper's; without ``bootstrap`` there are no such bags, and
        nothing is calibrated.
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
        self._drop_out_of_bag()
        if not self.bootstrap:
            root: Node = self._vote([start.coarse.counts] * self.n_estimators, start)
        else:
            records, _ = start.records(_as_they_are, operator.add)
            with records:
                root = self._draw(start, records)
        self._set_answer(Answer(start.summary.schema, start.summary.labels.classes, root))
        return self

    def _draw(self, start: Start, records: Records[CodedRows]) -> Node:
        """Bags, counted and calibrated by the rows that are not in them."""
        n_rows, seeds = start.summary.n_rows, branch_seeds(start.seed, self.n_estimators)
        progress = Progress("counting bags", n_rows, hook=self._hook)
        count = partial(
            _count, start.coarse.coders, start.n_classes, seeds, self.max_samples, self.n_jobs
        )
        drawn = records.reduce(count, _add_tables, "counting bags")
        progress.add(n_rows)
        progress.finish()
        # In a tiny table a bag may come out empty: it then holds all rows, and judges none.
        fair = np.array([table.totals.any() for table in drawn])
        whole = start.coarse.counts
        root = self._vote([t if t.totals.any() else whole for t in drawn], start)
        calibrates = self.calibration == "slope"
        if not (self.oob_score or calibrates):
            return root
        bags = [self._bag(table, start) for table in drawn if table.totals.any()]
        totals = (start.summary.counts.totals, start.coarse.counts.totals)
        # Of fewer rows all say how probable classes are: naive Bayes may be too sure for its bags.
        draw = RowDraw.of_large(n_rows, *totals) if calibrates else None
        judge = BagJudge(
            bags, seeds[fair], start.n_classes, self.max_samples, self._member_output, calibrates,
            records.storage, self.n_jobs, None if self.oob_score else draw,
        )  # fmt: skip
        weights = records.advance(judge, operator.add, "judging")
        if self.oob_score:
            self._score(records, n_rows, start)
        if not calibrates:
            return root
        # Votes on all rows are kept for the score; then those that calibrate are drawn of them.
        given = (records.storage, start.n_classes, draw if self.oob_score else None)
        weights = weights + records.advance(
            partial(votes_as_logs, *given), operator.add, CALIBRATING
        )
        return self._calibrate(root, records, start, judge, draw, weights)

    def _bag(self, table: CountTable, start: Start) -> Scorer:
        return start.scorer(table, Smoothing(self.alpha, self.missing), self.prior_alpha)

    def _vote(self, tables: list[CountTable], start: Start) -> Ensemble:
        """All bags, given their counts."""
        self.bag_weights_ = np.array([table.totals.sum() for table in tables])
        scorer = stack_scorers([self._bag(table, start) for table in tables])
        every = np.ones(len(tables))
        names = tuple(f"bag {k}" for k in range(len(tables)))
        members = (NaiveBayesStack(scorer, start.coarse.counts),)
        no_shift = np.zeros(start.n_classes)
        return Ensemble(members, names, every, no_shift, self._member_output, "mean")

    @property
    def _member_output(self) -> MemberOutput:
        return "probability" if self.voting == "soft" else "vote"

    def _calibrate(
        self,
        root: Node,
        records: Records[CodedRows],
        start: Start,
        judge: BagJudge,
        draw: RowDraw | None,
        weights: NDArray[np.float64],
    ) -> Node:
        """The vote calibrated by the rows that some bag judges.

        They say how sure to be. How probable classes are on the whole is a matter of all bags:
        those without a row of a rare class find the class rarer than it is; and of many rows.
        """
        n_classes = root.n_outputs
        some, every = (
            partial(weigh_drawn, draw, weights, rows_of)
            for rows_of in (judged_by_some, judged_by_all)
        )
        found = fit_visited(judged_visit(records, some), n_classes, self.n_jobs)
        given = (judged_visit(records, every), n_classes, self.n_jobs, found.slope)
        fitted = fit_visited(*given, near=found)
        totals = (start.summary.counts.totals, start.coarse.counts.totals)
        more = RowDraw.of(start.summary.n_rows, n_classes, *totals)
        if has_rare(totals[0]):
            if draw is not None:
                bag = self._bag(start.coarse.counts, start)
                matters = partial(rare_places, bag, fitted, totals[0], self.n_jobs)
                judge = replace(judge, draw=more, matters=matters)
                drawn = records.advance(judge, operator.add, "judging")
                as_logs = partial(votes_as_logs, records.storage, n_classes, None)
                records.advance(as_logs, operator.add, CALIBRATING)
                every = partial(weigh_drawn, more, drawn, judged_by_all)
            return root.calibrated(match_rare(records, every, fitted, totals[0], self.n_jobs))
        bag, draws = self._bag(start.coarse.counts, start), (draw, more)
        return root.calibrated(match_base_rates(fitted, records, _rows_of, bag, draws, self.n_jobs))

    def _score(self, records: Records[CodedRows], n_rows: int, start: Start) -> None:
        """The share of rows that are judged rightly, and the votes in the order of the rows."""
        room, at = start.source.storage, 0
        shares = room.empty((n_rows, start.n_classes), np.float64)
        ids, groups = room.empty(n_rows, np.int64), room.empty(n_rows, np.intp)
        weight = room.empty(n_rows, np.float64)
        for part in records.each(_judgement):
            here = slice(at, at + len(part[0]))
            shares[here], groups[here], weight[here], ids[here] = part
            at = here.stop
        warn_of_unjudged(shares, "in every bag", 4)
        self.oob_score_ = out_of_bag_accuracy(shares, groups, weight)
        self.oob_decision_function_ = shares[room.argsort(ids)]

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


def _as_they_are(rows: CodedRows) -> tuple[CodedRows, int]:
    return rows, rows.n_rows


def _rows_of(rows: CodedRows) -> CodedRows:
    return rows


def _count(
    coders: Sequence[AnyCoder],
    n_classes: int,
    seeds: NDArray[np.uint64],
    mean: float,
    n_jobs: int | None,
    rows: CodedRows,
    _state: Any,
) -> list[CountTable]:
    return count_bags(rows, coders, n_classes, seeds, mean, n_jobs)


def _add_tables(a: list[CountTable], b: list[CountTable]) -> list[CountTable]:
    return [one + other for one, other in zip(a, b, strict=True)]


def _judgement(rows: CodedRows, votes: BagVotes) -> tuple[NDArray[Any], ...]:
    """What is known of rows that are judged, without their codes."""
    judged = votes.judged
    return judged.scores, judged.groups, judged.weight, rows.row_ids
