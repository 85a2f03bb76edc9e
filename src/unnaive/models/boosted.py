"""Boosted naive Bayes (Elkan, 1997; Wiering, 2003): rounds over reweighted counts.

Rows stay where they are, coded once, and keep the log of their weight. A pass over them scores a
round, changes weights and counts rows by their new weights. Where the vote of a round depends on
its error, scoring and counting take a pass each.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Ensemble, EvidenceTable, NaiveBayesStack
from unnaive.answer.nodes import MemberOutput, Node, outputs_of_scores
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibration import HeldOut
from unnaive.bayes.coded import coded_scores, judge, own_probabilities
from unnaive.bayes.estimate import first_value, log_prior
from unnaive.bayes.left_out import scorer_without_one
from unnaive.bayes.scoring import LEAST_SHARE, add_scorers, log_probabilities, stack_scorers
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.encoded_rows import GRAIN, CodedRows, table_of
from unnaive.encode import GRID_LIMIT
from unnaive.encode.coders import AnyCoder, column_slots
from unnaive.encode.hashing import branch_seeds, draw_uniform
from unnaive.estimator import Progress
from unnaive.models.base import Binned, FirstPass, NaiveBayesEnsemble, check_calibration
from unnaive.models.held_out import CalibrationRows, score_rows
from unnaive.table import Block
from unnaive.table.records import Records, Storage, stretches

ALGORITHMS = ("real", "probability", "m1", "samme")
MIN_PRIOR_ALPHA = 0.5  # after the first round a class may have hardly any weight left
MIN_VOTE = 2.0**-20
ERROR_TOLERANCE = 2.0**-18  # differences of errors that rounding of weights may hide
MAX_RESTARTS = 25  # as often as Bauer and Kohavi start again
FRESH_LOW, FRESH_HIGH = 0.9, 1.1  # Wiering's fresh weights
MAX_MARGIN = 36.0  # a probability below 2**-52 moves a weight no further
MAX_LOG_WEIGHT = 64.0
REPLAY_ROWS = 1 << 11  # so many rows of all rounds stay in cache
TINY = 1e-200  # in place of 0 under a logarithm
LOSS_GRAIN = 2.0**-30
MAX_MEAN = 16.0  # of weights whose rounding still tells them apart, or 1 / MAX_MEAN


class BoostedNaiveBayesClassifier(NaiveBayesEnsemble):
    """AdaBoost over naive Bayes: misclassified rows weigh more in the next round.

    Rows are coded once; each round is one pass over them, or two if it votes for a class. With
    ``algorithm="real"`` a round adds its log odds, so that all rounds together are one table of
    evidence: as fast to predict with, and as readable, as naive Bayes.

    Parameters
    ----------
    n_estimators : int, default=10
        Maximum number of rounds.
    algorithm : {"real", "probability", "m1", "samme"}, default="real"
        - ``"real"``: rounds start from the class priors, and each adds its log probabilities (Real
          AdaBoost; SAMME.R for more than two classes).
        - ``"probability"``: the weight of a row falls by 1 - P(its class), and the answer is the
          mean of the probabilities of the rounds, weighted by log((1 - loss) / loss) of their mean
          losses (AdaBoost with hypotheses between 0 and 1); most accurate of those that vote.
        - ``"m1"``: a round votes for one class with log((1 - error) / error), as in the papers.
        - ``"samme"``: that vote plus log(K - 1), so that any round better than chance among K
          classes counts.
    learning_rate : float or None, default=None
        Factor of the vote of each round. None is 0.1 for ``"real"``, where naive Bayes is
        overconfident, and 1 for the others, as in the papers.
    calibration : {"values", "columns", "slope", "none"} or None, default=None
        How probabilities are calibrated, by rounds that do not count the row: all evidence, or all
        votes, are multiplied by one factor (``"slope"``), the evidence of each column by its own
        (``"columns"``), or every value of a column also gets an offset (``"values"``); every class
        gets an intercept. The latter two need ``algorithm="real"``. Tables with more columns than
        rows are calibrated by inner folds. None is ``"values"`` for ``"real"`` and ``"slope"`` for
        the others; ``"none"`` is the papers'.
    early_stopping : bool, default=False
        Hold rows out and stop when their log loss no longer falls; the best number of rounds is
        kept.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping.
    n_iter_no_change : int, default=5
        Rounds without improvement before early stopping.
    numeric : <rules> or dict, default="best"
        How numeric columns are binned, once, before the rounds; see `NaiveBayesClassifier`.
    n_bins, bandwidth, alpha, prior_alpha, missing, class_weight, categorical_features, \
max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of fresh weights, with which ``"m1"`` and ``"samme"`` restart when a round is no better
        than chance, and of the rows held out.
    n_jobs : int or None, default=None
        Threads; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        The fitted model as plain data; see the guide on answers.
    algorithm_ : str
        The algorithm of the rounds.
    scorer_ : Scorer
        The evidence of all rounds: their sum (``"real"``) or side by side.
    counts_ : CountTable
        Weight of the rows by class and bin.
    estimator_weights_ : array of shape (n_rounds,)
        Votes of the rounds.
    estimator_errors_ : array of shape (n_rounds,)
        Weighted errors of the rounds; with ``"probability"`` their mean losses.
    validation_loss_ : array
        Log loss of the held-out rows after each round; empty without early stopping.
    n_restarts_ : int
        Number of restarts with fresh weights.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    Notes
    -----
    With T rounds, e rows, f columns and v values each, time is O(T e f) and memory O(T f v) beside
    the coded rows (about half a byte for each small column) and one number per row. A round without
    error is the last; with ``"m1"`` and ``"samme"`` it decides alone. With ``"real"``, rounds that
    end early have together the weight of plain naive Bayes, or of all rounds if that is less.

    References
    ----------
    C. Elkan. Naive Bayesian Learning. Adapted from UCSD technical report CS97-557, 1997.
    M. Wiering. Hierarchical Mixtures of Naive Bayesian Classifiers. UU-CS-2003-003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from unnaive import BoostedNaiveBayesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BoostedNaiveBayesClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    algorithm_: str
    estimator_weights_: NDArray[np.float64]
    estimator_errors_: NDArray[np.float64]
    validation_loss_: NDArray[np.float64]
    n_restarts_: int

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        algorithm: str = "real",
        learning_rate: float | None = None,
        calibration: str | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        numeric: str | Mapping[Any, str] = "best",
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
        self.algorithm = algorithm
        self.learning_rate = learning_rate
        self.calibration = calibration
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
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
        binned = self._bin(first)
        rows = split_rows(binned, self.validation_fraction if self.early_stopping else 0.0)
        with rows.records:
            booster = self._booster(binned, rows)
            rounds = booster.run(self._first_round(booster))
            booster.progress.finish()
        self._rounds = booster, rounds
        self.estimator_weights_ = np.array([one.vote for one in rounds])
        self.estimator_errors_ = np.array([one.error for one in rounds])
        losses = [one.loss for one in rounds if rows.holds_out and booster.rounds]
        self.validation_loss_ = np.array(losses)
        self.n_restarts_ = booster.n_restarts
        self.algorithm_ = self.algorithm
        return self._combine(rounds, binned)

    def _booster(self, binned: Binned, rows: LearningRows) -> BoostingRounds:
        n_rounds, n_rows = self.n_estimators, binned.first.summary.n_rows
        steps: dict[str, Any] = {"step": "round", "steps": n_rounds, "hook": self._hook}
        return BoostingRounds(
            binned,
            rows,
            self._smoothing,
            max(self.prior_alpha, MIN_PRIOR_ALPHA),
            self._log_prior(binned) if self.algorithm == "real" else None,
            self.algorithm,
            n_rounds,
            self._learning_rate(),
            self.n_iter_no_change,
            Progress("boosting", n_rounds, "rounds", n_rows=n_rows, **steps),
        )

    def _first_round(self, booster: BoostingRounds) -> Round:
        """Return naive Bayes of the first round.

        Weights that are the same for all rows of a class do not change evidence: it is that of the
        rows by their sample weights. Where rounds start from class priors, it adds none.
        """
        if booster.rows.holds_out:
            return booster.count_round()
        counts = booster.binned.coarse.counts
        scorer = booster.binned.scorer(counts, self._smoothing, self.prior_alpha)
        if self.algorithm == "real":
            scorer = replace(scorer, log_prior=np.zeros(booster.binned.n_classes))
        return Round(scorer, counts)

    def _log_prior(self, binned: Binned) -> NDArray[np.float64]:
        return log_prior(binned.coarse.counts.totals, self.prior_alpha, None)

    def _combine(self, rounds: list[Round], binned: Binned) -> Node:
        """Return the sum of the evidence of all rounds, or their vote."""
        counts, votes = binned.coarse.counts, [one.vote for one in rounds]
        scorers = [one.scorer for one in rounds]
        if self.algorithm == "real":
            scorer = add_scorers(scorers, votes)
            scorer = replace(scorer, log_prior=self._log_prior(binned) + scorer.log_prior)
            return EvidenceTable(scorer, counts, math.fsum(votes))
        members = (NaiveBayesStack(stack_scorers(scorers), counts),)
        names = tuple(f"round {k}" for k in range(len(votes)))
        weights, no_shift = np.array(votes), np.zeros(binned.n_classes)
        if self.algorithm == "probability":
            return Ensemble(members, names, weights, no_shift, "probability", "mean")
        weights /= vote_divisor(self.algorithm, binned.n_classes)
        return Ensemble(members, names, weights, no_shift, "vote", "softmax")

    def _calibration_method(self, node: Node | None = None) -> str:  # noqa: ARG002
        if self.calibration is None:
            return "values" if self.algorithm == "real" else "slope"
        return str(self.calibration)

    def _leave_out(self, node: Node, rows: CalibrationRows, by_column: bool) -> HeldOut:
        """Return the evidence of rounds that do not count the row."""
        booster, rounds = self._rounds
        if booster.rows.holds_out:
            draws = draw_uniform(booster.binned.first.seed, rows.block.row_ids)
            rows = rows.take(np.flatnonzero(draws >= self.validation_fraction))
        if self.algorithm != "real":
            scores = booster.left_out_votes(rounds, booster.binned.coder(rows.block))
            return HeldOut(scores, rows.y, rows.sample_weight)
        scores = score_rows(node, rows.block, True, self.n_jobs)
        booster.leave_out(rounds, booster.binned.coder(rows.block), rows.block, scores)
        if not by_column:
            scores = scores.sum(axis=1)
        return HeldOut(scores, rows.y, rows.sample_weight, rows.block)

    def _learning_rate(self) -> float:
        if self.learning_rate is None:
            return 0.1 if self.algorithm == "real" else 1.0
        return float(self.learning_rate)

    @property
    def _adds_up(self) -> bool:  # type: ignore[override]
        return self.algorithm == "real"

    # Checks ---------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.calibration is not None:
            check_calibration(self, "columns", "values")
        check_number(self, "n_estimators", 1, whole=True)
        check_word(self, "algorithm", *ALGORITHMS)
        if self.calibration in ("columns", "values") and self.algorithm != "real":
            raise ValueError(
                f"calibration={self.calibration!r} needs algorithm='real': with "
                f"{self.algorithm!r} rounds vote, and columns have no evidence of their own; take "
                "calibration='slope'."
            )
        if self.learning_rate is not None:
            check_number(self, "learning_rate", 1e-9)
        check_number(self, "validation_fraction", 0, 1)
        if self.early_stopping and self.validation_fraction in (0, 1):
            raise ValueError(
                "early_stopping=True needs a validation_fraction between 0 and 1, so that some "
                f"rows are watched and some learned from; got {self.validation_fraction!r}."
            )
        check_number(self, "n_iter_no_change", 1, whole=True)

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(self.algorithm_ in ALGORITHMS, f"rounds voted by {self.algorithm_!r}.")
        rounds = self.estimator_weights_.size
        expect(rounds, "there are no rounds.")
        adds_up = self.answer_.root.is_additive
        expect(adds_up == (self.algorithm_ == "real"), "rounds were joined in another way.")
        check_values("estimator_weights_", self.estimator_weights_, (rounds,))
        check_values("estimator_errors_", self.estimator_errors_, (rounds,), nan=True)
        loss = self.validation_loss_
        check_values("validation_loss_", loss, (loss.size,), -FINITE, FINITE, nan=True)


# Rows to learn from, and rows held out -----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """The rows of a block: those to learn from, and those held out, if any are."""

    learning: CodedRows
    held_out: CodedRows | None = None

    @property
    def n_rows(self) -> int:
        return self.learning.n_rows + (0 if self.held_out is None else self.held_out.n_rows)


class LearningRows(NamedTuple):
    """Records of all rows, and the weight of those to learn from."""

    records: Records[SplitRows]
    weight: float
    holds_out: bool


def split_rows(binned: Binned, share: float) -> LearningRows:
    """Hold out a share of the rows; none where either part would be empty."""
    for fraction in (share, 0.0):
        split = partial(_split_block, binned.first.seed, fraction)
        records, sizes = binned.records(split, operator.add)
        n_rows, weight, n_held_out = sizes.tolist()
        if fraction == 0.0 or (n_rows and n_held_out):
            return LearningRows(records, weight, fraction > 0.0)
        records.release()
    raise AssertionError


def _split_block(seed: int, share: float, rows: CodedRows) -> tuple[SplitRows, NDArray[np.float64]]:
    """Split the rows of a block by their numbers, and return how many there are of both."""
    learning, held_out = rows, None
    if share > 0.0:
        is_held_out = draw_uniform(seed, rows.row_ids) < share
        learning, held_out = (
            rows.take(np.flatnonzero(part), Storage()) for part in (~is_held_out, is_held_out)
        )
    n, weight = learning.n_rows, learning.weight
    n_held_out = 0 if held_out is None else held_out.n_rows
    sizes = (n, n if weight is None else weight.sum(), n_held_out)
    return SplitRows(learning, held_out), np.array(sizes, dtype=np.float64)


# Rounds ---------------------------------------------------------------------------------------


class Round(NamedTuple):
    """Naive Bayes of one round, and the counts that it is built from.

    A row of sample weight 1 counts ``share`` times its weight in the round, in units of e to the
    ``log_unit``; where ``share`` is None it counts 1. ``vote`` is the factor of the round in the
    answer, ``error`` its weighted error, or mean loss, and ``loss`` the log loss of the held-out
    rows after the round.
    """

    scorer: Scorer
    counts: CountTable
    share: float | None = None
    log_unit: float = 0.0
    vote: float = 0.0
    error: float = math.nan
    loss: float = math.nan


@dataclass(slots=True, eq=False)
class BoostingRounds:
    """AdaBoost over naive Bayes on coded rows.

    Parameters
    ----------
    binned : Binned
    rows : LearningRows
    smoothing : Smoothing
    prior_alpha : float
        Pseudo-count of the classes after the first round.
    log_prior : array of shape (n_classes,) or None
        Class priors that rounds are added to, so that all classes start with the same weight.
    """

    binned: Binned
    rows: LearningRows
    smoothing: Smoothing
    prior_alpha: float
    log_prior: NDArray[np.float64] | None
    algorithm: str
    n_rounds: int
    learning_rate: float
    patience: int
    progress: Progress
    rounds: list[Round] = field(default_factory=list)
    n_restarts: int = 0
    counted: PassSums | None = None  # rows by their current weights
    log_unit: float = 0.0  # log of what was weight 1 then
    log_mean: float = 0.0  # log of the mean weight

    def run(self, first: Round) -> list[Round]:
        """Take rounds until they stop helping; ``first`` is naive Bayes by the first weights."""
        votes_for_class = self.algorithm in ("m1", "samme")
        limit = chance_error(self.algorithm, self.binned.n_classes)
        current = first
        while True:
            error = self._score(current)
            if current is first:
                current = first = first._replace(error=error)
            if error == 0.0 and votes_for_class:
                self.rounds.clear()  # a round without error decides alone
            elif error >= limit and self.binned.n_classes > 1:
                if not votes_for_class or self.n_restarts == MAX_RESTARTS:
                    break
                self._draw_weights()
                current = self.count_round()
                continue
            self.rounds.append(current._replace(vote=self._vote(error), error=error))
            if self.rows.holds_out:
                self._validate()
            self.progress.add(1)
            if error == 0.0 or self._is_done():
                break
            if self.algorithm != "real":
                self._decrease_weights(error)
            current = self.count_round()
        return self._select(first)

    def count_round(self) -> Round:
        """Return naive Bayes on the rows by their current weights."""
        if self.counted is None:
            self._count()
        assert self.counted is not None
        assert self.counted.counts is not None
        share = self.rows.weight / float(self.counted.sums[2])
        counts = self.counted.counts.scale_groups(np.full(self.binned.n_classes, share))
        scorer = self.binned.scorer(counts, self.smoothing, self.prior_alpha)
        return Round(scorer, counts, share, self.log_unit)

    def leave_out(
        self, rounds: Sequence[Round], rows: CodedRows, block: Block, scores: NDArray[np.float64]
    ) -> None:
        """Replace evidence for the class of each row by that of rounds that do not count the row.

        ``scores`` is OUT, rows x (1 + columns) x classes; evidence of columns is the sum of the
        rounds.
        """
        y, alpha = rows.groups.astype(np.intp), self.smoothing.alpha
        votes = np.array([one.vote for one in rounds])
        units = np.stack([*self.replay(rounds, rows)])
        for j, coder in enumerate(self.binned.coarse.coders):
            counts = np.stack([one.counts.attribute(j) for one in rounds])
            first, n_slots = first_value(counts[0], self.smoothing.missing), counts.shape[2]
            totals = counts[:, :, first:-1].sum(axis=2)
            slots = column_slots(block, j, coder).astype(np.intp)
            cells, counts = y * n_slots + slots, counts.reshape(len(rounds), -1)
            for part in stretches(rows.n_rows, REPLAY_ROWS):
                left = np.maximum(counts.take(cells[part], axis=1) - units[:, part], 0.0) + alpha
                whole = np.maximum(totals.take(y[part], axis=1) - units[:, part], 0.0)
                left /= np.maximum(whole + alpha * (n_slots - 1 - first), TINY)
                own = votes @ np.log(np.maximum(left, TINY))
                is_value = (slots[part] >= first) & (slots[part] < n_slots - 1)
                scores[part][np.arange(len(own)), 1 + j, y[part]] = np.where(is_value, own, 0.0)

    def replay(self, rounds: Sequence[Round], rows: CodedRows) -> Iterator[NDArray[np.float64]]:
        """Yield what each row counted in each round, had it a sample weight of 1."""
        log_weight, unit = self._first_log_weight()[rows.groups], np.ones(rows.n_rows)
        for one in rounds:
            if one.share is not None:
                unit = one.share * relative_weights(log_weight, one.log_unit)
            yield unit
            score = score_round(self.algorithm, one.scorer, rows)
            for part in rows.stretches():
                log_weight[part] -= self.learning_rate * score(part)[0]

    def left_out_votes(self, rounds: Sequence[Round], rows: CodedRows) -> NDArray[np.float64]:
        """Return the log probabilities of a vote of rounds that do not count the row.

        A row has the mean weight of the rows of its class in each bin.
        """
        total, every = np.zeros((rows.n_rows, self.binned.n_classes)), np.arange(rows.n_rows)
        n_jobs, y = self.binned.first.n_jobs, rows.groups
        counts = self.binned.coarse.counts
        for one in rounds:
            without = scorer_without_one(one.scorer, one.counts, counts, self.smoothing)
            scores = coded_scores(rows, one.scorer, n_jobs)
            scores[every, y] = coded_scores(rows, without, n_jobs)[every, y]
            total += class_scores(self.algorithm, scores, one.vote)
        logs = log_proba(self.algorithm, total, [one.vote for one in rounds])
        return np.maximum(logs, math.log(LEAST_SHARE))

    def _first_log_weight(self) -> NDArray[np.float64]:
        """Return the log weight of the rows of each class before the first round."""
        prior = self.log_prior
        if prior is None:
            return np.zeros(self.binned.n_classes)
        return -math.log(self.binned.n_classes) - np.maximum(prior, prior.max() - MAX_MARGIN)

    def _pass(self, unit: float, vote: float | None = None, **options: Any) -> PassSums:
        """Visit all rows; weights are in units of e to the ``unit``."""
        coders, units = self.binned.coarse.coders, (self.log_unit, unit)
        options["n_jobs"] = self.binned.first.n_jobs
        step = WeightPass(coders, self._first_log_weight(), *units, vote, **options)
        return self.rows.records.advance(step, operator.add, "weighing rows")

    def _score(self, current: Round) -> float:
        """Return the weighted error of a round, or its mean loss.

        Where the vote is known beforehand, weights change in the same pass, but not after the last
        round.
        """
        last = len(self.rounds) + 1 == self.n_rounds
        vote = self.learning_rate if self.algorithm == "real" and not last else None
        found = self._pass(
            self.log_mean, vote, score=partial(score_round, self.algorithm, current.scorer)
        )
        weight, missed = found.sums[:2].tolist()
        if found.counts is not None:
            self._settle(found, self.log_mean)
        return float(missed / weight)

    def _decrease_weights(self, error: float) -> None:
        """Decrease the weights of rows that the last round finds."""
        vote = self.rounds[-1].vote
        # The mean of all weights afterwards: exact where rows are found or not.
        unit = self.log_mean + math.log(error + (1.0 - error) * math.exp(-vote))
        self._settle(self._pass(unit, vote), unit)

    def _draw_weights(self) -> None:
        """Start again with weights near 1, drawn by row number."""
        seed = int(branch_seeds(self.binned.first.seed, MAX_RESTARTS)[self.n_restarts])
        self.n_restarts += 1
        self.rows.records.advance(partial(_draw_weights, seed), operator.add, "weighing rows")
        self.log_mean = 0.0
        self._count()

    def _count(self) -> None:
        self._settle(self._pass(self.log_mean), self.log_mean)

    def _settle(self, found: PassSums, unit: float) -> None:
        """Keep counts and the mean weight; count again in another unit if it is far from 1."""
        mean = found.sums[2] / self.rows.weight
        while mean < 1.0 / MAX_MEAN or mean > MAX_MEAN:
            unit = unit + math.log(mean) if mean > 0.0 else found.largest
            found = self._pass(unit)
            mean = found.sums[2] / self.rows.weight
        self.counted, self.log_unit, self.log_mean = found, unit, unit + math.log(mean)

    def _vote(self, error: float) -> float:
        """Return AdaBoost's vote for a round with this weighted error."""
        if self.algorithm == "real":
            return self.learning_rate
        vote = _log_odds(error, self.rows.weight)
        if self.algorithm == "samme":
            vote += math.log(max(self.binned.n_classes - 1, 1))
        return self.learning_rate * vote

    def _validate(self) -> None:
        """Add the log loss of the held-out rows after the last round."""
        last, votes = self.rounds[-1], [one.vote for one in self.rounds]
        start = 0.0 if self.log_prior is None else self.log_prior
        step = partial(_validate_rows, self.algorithm, last.scorer, votes, start)
        loss, weight = self.rows.records.advance(step, operator.add, "validating").tolist()
        self.rounds[-1] = last._replace(loss=loss / weight)

    def _is_done(self) -> bool:
        """Return whether there are enough rounds, or the last ones have not helped."""
        if self.progress.stopped:
            return True
        losses, stalled = [one.loss for one in self.rounds], False
        if self.rows.holds_out:
            stalled = len(losses) - 1 - int(np.argmin(losses)) >= self.patience
        return stalled or len(losses) == self.n_rounds

    def _select(self, first: Round) -> list[Round]:
        """Return the rounds that answer; naive Bayes if no round was better than chance."""
        whole = min(1.0, self.learning_rate * self.n_rounds)
        if not self.rounds:
            return [first._replace(vote=self._lone_vote(first.error, whole))]
        if self.rows.holds_out:
            best = int(np.argmin([one.loss for one in self.rounds]))
            return self.rounds[: best + 1]
        if self.algorithm != "real":
            return self.rounds
        # Rounds that end early are as sure as one naive Bayes, or as all rounds if that is less.
        factor = max(whole / math.fsum(one.vote for one in self.rounds), 1.0)
        return [one._replace(vote=factor * one.vote) for one in self.rounds]

    def _lone_vote(self, error: float, whole: float) -> float:
        """Return a vote by which naive Bayes, alone, is as sure as it is often right."""
        if self.algorithm == "real":
            return whole
        if self.algorithm == "probability":
            return 1.0  # a mean of one
        odds = _log_odds(error, self.rows.weight, both=True)
        return max(odds + math.log(self.binned.n_classes - 1), MIN_VOTE)


def chance_error(algorithm: str, n_classes: int) -> float:
    """Return the weighted error from which on a round is worth nothing.

    A round that repeats the last one has that error, to the rounding of weights.
    """
    half = algorithm in ("m1", "probability")
    return (0.5 if half else 1.0 - 1.0 / n_classes) - ERROR_TOLERANCE


def vote_divisor(algorithm: str, n_classes: int) -> int:
    """Return by what a vote is divided, so that the votes for a class are its log odds.

    That is how AdaBoost fits an additive logistic model; with more than two classes votes of SAMME
    are K - 1 times as much.
    """
    return max(n_classes - 1, 1) if algorithm == "samme" else 1


def class_scores(algorithm: str, scores: NDArray[np.float64], vote: float) -> NDArray[np.float64]:
    """Return what a round adds to the score of each class, given its log probabilities.

    `log_proba` makes log probabilities of the sum over the rounds.
    """
    if algorithm == "real":
        return vote * scores
    factor = vote / vote_divisor(algorithm, scores.shape[1])
    output: MemberOutput = "probability" if algorithm == "probability" else "vote"
    return factor * outputs_of_scores(output, scores)


def log_proba(
    algorithm: str, scores: NDArray[np.float64], votes: Sequence[float]
) -> NDArray[np.float64]:
    """Return log probabilities, given the sum of the `class_scores` of all rounds."""
    if algorithm == "probability":
        return np.log(np.maximum(scores / math.fsum(votes), LEAST_SHARE))
    return log_probabilities(scores)


def _log_odds(error: float, weight: float, *, both: bool = False) -> float:
    """Return the log odds of being right; less than half a row cannot be told from none."""
    least = 0.5 / (weight + 1.0)
    error = min(max(error, least), 1.0 - least if both else 1.0)
    return math.log((1.0 - error) / error)


# What a pass does with the rows of a block -------------------------------------------------------


# What a round says of a stretch of rows: by how much a vote of 1 decreases their log weights, and
# their losses: whether they are misclassified, or 1 less the probability of their class.
RoundScores: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class RowState:
    """What rounds know of the rows of a block.

    ``log_weight`` is the log of the weight of each row to learn from, up to a constant of all rows;
    ``decrease`` is what a vote of 1 subtracts from it, until the vote is known. ``scores`` are the
    sums of all rounds for the held-out rows.
    """

    log_weight: NDArray[np.float64] | None = None
    decrease: NDArray[Any] | None = None
    scores: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PassSums:
    """Sums over rows: weights and losses before weights change, and weights afterwards; the largest
    log weight; counts.
    """

    sums: NDArray[np.float64]
    largest: float
    counts: CountTable | None

    def __add__(self, other: PassSums) -> PassSums:
        counts = self.counts
        if counts is not None and other.counts is not None:
            counts = counts + other.counts
        return PassSums(self.sums + other.sums, max(self.largest, other.largest), counts)


@dataclass(frozen=True, slots=True, eq=False)
class WeightPass:
    """Score a round on rows, change their weights, and count them, if asked for, in one pass.

    ``first_log_weight`` has the log weight of each class before the first round, ``unit`` and
    ``new_unit`` are logs of what is weight 1 before and after the change. With ``score`` alone
    weights stay as they are, and nothing is counted.
    """

    coders: Sequence[AnyCoder]
    first_log_weight: NDArray[np.float64]
    unit: float
    new_unit: float
    vote: float | None
    score: Callable[[CodedRows], Callable[[slice], RoundScores]] | None = None
    n_jobs: int | None = None

    def __call__(self, record: SplitRows, state: RowState | None) -> tuple[RowState, PassSums]:
        rows, state, n_classes = record.learning, state or RowState(), len(self.first_log_weight)
        log_weight, decrease = state.log_weight, state.decrease
        if log_weight is None:
            log_weight = self.first_log_weight[rows.groups]
        new = log_weight if self.vote is None else np.empty_like(log_weight)
        score = None if self.score is None else self.score(rows)

        def visit(part: slice) -> Any:
            given = 1.0 if rows.weight is None else rows.weight[part]
            sums, change = np.zeros(3), None if decrease is None else decrease[part]
            if score is not None:
                weight = relative_weights(log_weight[part], self.unit)
                change, loss = score(part)
                sums[0] = (weight * given).sum()
                sums[1] = (to_grain(weight * loss, LOSS_GRAIN) * given).sum()
            if self.vote is not None:
                assert change is not None
                np.subtract(log_weight[part], self.vote * change, out=new[part])
            elif score is not None:
                return sums, -math.inf, None, change
            weight = relative_weights(new[part], self.new_unit) * given
            sums[2] = weight.sum()
            return sums, new[part].max(), rows.count(part, n_classes, weight), None

        done = list(in_threads(visit, rows.stretches(), self.n_jobs))
        sums, largest, tables, changes = zip(*done, strict=True) if done else [()] * 4
        counts = None
        if self.vote is not None or score is None:
            counts, decrease = table_of(rows, self.coders, n_classes, tables), None
        else:
            decrease = np.concatenate(changes or [np.empty(0)])
        found = PassSums(sum(sums, np.zeros(3)), max(largest, default=-math.inf), counts)
        return replace(state, log_weight=new, decrease=decrease), found


def score_round(algorithm: str, scorer: Scorer, rows: CodedRows) -> Callable[[slice], RoundScores]:
    """Return what a round says of stretches of its own rows."""
    if algorithm == "probability":
        own = own_probabilities(rows, scorer)
        return lambda part: ((shares := own(part)), 1.0 - shares)
    margins_of = judge(rows, scorer)

    def score(part: slice) -> RoundScores:
        margin, found = margins_of(part)
        return np.clip(margin, -MAX_MARGIN, MAX_MARGIN) if algorithm == "real" else found, ~found

    return score


def to_grain(numbers: NDArray[np.float64], grain: float = GRAIN) -> NDArray[np.float64]:
    """Round to multiples of a power of two: their sums do not depend on their order."""
    return np.rint(numbers * (1.0 / grain)) * grain


def relative_weights(log_weight: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    """Return weights in units of e to the ``unit``, beside the sample weights."""
    relative = np.minimum(log_weight - unit, MAX_LOG_WEIGHT)
    return to_grain(np.exp(relative, out=relative))


def _draw_weights(seed: int, record: SplitRows, state: RowState | None) -> tuple[RowState, int]:
    draws = FRESH_LOW + (FRESH_HIGH - FRESH_LOW) * draw_uniform(seed, record.learning.row_ids)
    return replace(state or RowState(), log_weight=np.log(draws), decrease=None), 0


def _validate_rows(
    algorithm: str,
    scorer: Scorer,
    votes: list[float],
    start: NDArray[np.float64] | float,
    record: SplitRows,
    state: RowState,
) -> tuple[RowState, NDArray[np.float64]]:
    """Return the log loss of the held-out rows after the last round, and their weight."""
    rows = record.held_out
    assert rows is not None
    before = start if len(votes) == 1 or state.scores is None else state.scores
    scores = before + class_scores(algorithm, coded_scores(rows, scorer), votes[-1])
    logs = log_proba(algorithm, scores, votes)[np.arange(rows.n_rows), rows.groups]
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    losses = weight * to_grain(np.minimum(-logs, MAX_MARGIN), LOSS_GRAIN)
    return replace(state, scores=scores), np.array([losses.sum(), weight.sum()])
