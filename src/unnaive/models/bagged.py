"""Bagged naive Bayes: models of bootstrap draws, all counted in one pass."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Ensemble, NaiveBayesStack
from unnaive.answer.nodes import MemberOutput, Node, outputs_of_scores
from unnaive.bayes import Scorer
from unnaive.bayes.calibration import HeldOut
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.scoring import stack_scorers
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.encoded_rows import CodedRows, add_lanes, add_marginals
from unnaive.encode import GRID_LIMIT
from unnaive.encode.coders import AnyCoder, coder_sizes
from unnaive.encode.hashing import LANE_ROWS, branch_seeds, draw_poisson, lane
from unnaive.estimator import Progress
from unnaive.models.base import Binned, FirstPass, NaiveBayesEnsemble, check_calibration
from unnaive.models.held_out import (
    OUT_OF_BAG,
    CalibrationRows,
    OutOfBagMixin,
    out_of_bag,
    warn_never_out_of_bag,
)
from unnaive.table.records import Records


class BaggedNaiveBayesClassifier(OutOfBagMixin, NaiveBayesEnsemble):
    """Naive Bayes classifiers fitted on bootstrap samples, whose votes are averaged.

    How often a row is in a bag is a Poisson draw by seed and row number, so that all bags are
    counted in one pass.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of bags.
    max_samples : float, default=0.9
        Expected size of a bag, as a share of the rows; at most 1.
    bootstrap : bool, default=True
        Whether bags are drawn; otherwise every bag holds all rows.
    voting : {"soft", "hard"}, default="soft"
        Whether probabilities are averaged, or each bag votes for its best class (the paper).
    oob_score : bool, default=False
        Whether to compute the out-of-bag score.
    calibration : {"slope", "none"}, default="slope"
        Whether the log of the mean vote is multiplied by one factor, and every class gets an
        intercept, fitted to out-of-bag votes, or by inner folds if there are more columns than
        rows. ``"none"`` is the paper's; nothing is calibrated without ``bootstrap``.
    numeric : <rules> or dict, default="mdl"
        How numeric columns are binned, once, for all bags; see `NaiveBayesClassifier`.
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
        The fitted model as plain data; see the guide on answers.
    scorer_ : Scorer
        The evidence of all bags side by side.
    counts_ : CountTable
        Weight of the rows by class and bin.
    bag_weights_ : array of shape (n_estimators,)
        Weight of the rows in each bag.
    oob_score_ : float
        Out-of-bag accuracy.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Out-of-bag probabilities; NaN where a row is in all bags. Rows of weight zero are left out.
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

    _optional_attributes = NaiveBayesEnsemble._optional_attributes | OUT_OF_BAG
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

    def _fit_node(self, first: FirstPass) -> Node:
        binned, seeds = self._bin(first), branch_seeds(first.seed, self.n_estimators)
        if not self.bootstrap:
            return self._combine(binned, [binned.coarse.counts] * len(seeds))
        records, _ = binned.records(_whole_block, operator.add)
        with records:
            tables = self._count(records, binned, seeds)
            # In a tiny table a bag may come out empty: it then holds all rows, and judges none.
            drawn = np.array([table.totals.any() for table in tables])
            scorers = [self._scorer(binned, table) for table in tables if table.totals.any()]
            vote = partial(
                out_of_bag_votes, scorers, seeds[drawn], self.max_samples, self._member_output
            )
            self._votes = vote, binned
            if self.oob_score:
                self._score(records, first, vote)
        whole = binned.coarse.counts
        return self._combine(binned, [t if t.totals.any() else whole for t in tables])

    def _count(
        self, records: Records[CodedRows], binned: Binned, seeds: NDArray[np.uint64]
    ) -> list[CountTable]:
        """Count all bags in one pass."""
        first = binned.first
        progress = Progress("counting bags", first.summary.n_rows, hook=self._hook)
        count = partial(
            _count_bags,
            binned.coarse.coders,
            binned.n_classes,
            seeds,
            self.max_samples,
            first.n_jobs,
        )
        tables = records.reduce(count, _add_tables, "counting bags")
        progress.add(first.summary.n_rows)
        progress.finish()
        return tables

    def _combine(self, binned: Binned, tables: Sequence[CountTable]) -> Ensemble:
        """Return the vote of all bags."""
        self.bag_weights_ = np.array([table.totals.sum() for table in tables])
        scorer = stack_scorers([self._scorer(binned, table) for table in tables])
        members = (NaiveBayesStack(scorer, binned.coarse.counts),)
        names = tuple(f"bag {k}" for k in range(len(tables)))
        weights, no_shift = np.ones(len(tables)), np.zeros(binned.n_classes)
        return Ensemble(members, names, weights, no_shift, self._member_output, "mean")

    def _scorer(self, binned: Binned, table: CountTable) -> Scorer:
        return binned.scorer(table, self._smoothing, self.prior_alpha)

    @property
    def _member_output(self) -> MemberOutput:
        return "probability" if self.voting == "soft" else "vote"

    def _score(self, records: Records[CodedRows], first: FirstPass, vote: Any) -> None:
        """Store the out-of-bag votes in the order of the rows, and their accuracy."""
        n_rows, room, stop = first.summary.n_rows, first.source.storage, 0
        proba = room.empty((n_rows, len(first.summary.labels)), np.float64)
        y, weight, row_ids = np.empty((3, n_rows))
        for part in records.each(partial(_vote_on_rows, vote)):
            here = slice(stop, stop + len(part[0]))
            proba[here], y[here], weight[here], row_ids[here] = part
            stop = here.stop
        warn_never_out_of_bag(proba, "in every bag", 7)
        order = np.argsort(row_ids)
        self._set_oob(room.take(proba, order), y[order], weight[order])

    def _calibration_method(self, node: Node | None = None) -> str:  # noqa: ARG002
        return str(self.calibration) if self.bootstrap else "none"

    def _leave_out(self, node: Node, rows: CalibrationRows, by_column: bool) -> HeldOut:  # noqa: ARG002
        """Return the votes of the bags that a row is not in."""
        vote, binned = self._votes
        return out_of_bag(vote(binned.coder(rows.block)), rows.y, rows.sample_weight)

    # Checks ---------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
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
        self._check_oob()


def _whole_block(rows: CodedRows) -> tuple[CodedRows, int]:
    return rows, rows.n_rows


def _count_bags(
    coders: Sequence[AnyCoder],
    n_classes: int,
    seeds: NDArray[np.uint64],
    max_samples: float,
    n_jobs: int | None,
    rows: CodedRows,
    _state: Any,
) -> list[CountTable]:
    """Return the counts of each bag, all counted in one pass over rows."""
    tables = [CountTable.empty(n_classes, coder_sizes(coders)) for _ in seeds]

    def count(part: slice) -> NDArray[Any]:
        words = draw_poisson(seeds, rows.numbers_of(part), max_samples)
        if rows.weight is None:  # bags that share a word are counted together
            return np.stack([rows.count(part, n_classes, word) for word in words])
        weight = rows.weight[part]
        lanes = [lane(words, b) * weight for b in range(len(seeds))]
        return np.stack([rows.count(part, n_classes, drawn) for drawn in lanes])

    whole = np.zeros((len(seeds), rows.joint.starts[-1] * n_classes))
    for counts in in_threads(count, rows.stretches(LANE_ROWS), n_jobs):
        if rows.weight is None:
            add_lanes(counts, whole)
        else:
            whole += counts
    for table, cells in zip(tables, whole, strict=True):
        add_marginals(rows.joint, cells, table)
    return tables


def _add_tables(a: list[CountTable], b: list[CountTable]) -> list[CountTable]:
    return [one + other for one, other in zip(a, b, strict=True)]


def out_of_bag_votes(
    scorers: Sequence[Scorer],
    seeds: NDArray[np.uint64],
    max_samples: float,
    output: MemberOutput,
    rows: CodedRows,
) -> NDArray[np.float64]:
    """Return the mean vote on each row of the bags that did not draw it; NaN where all did."""
    words = draw_poisson(seeds, rows.row_ids, max_samples)
    total, n = np.zeros((rows.n_rows, len(scorers[0].log_prior))), np.zeros((rows.n_rows, 1))
    for b, scorer in enumerate(scorers):
        is_out = (lane(words, b) == 0)[:, None]
        total += np.where(is_out, outputs_of_scores(output, coded_scores(rows, scorer)), 0.0)
        n += is_out
    return np.where(n > 0, total, np.nan) / np.maximum(n, 1)


def _vote_on_rows(vote: Any, rows: CodedRows, _state: Any) -> tuple[NDArray[Any], ...]:
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    return vote(rows), rows.groups, weight, rows.row_ids
